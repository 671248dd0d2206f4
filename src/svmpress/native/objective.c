/* svmpress.native._compiled.Objective: rows and targets of one objective.
 *
 * Buffers of Python are checked here, so that nothing that they claim makes a pass read or write elsewhere.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "evaluation.h"
#include "module.h"

static void objective_free(PyObject *object) {
    Objective *self = (Objective *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < BUFFERS; i++) PyBuffer_Release(&self->buffer[i]);
    free(self->groups);
    freefunc give_back = (freefunc)PyType_GetSlot(type, Py_tp_free);
    give_back(object);
    Py_DECREF(type);
}

static int get_dense(Objective *self, PyObject *X) {
    Py_buffer *b = &self->buffer[DENSE];
    if (PyObject_GetBuffer(X, b, PyBUF_STRIDES | PyBUF_FORMAT) < 0) return 0;
    const char *format = b->format ? b->format : "";
    const int is_double = strcmp(format, "d") == 0;
    if (b->ndim != 2 || b->shape[1] < 1 || !(is_double || strcmp(format, "f") == 0) || b->strides[1] != b->itemsize)
        return PyErr_SetString(PyExc_ValueError, "X must be (n, d) of float or double, with contiguous rows"), 0;
    self->rows = (Rows){.n = b->shape[0], .base = b->buf, .row_stride = b->strides[0], .is_double = is_double};
    self->d = b->shape[1];
    return 1;
}

static int get_csr(Objective *self, PyObject *parts, long long d) {
    PyObject *values, *indices, *indptr;
    Py_buffer *b = self->buffer;
    if (!PyArg_ParseTuple(parts, "OOO", &values, &indices, &indptr)) return 0;
    if (svmpress_items(values, &b[DENSE], 0, sizeof(double), "values") < 0) return 0;
    const int64_t stored = b[DENSE].len / (int64_t)sizeof(double);
    if (svmpress_items(indices, &b[INDICES], stored, sizeof(int32_t), "indices") < 0) return 0;
    if (svmpress_items(indptr, &b[INDPTR], 1, sizeof(int64_t), "indptr") < 0) return 0;
    self->rows = (Rows){.n = b[INDPTR].len / (int64_t)sizeof(int64_t) - 1,
                        .values = b[DENSE].buf,
                        .indices = b[INDICES].buf,
                        .indptr = b[INDPTR].buf};
    self->d = d;
    if (d >= 1 && d <= INT32_MAX && svmpress_check_csr(&self->rows, d, stored)) return 1; /* as their indices are */
    return PyErr_SetString(PyExc_ValueError, "not a CSR matrix with so many columns"), 0;
}

