svm_position svm_decide(const svm_value *values)
{
    return (svm_position)(values[0] @GREATER@ 0);
}
