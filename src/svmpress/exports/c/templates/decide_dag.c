/* The first and the last class that are left meet, and the loser goes. */
svm_position svm_decide(const svm_value *values)
{
    svm_position low = 0, high = SVM_CLASSES - 1;
    while (low < high) {
        uint16_t machine = (uint16_t)((uint32_t)low * (2u * SVM_CLASSES - low - 1u) / 2u + high - low - 1u);
        if (values[machine] > 0) {
            high--;
        } else {
            low++;
        }
    }
    return low;
}
