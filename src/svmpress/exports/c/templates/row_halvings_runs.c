/* A row's part of its squared distances. */
static int32_t svm_row(const svm_level *u)
{
    int32_t sum = 0;
    uint16_t i;
    for (i = 0; i < SVM_RUNS; i++) {
        uint16_t n = (uint16_t)(SVM_U8(&svm_runs[i][1]) * 4u);
        u += (uint16_t)(SVM_U8(&svm_runs[i][0]) * 4u);
        for (; n; n--, u++) {
            sum += @SQUARE@;
        }
    }
    return sum;
}
