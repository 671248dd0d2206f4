/* The levels of a row. */
static void svm_read(const svm_input *x, svm_level *u)
{
    uint16_t j;
@DECLARED@    for (j = 0; j < SVM_SEEN; j++) {
@BEFORE@        {
@LEVEL@
        }
@AFTER@    }
@FILLED@}
