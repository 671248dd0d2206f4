void svm_values(const svm_input *x, svm_value *values)
{
    const SVM_WEIGHT *w = svm_vectors;
    const SVM_COEF *c = svm_coef;
    uint16_t i;
    uint8_t p;
    int32_t row;
@LEVELS@
    row = svm_row(u);
    for (p = 0; p < SVM_OUTPUTS; p++) {
        values[p] = SVM_READ_INTERCEPT(&svm_intercept[p]);
    }
    for (i = 0; i < SVM_VECTORS; i++) {
        int32_t products = (int32_t)svm_dot(u, &w);
        int16_t k = svm_kernel(row + (int32_t)SVM_READ_NORM(&svm_norms[i]) * (1L << SVM_DOWN) + products * SVM_SCALE);
        if (k == 0) {
            c += SVM_OUTPUTS;
            continue;
        }
        for (p = 0; p < SVM_OUTPUTS; p++, c++) {
            values[p] += (svm_value)((int32_t)k * (SVM_COEF)SVM_READ_COEF(c));
        }
    }
}
