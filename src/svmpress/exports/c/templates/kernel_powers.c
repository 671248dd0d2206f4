/* A power of a projection, in 1/32767 of the largest. */
static int16_t svm_kernel(int32_t p)
{
    int32_t d = p >> SVM_DOWN, s, k;
    uint8_t i;
    d = d > SVM_MOST ? SVM_MOST : d < SVM_LEAST ? SVM_LEAST : d; /* beyond these s is cut, and the product might overflow */
    s = (d * (int32_t)SVM_FACTOR + (int32_t)SVM_ADD) >> SVM_SHIFT;
    s = s > 32767 ? 32767 : s < -32767 ? -32767 : s;
    k = s;
    for (i = 1; i < SVM_DEGREE; i++) {
        k = (k * s) >> 15;
    }
    return (int16_t)k;
}
