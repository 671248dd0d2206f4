/* The products of the pixels that take part with the weights of one vector, which go on from *w. */
static uint32_t svm_dot(const svm_level *u, const uint8_t **w)
{
    uint32_t sum = 0;
    uint16_t i;
    for (i = 0; i < SVM_RUNS; i++) {
        uint8_t n = SVM_U8(&svm_runs[i][1]);
        u += (uint16_t)(SVM_U8(&svm_runs[i][0]) * 4u);
        sum += svm_block(u, *w, n);
        u += (uint16_t)n * 4;
        *w += (uint16_t)n * SVM_BYTES_OF_4;
    }
    return sum;
}
