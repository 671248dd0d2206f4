/* The products of all levels with the weights of one vector, which go on from *w. */
static uint32_t svm_dot(const svm_level *u, const uint8_t **w)
{
    uint32_t sum = 0;
    uint16_t left = SVM_PADDED / 4;
    while (left) {
        uint8_t n = (uint8_t)(left < 64 ? left : 64);
        sum += svm_block(u, *w, n);
        u += (uint16_t)n * 4;
        *w += (uint16_t)n * SVM_BYTES_OF_4;
        left = (uint16_t)(left - n);
    }
    return sum;
}
