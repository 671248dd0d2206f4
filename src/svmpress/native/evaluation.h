/* What the two files of Objective share: objective.c, which takes rows and targets from Python, and evaluation.c, which
 * passes over them. Include after Python.h. */
#ifndef SVMPRESS_EVALUATION_H
#define SVMPRESS_EVALUATION_H

#include "objective.h"

enum { DENSE, INDICES, INDPTR, TARGETS, OUTPUTS, WEIGHTS, SIDES, BUFFERS };

typedef struct {
    PyObject_HEAD
    const Passes *passes;
    Rows rows;
    int64_t d, M, n_groups, all_rows, most_width; /* all_rows: of all groups */
    RowGroup *groups;
    const double *targets, *weights, *sides;
    const int64_t *outputs;
    Py_buffer buffer[BUFFERS];
} Objective;
/* Python's equations(...) and slopes(...) of an Objective. */
PyObject *svmpress_equations(PyObject *object, PyObject *const *args, Py_ssize_t n_args);
PyObject *svmpress_slopes(PyObject *object, PyObject *const *args, Py_ssize_t n_args);

#endif
