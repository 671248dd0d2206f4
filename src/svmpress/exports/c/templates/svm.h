/* @ABOUT@
 * Written by svmpress @VERSION@; see README.md beside this file. */
#ifndef SVM_H
#define SVM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

@CONSTANTS@

typedef @INPUT@ svm_input; /* one feature of a row */
typedef @VALUE@ svm_value; /* one decision value@UNITS@ */
@CLASSES@
/* The decision values of a row of SVM_INPUTS numbers; room for SVM_OUTPUTS of them. */
void svm_values(const svm_input *x, svm_value *values);
@FUNCTIONS@
#ifdef __cplusplus
}
#endif

#endif
