/* What the files of the Python module share. Include after Python.h. */
#ifndef SVMPRESS_MODULE_H
#define SVMPRESS_MODULE_H

#include "fused.h"

/* The instruction set of that name, or NULL with an exception. */
const InstructionSet *svmpress_find_set(const char *name);

/* A C-contiguous buffer of at least so many items of that size; -1 with an exception if it is something else. */
int svmpress_items(PyObject *object, Py_buffer *buffer, int64_t items, Py_ssize_t size, const char *name);

/* Whether CSR rows with d columns are valid as far as memory safety needs it. */
int svmpress_check_csr(const Rows *rows, int64_t d, int64_t stored);

extern PyType_Spec svmpress_objective_spec;

#endif
