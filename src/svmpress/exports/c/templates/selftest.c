/* Rows and the answers that svmpress gives for them.
 *
 *     cc svm.c selftest.c@LIBRARIES@ -o selftest && ./selftest
 *
 * On a device without a console define SVM_NO_MAIN and call svm_selftest(): it returns how many rows are answered
 * otherwise, 0 if all is well. */
#include "svm.h"

#ifdef __AVR__
#include <avr/pgmspace.h>
#define ROM PROGMEM
#define COPY(to, from, size) memcpy_P(to, from, size)
#else
#define ROM
#define COPY(to, from, size) memcpy(to, from, size)
#endif
#include <string.h>

#define ROWS @ROWS@
static const svm_input rows[ROWS][SVM_INPUTS] ROM = {
@INPUTS@};
static const svm_value answers[ROWS][SVM_OUTPUTS] ROM = {
@ANSWERS@};
@POSITIONS@
int svm_selftest(void);

int svm_selftest(void)
{
    static svm_input x[SVM_INPUTS];
    svm_value values[SVM_OUTPUTS], expected[SVM_OUTPUTS];
    int wrong = 0, i, p;
    for (i = 0; i < ROWS; i++) {
        int bad = 0;
        COPY(x, rows[i], sizeof x);
        COPY(expected, answers[i], sizeof expected);
        svm_values(x, values);
        for (p = 0; p < SVM_OUTPUTS; p++) {
            @COMPARE@
        }
@DECIDED@        wrong += bad;
    }
    return wrong;
}

#if !defined(SVM_NO_MAIN) && !defined(ARDUINO)
#include <stdio.h>

int main(void)
{
    int wrong = svm_selftest();
    printf("%d of %d rows are answered as expected\n", ROWS - wrong, ROWS);
    return wrong != 0;
}
#endif