/* The groups from rows of first, step, count, width; how many outputs and targets they have in all must be there. */
static int get_groups(Objective *self, PyObject *table) {
    Py_buffer buffer = {0};
    if (svmpress_items(table, &buffer, 4, sizeof(int64_t), "groups") < 0) return PyBuffer_Release(&buffer), 0;
    const int64_t *from = buffer.buf;
    int64_t widths = 0, targets = 0;
    int good = 1;
    self->n_groups = buffer.len / (int64_t)(4 * sizeof(int64_t));
    self->groups = calloc((size_t)self->n_groups, sizeof(RowGroup));
    if (!self->groups) good = (PyErr_NoMemory(), 0);
    for (int64_t g = 0; good && g < self->n_groups; g++, from += 4) {
        const int64_t first = from[0], step = from[1], count = from[2], width = from[3], n = self->rows.n;
        good = first >= 0 && step >= 1 && count >= 0 && width >= 1 && width <= self->M && count <= n &&
               (count == 0 || (first < n && count - 1 <= (n - 1 - first) / step));
        self->groups[g] = (RowGroup){.first = first, .step = step, .count = count, .width = width, .outputs = widths,
                                     .targets = targets, .kept = self->all_rows};
        if (good) targets = size_of(count, width, targets);
        if (good) good = targets >= 0 && (widths = size_of(1, width, widths)) >= 0;
        if (good) good = (self->all_rows = size_of(1, count, self->all_rows)) >= 0;
        if (width > self->most_width) self->most_width = width;
    }
    PyBuffer_Release(&buffer);
    if (!good && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a group of rows is out of range");
    if (!good) return 0;
    self->buffer[TARGETS].len = targets; /* what get_buffers looks for */
    self->buffer[OUTPUTS].len = widths;
    return 1;
}

static int get_buffers(Objective *self, PyObject *targets, PyObject *outputs, PyObject *weights, PyObject *sides) {
    Py_buffer *b = self->buffer;
    const int64_t n_targets = b[TARGETS].len, widths = b[OUTPUTS].len;
    b[TARGETS].len = b[OUTPUTS].len = 0;
    if (svmpress_items(targets, &b[TARGETS], n_targets, sizeof(double), "targets") < 0) return 0;
    if (svmpress_items(outputs, &b[OUTPUTS], widths, sizeof(int64_t), "outputs") < 0) return 0;
    if (svmpress_items(weights, &b[WEIGHTS], widths, sizeof(double), "weights") < 0) return 0;
    if (sides != Py_None && svmpress_items(sides, &b[SIDES], widths, sizeof(double), "sides") < 0) return 0;
    self->targets = b[TARGETS].buf;
    self->outputs = b[OUTPUTS].buf;
    self->weights = b[WEIGHTS].buf;
    self->sides = sides == Py_None ? NULL : b[SIDES].buf;
    for (int64_t i = 0; i < widths; i++)
        if (self->outputs[i] < 0 || self->outputs[i] >= self->M)
            return PyErr_SetString(PyExc_ValueError, "an output is out of range"), 0;
    return 1;
}

static PyObject *objective_new(PyTypeObject *type, PyObject *args, PyObject *named) {
    static char *names[] = {"isa",     "rows",    "n_features", "n_outputs", "groups",
                            "targets", "outputs", "weights",    "sides",     NULL};
    const char *isa;
    PyObject *rows, *groups, *targets, *outputs, *weights, *sides;
    long long d, M;
    if (!PyArg_ParseTupleAndKeywords(args, named, "sOLLOOOOO", names, &isa, &rows, &d, &M, &groups, &targets, &outputs,
                                     &weights, &sides))
        return NULL;
    const InstructionSet *set = svmpress_find_set(isa);
    if (!set) return NULL;
    if (M < 1) return PyErr_SetString(PyExc_ValueError, "n_outputs out of range"), NULL;
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Objective *self = (Objective *)allocate(type, 0);
    if (!self) return NULL;
    self->passes = set->passes;
    self->M = M;
    if ((PyTuple_Check(rows) ? get_csr(self, rows, d) : get_dense(self, rows)) && get_groups(self, groups) &&
        get_buffers(self, targets, outputs, weights, sides))
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static PyMethodDef objective_methods[] = {
    {"equations", (PyCFunction)(void (*)(void))svmpress_equations, METH_FASTCALL,
     "equations(kernel, gamma, coef0, degree, V, shift, grams, moments, kept, pieces, threads)"},
    {"slopes", (PyCFunction)(void (*)(void))svmpress_slopes, METH_FASTCALL,
     "slopes(kernel, gamma, coef0, degree, V, coef, intercept, factor, trust, width, kept, known, dV, dA, threads)"
     " -> error, slope of gamma"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot objective_slots[] = {
    {Py_tp_doc, "Rows and targets of an objective, for one instruction set; see svmpress.objectives."},
    {Py_tp_new, objective_new},
    {Py_tp_dealloc, objective_free},
    {Py_tp_methods, objective_methods},
    {0, NULL},
};

PyType_Spec svmpress_objective_spec = {
    .name = "svmpress.native._compiled.Objective",
    .basicsize = sizeof(Objective),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = objective_slots,
};
