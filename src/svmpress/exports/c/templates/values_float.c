void svm_values(const svm_input *x, svm_value *values)
{
    const float *v = svm_vectors, *c = svm_coef;
    uint16_t i, j, p;
    float z[SVM_INPUTS];
    for (j = 0; j < SVM_INPUTS; j++) {
        z[j] = @SCALED@;
    }
    for (p = 0; p < SVM_OUTPUTS; p++) {
        values[p] = SVM_FLOAT(&svm_intercept[p]);
    }
    for (i = 0; i < SVM_VECTORS; i++) {
        float k = 0;
        for (j = 0; j < SVM_INPUTS; j++, v++) {
            float b = SVM_FLOAT(v);
            @TERM@
        }
@KERNEL@        for (p = 0; p < SVM_OUTPUTS; p++, c++) {
            values[p] += k * SVM_FLOAT(c);
        }
    }
}
