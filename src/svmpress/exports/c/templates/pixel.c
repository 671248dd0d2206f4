/* The rounded mean of a square of pixels. */
static uint8_t svm_pixel(const svm_input *x)
{
    uint16_t sum = SVM_POOL * SVM_POOL / 2;
    uint8_t i, j;
    for (i = 0; i < SVM_POOL; i++, x += SVM_WIDTH) {
        for (j = 0; j < SVM_POOL; j++) {
            sum = (uint16_t)(sum + x[j]);
        }
    }
    return (uint8_t)(sum / (SVM_POOL * SVM_POOL));
}
