/* 2^-t for t in proportion to p: a table of one halving, a straight line between two of its numbers, and a shift. */
static int16_t svm_kernel(int32_t p)
{
    uint32_t d = (uint32_t)p >> SVM_DOWN;
    uint16_t t, y;
    uint8_t i;
    if (d > SVM_FAR) {
        return 0;
    }
    t = (uint16_t)((uint32_t)(uint16_t)d * (uint16_t)SVM_FACTOR >> SVM_SHIFT);
    i = (uint8_t)(t >> 7 & 31);
    y = SVM_U16(&svm_table[i]);
    y = (uint16_t)(y - ((uint32_t)(uint16_t)(y - SVM_U16(&svm_table[i + 1])) * (uint16_t)(t & 127) >> 7));
    return (int16_t)(y >> (t >> 12));
}
