/* The products of all levels with the weights of one vector, which go on from *w. */
static uint32_t svm_dot(const svm_level *u, const uint16_t **w)
{
    uint32_t sum = 0;
    uint16_t j;
    for (j = 0; j < SVM_LEVELS; j++, (*w)++) {
        sum += (uint32_t)u[j] * SVM_U16(*w);
    }
    return sum;
}
