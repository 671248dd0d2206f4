/* Answers one row, again and again; where a sensor is read, fill the row instead. */
#include "svm.h"

#ifdef __ZEPHYR__
#include <zephyr/kernel.h>
#define SAY printk
#else
#include <stdio.h>
#define SAY printf
#endif

static svm_input row[SVM_INPUTS];
static const char *const labels[] = SVM_LABELS;

int main(void)
{
    SAY("class %s\n", labels[svm_predict(row)]);
    return 0;
}
