static float svm_power(float s)
{
    float k = s;
    uint8_t i;
    for (i = 1; i < SVM_DEGREE; i++) {
        k *= s;
    }
    return k;
}
