/* A row's part of its squared distances. */
static int32_t svm_row(const svm_level *u)
{
    int32_t sum = 0;
    uint16_t j;
    for (j = 0; j < SVM_LEVELS; j++) {
        sum += @SQUARE@;
    }
    return sum;
}
