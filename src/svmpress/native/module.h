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

/* a * b + c of sizes that are not negative, or -1 if it is more than memory could hold or a part is -1. */
static inline int64_t size_of(int64_t a, int64_t b, int64_t c) {
    int64_t product, sum;
    if (a < 0 || b < 0 || c < 0 || __builtin_mul_overflow(a, b, &product) || __builtin_add_overflow(product, c, &sum))
        return -1;
    return sum > INT64_MAX / 64 ? -1 : sum;
}

/* Python's watch(file, milliseconds); see watch.c. */
PyObject *svmpress_watch(PyObject *module, PyObject *args);

extern PyType_Spec svmpress_objective_spec, svmpress_packed_spec;

#endif
