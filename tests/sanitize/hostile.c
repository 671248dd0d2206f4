/* Calls exported code with rows that no sensor measures. Rows and values are pieces of memory of their exact sizes, so
 * that AddressSanitizer sees a step beside them; positions that are no class are counted as wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "svm.h"

static uint32_t state = 1;

static uint32_t any(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static float number(void)
{
    static const uint32_t odd[] = {
        0x7fc00000u, 0xffc00000u, 0x7f800000u, 0xff800000u, 0x7f7fffffu, 0xff7fffffu, 0x00000001u, 0x80000000u,
        0x4f000000u, 0xcf000000u, 0x4f800000u, 0x477fff80u, 0x437f8000u, 0xbf800000u, 0x3f800000u, 0x00000000u};
    uint32_t bits = any();
    float found;
    switch (any() % 3) {
    case 0:
        bits = odd[bits % (sizeof odd / sizeof odd[0])];
        break;
    case 1:
        return (float)(bits % 20001) / 1000.0f - 10.0f;
    default:
        break;
    }
    memcpy(&found, &bits, sizeof found);
    return found;
}

int main(int argc, char **argv)
{
    long rows = argc > 1 ? atol(argv[1]) : 100, i, wrong = 0;
    for (i = 0; i < rows; i++) {
        svm_input *x = malloc(SVM_INPUTS * sizeof *x);
        svm_value *values = malloc(SVM_OUTPUTS * sizeof *values);
        long j;
        for (j = 0; j < SVM_INPUTS; j++) {
            if (sizeof *x == 1) {
                x[j] = (svm_input)(any() >> 24);
            } else {
                x[j] = (svm_input)number();
            }
        }
        if (sizeof *x == 1 && i < 2) {
            memset(x, i ? 255 : 0, SVM_INPUTS * sizeof *x);
        }
        svm_values(x, values);
#ifdef SVM_CLASSES
        wrong += svm_decide(values) >= SVM_CLASSES || svm_predict(x) != svm_decide(values);
#else
        svm_predict(x);
#endif
        free(x);
        free(values);
    }
    printf("%ld rows, %ld wrong\n", rows, wrong);
    return wrong != 0;
}
