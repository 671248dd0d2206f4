void svm_values(const svm_input *x, svm_value *values)
{
    const SVM_WEIGHT *w = svm_vectors;
    const SVM_COEF *c = svm_coef;
    uint16_t i;
    SVM_INDEX p;
    int32_t row;
@LEVELS@
    row = svm_row(u);
    for (p = 0; p < SVM_OUTPUTS; p++) {
        values[p] = SVM_READ_INTERCEPT(&svm_intercept[p]);
    }
    for (i = 0; i < SVM_VECTORS; i++) {
        int32_t products = (int32_t)svm_dot(u, &w);
        int16_t k = svm_kernel(row + (int32_t)SVM_READ_NORM(&svm_norms[i]) * (1L << SVM_DOWN) + products * SVM_SCALE);
        if (k != 0) {
            svm_add(values, k, &c);
        } else {
            c += SVM_OUTPUTS;
        }
    }
}
