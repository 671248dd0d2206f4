/* values += k * c, and c goes on to the next vector. */
static void svm_add(svm_value *values, int16_t k, const int16_t **c)
{
    SVM_INDEX p;
    for (p = 0; p < SVM_OUTPUTS; p++, (*c)++) {
        values[p] += (int32_t)k * (int16_t)SVM_U16(*c);
    }
}
