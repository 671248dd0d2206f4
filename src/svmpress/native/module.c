/* svmpress.native._compiled: the predictors of fused.c and the objective for Python, without knowledge of NumPy: arrays
 * come and go through the buffer protocol, and only the stable ABI is used. Here is what its types share, and the module.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#include "module.h"

/* ---- instruction sets ---------------------------------------------------------------------------------- */

#if defined(__x86_64__)
extern const InstructionSet svmpress_avx512, svmpress_avx2;
#endif
extern const InstructionSet svmpress_baseline;

enum { MOST_SETS = 3 };

/* Those that this machine can run, fastest first. */
static int available_sets(const InstructionSet **sets) {
    int n = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) sets[n++] = &svmpress_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets[n++] = &svmpress_avx2;
#endif
    sets[n++] = &svmpress_baseline;
    return n;
}

const InstructionSet *svmpress_find_set(const char *name) {
    const InstructionSet *sets[MOST_SETS];
    const int n = available_sets(sets);
    for (int i = 0; i < n; i++)
        if (strcmp(sets[i]->name, name) == 0) return sets[i];
    PyErr_Format(PyExc_ValueError, "this machine cannot run %s", name);
    return NULL;
}

/* ---- what Python gives ------------------------------------------------------------------------------------------ */

/* A C-contiguous buffer of at least so many items of that size. */
int svmpress_items(PyObject *object, Py_buffer *buffer, int64_t items, Py_ssize_t size, const char *name) {
    if (PyObject_GetBuffer(object, buffer, PyBUF_C_CONTIGUOUS) < 0) return -1;
    if (items >= 0 && buffer->itemsize == size && buffer->len / size >= items) return 0;
    PyErr_Format(PyExc_ValueError, "%s: %zd bytes in items of %zd, expected %lld items of %zd", name, buffer->len,
                 buffer->itemsize, (long long)items, size);
    return -1;
}

/* The rows must be a valid CSR matrix with d columns: checked here as far as memory safety needs it. */
int svmpress_check_csr(const Rows *rows, int64_t d, int64_t stored) {
    if (rows->indptr[0] < 0 || rows->indptr[rows->n] > stored) return 0;
    for (int64_t i = 0; i < rows->n; i++)
        if (rows->indptr[i] > rows->indptr[i + 1]) return 0;
    for (int64_t k = rows->indptr[0]; k < rows->indptr[rows->n]; k++)
        if (rows->indices[k] < 0 || rows->indices[k] >= d) return 0;
    return 1;
}

/* ---- the module ------------------------------------------------------------------------------------------------ */

static PyObject *instruction_sets(PyObject *module, PyObject *unused) {
    (void)module;
    (void)unused;
    const InstructionSet *sets[MOST_SETS];
    const int n = available_sets(sets);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        PyObject *pair = Py_BuildValue("(si)", sets[i]->name, sets[i]->register_bytes);
        if (!pair || PyList_Append(list, pair) < 0) Py_CLEAR(list);
        Py_XDECREF(pair);
    }
    return list;
}

static PyObject *apply(PyObject *module, PyObject *args) {
    (void)module;
    const char *isa;
    int kernel;
    PyObject *array;
    Py_buffer x;
    if (!PyArg_ParseTuple(args, "siO", &isa, &kernel, &array)) return NULL;
    const InstructionSet *set = svmpress_find_set(isa);
    if (!set || PyObject_GetBuffer(array, &x, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) return NULL;
    const int known = x.itemsize == 4 || x.itemsize == 8;
    if (known) set->apply[x.itemsize == 8](kernel, x.buf, x.len / x.itemsize);
    PyBuffer_Release(&x);
    if (known) Py_RETURN_NONE;
    PyErr_SetString(PyExc_ValueError, "x must be float or double");
    return NULL;
}

static PyMethodDef module_methods[] = {
    {"instruction_sets", instruction_sets, METH_NOARGS, "(name, bytes of a register) that run here, fastest first"},
    {"apply", apply, METH_VARARGS, "apply(isa, kernel, x): 2^x for x <= 0 (RBF) or tanh(x log(2) / 2) (SIGMOID), in place"},
    {"watch", svmpress_watch, METH_VARARGS, "watch(file, milliseconds): end the process so long after a signal in a pipe"},
    {NULL, NULL, 0, NULL},
};

static int module_exec(PyObject *module) {
    PyObject *type = PyType_FromSpec(&svmpress_packed_spec);
    if (!type) return -1;
    int failed = PyModule_AddObjectRef(module, "Packed", type);
    Py_DECREF(type);
    if (failed || !(type = PyType_FromSpec(&svmpress_objective_spec))) return -1;
    failed = PyModule_AddObjectRef(module, "Objective", type);
    Py_DECREF(type);
    if (failed) return -1;
    return PyModule_AddIntConstant(module, "FEW_OUTPUTS", FEW_OUTPUTS);
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
#ifdef Py_mod_gil
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "svmpress.native._compiled",
    .m_doc = "Fused predictors in C.",
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__compiled(void) { return PyModuleDef_Init(&module_definition); }
