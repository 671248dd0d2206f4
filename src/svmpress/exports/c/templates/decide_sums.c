/* Votes; of equal votes the larger sum of values decides. */
svm_position svm_decide(const svm_value *values)
{
    uint8_t votes[SVM_CLASSES] = {0};
    svm_sum sums[SVM_CLASSES] = {0};
    svm_position i, j, best = 0;
    for (i = 0; i < SVM_CLASSES; i++) {
        for (j = (svm_position)(i + 1); j < SVM_CLASSES; j++, values++) {
            votes[*values >= 0 ? i : j]++;
            sums[i] += *values;
            sums[j] -= *values;
        }
    }
    for (i = 1; i < SVM_CLASSES; i++) {
        if (votes[i] > votes[best] || (votes[i] == votes[best] && sums[i] > sums[best])) {
            best = i;
        }
    }
    return best;
}
