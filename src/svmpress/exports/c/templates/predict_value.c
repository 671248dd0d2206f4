float svm_predict(const svm_input *x)
{
    svm_value values[SVM_OUTPUTS];
    svm_values(x, values);
    return (float)values[0]@UNIT@;
}
