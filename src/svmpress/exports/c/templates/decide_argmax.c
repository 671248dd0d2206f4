svm_position svm_decide(const svm_value *values)
{
    svm_position best = 0, c;
    for (c = 1; c < SVM_CLASSES; c++) {
        if (values[c] > values[best]) {
            best = c;
        }
    }
    return best;
}
