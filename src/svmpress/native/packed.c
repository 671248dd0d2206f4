/* svmpress.native._compiled.Packed: a model packed for one instruction set, and its predictions on threads. The GIL is
 * released while a prediction runs; a packed model is never written to, so any number of threads may use it at once.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#include "crew.h"
#include "module.h"

/* ---- predictions on threads ----------------------------------------------------------------------------- */

typedef struct {
    const InstructionSet *set;
    int precision; /* 0 float, 1 double */
    int votes;     /* winners instead of decision values */
    const Model *model;
    const Rows *rows;
    void *out;
    int64_t chunk;       /* rows of a task */
    _Atomic int64_t bad; /* a row that is not finite, or whose value is not; or -1 */
    int out_of_memory;
} Job;

/* The first of `count` rows from `start` with a decision value that overflowed, or -1. */
static int64_t find_overflow(const Job *job, int64_t start, int64_t count) {
    const int64_t M = job->model->M;
    for (int64_t i = start; i < start + count; i++) {
        int bad = 0; /* a register at a time, whatever it finds */
        if (job->precision)
            for (int64_t c = 0; c < M; c++) bad |= !(((const double *)job->out)[i * M + c] * 0 == 0);
        else
            for (int64_t c = 0; c < M; c++) bad |= !(((const float *)job->out)[i * M + c] * 0 == 0);
        if (bad) return i;
    }
    return -1;
}

static void predict_chunk(void *context, int64_t task, void *scratch) {
    Job *job = context;
    if (job->bad >= 0) return;
    const int64_t start = task * job->chunk, left = job->rows->n - start, count = left < job->chunk ? left : job->chunk;
    int64_t bad = (job->votes ? job->set->vote : job->set->predict)[job->precision](
        job->model, job->rows, start, count, scratch, job->out);
    if (bad < 0 && !job->votes) bad = find_overflow(job, start, count);
    if (bad >= 0) job->bad = bad;
}

/* About how long one row takes, in nanoseconds: a multiply-add of a whole register each third of one. */
static double row_cost(const Model *m) {
    return 0.35 * (double)m->panels * ((double)m->d + 12 + (double)m->M);
}

static void run(Job *job, int threads) {
    const int64_t n = job->rows->n;
    const InstructionSet *set = job->set;
    const int64_t most_rows = (job->votes ? set->vote_rows : set->block_rows)[job->precision](job->model);
    const double nanoseconds = (double)n * row_cost(job->model);
    threads = crew_size(threads, nanoseconds);
    job->chunk = threads > 1 ? (n / (4 * threads) + 8) / 8 * 8 : n;
    if (job->chunk > most_rows) job->chunk = most_rows;
    Crew crew = {.task = predict_chunk, .context = job, .tasks = (n + job->chunk - 1) / job->chunk};
    crew.scratch = (job->votes ? set->vote_bytes : set->scratch_bytes)[job->precision](job->model, job->chunk);
    job->out_of_memory = !crew_run(&crew, threads, nanoseconds);
}

/* ---- the packed model ---------------------------------------------------------------------------------------- */

enum { VECTORS, OFFSET, OFFSET_SPARSE, CENTRE, COEF, GROUPS, COLUMNS, INTERCEPT, CHECKS, CHECK_INTERCEPT, BUFFERS };

typedef struct {
    PyObject_HEAD
    const InstructionSet *set;
    int precision;
    Model model;
    Py_buffer buffer[BUFFERS];
} Packed;

static void packed_free(PyObject *object) {
    Packed *self = (Packed *)object;
    PyTypeObject *type = Py_TYPE(object);
    for (int i = 0; i < BUFFERS; i++) PyBuffer_Release(&self->buffer[i]);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

/* The coefficients and outputs that the groups speak of must be there, so that no model can make the predictor
 * read or write elsewhere. */
static int check_groups(const Model *m, int lanes, int64_t coefs, int64_t columns) {
    const int weighed = m->kernel != LINEAR && m->M > FEW_OUTPUTS;
    int64_t panel = 0;
    for (int64_t i = 0; i < m->groups; i++) {
        const Group *g = &m->group[i];
        if (g->first != panel || g->last < panel || g->last > m->panels) return 0;
        if (g->columns < 0 || g->columns > m->M || g->coef_start < 0) return 0;
        const int64_t panels_of_columns = (g->columns + lanes - 1) / lanes;
        const int64_t needs = size_of(size_of(panels_of_columns, g->last - g->first, 0), (int64_t)lanes * lanes, 0);
        if (weighed && (needs < 0 || g->coef_start > coefs - needs)) return 0;
        if (g->column_start < 0 && g->columns != m->M) return 0;
        if (g->column_start >= 0 && g->column_start > columns - g->columns) return 0;
        for (int64_t c = 0; g->column_start >= 0 && c < g->columns; c++) {
            const int64_t output = m->columns[g->column_start + c];
            if (output < 0 || output >= m->M) return 0;
        }
        panel = g->last;
    }
    return panel == m->panels;
}

static PyObject *packed_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"isa", "itemsize", "kernel", "degree", "row_factor", "n_features", "n_outputs",
                            "vectors", "offset", "offset_sparse", "centre", "coef", "groups", "columns",
                            "intercept", "checks", "check_intercept", NULL};
    const char *isa;
    int itemsize, kernel;
    double degree, row_factor;
    long long d, M;
    PyObject *arrays[BUFFERS] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "siiddLLOOOOOOOO|OO", names, &isa, &itemsize, &kernel, &degree,
                                     &row_factor, &d, &M, &arrays[VECTORS], &arrays[OFFSET], &arrays[OFFSET_SPARSE],
                                     &arrays[CENTRE], &arrays[COEF], &arrays[GROUPS], &arrays[COLUMNS],
                                     &arrays[INTERCEPT], &arrays[CHECKS], &arrays[CHECK_INTERCEPT]))
        return NULL;
    const InstructionSet *set = svmpress_find_set(isa);
    if (!set) return NULL;
    if ((itemsize != 4 && itemsize != 8) || kernel < RBF || kernel > LINEAR || d < 1 || M < 1 ||
        size_of(d, M, 0) < 0) {
        PyErr_SetString(PyExc_ValueError, "itemsize, kernel, n_features or n_outputs out of range");
        return NULL;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Packed *self = (Packed *)allocate(type, 0);
    if (!self) return NULL;
    self->set = set;
    self->precision = itemsize == 8;
    Py_buffer *b = self->buffer;
    const int lanes = set->register_bytes / itemsize;
    if (svmpress_items(arrays[OFFSET], &b[OFFSET], 0, itemsize, "offset") < 0) goto fail;
    const int64_t panels = b[OFFSET].len / itemsize / lanes, wide = (d + lanes - 1) / lanes * lanes;
    const int64_t of_vectors = size_of(panels * lanes, d, 0);
    const int64_t of_coef = kernel != LINEAR && M <= FEW_OUTPUTS ? M * panels * lanes : 0;
    if (svmpress_items(arrays[VECTORS], &b[VECTORS], of_vectors, itemsize, "vectors") < 0) goto fail;
    if (svmpress_items(arrays[OFFSET_SPARSE], &b[OFFSET_SPARSE], panels * lanes, itemsize, "offset_sparse") < 0) goto fail;
    if (svmpress_items(arrays[COEF], &b[COEF], of_coef, itemsize, "coef") < 0) goto fail;
    if (svmpress_items(arrays[GROUPS], &b[GROUPS], 0, sizeof(int64_t), "groups") < 0) goto fail;
    if (svmpress_items(arrays[COLUMNS], &b[COLUMNS], 0, sizeof(int64_t), "columns") < 0) goto fail;
    if (svmpress_items(arrays[INTERCEPT], &b[INTERCEPT], M, itemsize, "intercept") < 0) goto fail;
    if (svmpress_items(arrays[CENTRE], &b[CENTRE], wide, itemsize, "centre") < 0) goto fail;
    if (arrays[CHECKS] && arrays[CHECK_INTERCEPT]) {
        if (kernel == LINEAR || M <= FEW_OUTPUTS) { /* their kernel values are not there to be kept */
            PyErr_SetString(PyExc_ValueError, "a ballot needs a kernel that is not linear and more than a few classes");
            goto fail;
        }
        const int64_t width = (M - 1 + lanes - 1) / lanes * lanes;
        const int64_t of_intercept = size_of(M, width, 0), of_checks = size_of(of_intercept, panels * lanes, 0);
        if (svmpress_items(arrays[CHECKS], &b[CHECKS], of_checks, itemsize, "checks") < 0) goto fail;
        if (svmpress_items(arrays[CHECK_INTERCEPT], &b[CHECK_INTERCEPT], of_intercept, itemsize, "check_intercept") < 0)
            goto fail;
    }
    self->model = (Model){
        .kernel = kernel,
        .degree = degree,
        .row_factor = row_factor,
        .d = d,
        .M = M,
        .panels = panels,
        .groups = b[GROUPS].len / (int64_t)sizeof(Group),
        .vectors = b[VECTORS].buf,
        .offset = b[OFFSET].buf,
        .offset_sparse = b[OFFSET_SPARSE].buf,
        .centre = b[CENTRE].buf,
        .coef = b[COEF].buf,
        .group = b[GROUPS].buf,
        .columns = b[COLUMNS].buf,
        .intercept = b[INTERCEPT].buf,
        .checks = b[CHECKS].buf,
        .check_intercept = b[CHECK_INTERCEPT].buf,
    };
    for (int64_t k = 0; k < d; k++) {
        const double c = itemsize == 8 ? ((double *)b[CENTRE].buf)[k] : ((float *)b[CENTRE].buf)[k];
        self->model.centre_norm += c * c;
    }
    if (!check_groups(&self->model, lanes, b[COEF].len / itemsize, b[COLUMNS].len / (int64_t)sizeof(int64_t)) ||
        (kernel == LINEAR && panels * lanes < M)) {
        PyErr_SetString(PyExc_ValueError, "the groups do not cover the vectors and coefficients");
        goto fail;
    }
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

/* Run a job on rows that have been checked; returns a row that is not finite, or -1, as an integer. */
static PyObject *finish(Packed *self, const Rows *rows, PyObject *out, long threads, int votes) {
    Py_buffer result;
    const Model *model = &self->model;
    Job job = {.set = self->set, .precision = self->precision, .votes = votes, .model = model, .rows = rows, .bad = -1};
    if (PyObject_GetBuffer(out, &result, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) return NULL;
    const Py_ssize_t size = votes || self->precision ? 8 : 4;
    const int64_t items = size_of(rows->n, votes ? 1 : model->M, 0);
    if (result.itemsize != size || items < 0 || result.len != items * size) {
        PyBuffer_Release(&result);
        PyErr_SetString(PyExc_ValueError, "out has the wrong size");
        return NULL;
    }
    job.out = result.buf;
    if (rows->n > 0) {
        Py_BEGIN_ALLOW_THREADS
        run(&job, threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : (int)threads);
        Py_END_ALLOW_THREADS
    }
    PyBuffer_Release(&result);
    if (job.out_of_memory) return PyErr_NoMemory();
    return PyLong_FromLongLong(job.bad);
}

static int get_scale(PyObject *object, Py_buffer *buffer, int64_t d, const double **values, const char *name) {
    if (object == Py_None) return 0;
    if (svmpress_items(object, buffer, d, sizeof(double), name) < 0) return -1;
    *values = buffer->buf;
    return 0;
}

static PyObject *of_dense(PyObject *object, PyObject *const *args, Py_ssize_t n_args, int votes) {
    Packed *self = (Packed *)object;
    if (n_args != 5) {
        PyErr_SetString(PyExc_TypeError, "arguments are X, out, threads, shift, factor");
        return NULL;
    }
    const long threads = PyLong_AsLong(args[2]);
    if (threads == -1 && PyErr_Occurred()) return NULL;
    Py_buffer x = {0}, shift = {0}, factor = {0};
    PyObject *answer = NULL;
    if (PyObject_GetBuffer(args[0], &x, PyBUF_STRIDES | PyBUF_FORMAT) < 0) return NULL;
    const char *format = x.format ? x.format : "";
    if (*format && strchr("@=^", *format)) format++; /* native, aligned or not */
    const char type = *format && !format[1] ? *format : 0;
    if (x.ndim != 2 || x.shape[1] != self->model.d || (type != 'f' && type != 'd')) {
        PyErr_SetString(PyExc_ValueError, "X must be (n, d) of float or double");
        goto done;
    }
    Rows rows = {.n = x.shape[0],
                 .base = x.buf,
                 .row_stride = x.strides[0],
                 .column_stride = x.strides[1],
                 .is_double = type == 'd'};
    if (get_scale(args[3], &shift, self->model.d, &rows.shift, "shift") < 0) goto done;
    if (get_scale(args[4], &factor, self->model.d, &rows.factor, "factor") < 0) goto done;
    answer = finish(self, &rows, args[1], threads, votes);
done:
    PyBuffer_Release(&x);
    PyBuffer_Release(&shift);
    PyBuffer_Release(&factor);
    return answer;
}

static PyObject *predict_dense(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    return of_dense(self, args, n_args, 0);
}

static PyObject *vote_dense(PyObject *self, PyObject *const *args, Py_ssize_t n_args) {
    if (((Packed *)self)->model.checks) return of_dense(self, args, n_args, 1);
    PyErr_SetString(PyExc_ValueError, "this model is no ballot");
    return NULL;
}

static PyObject *predict_csr(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
    Packed *self = (Packed *)object;
    if (n_args != 5) {
        PyErr_SetString(PyExc_TypeError, "predict_csr(values, indices, indptr, out, threads)");
        return NULL;
    }
    const long threads = PyLong_AsLong(args[4]);
    if (threads == -1 && PyErr_Occurred()) return NULL;
    const Py_ssize_t size = self->precision ? 8 : 4;
    Py_buffer values = {0}, indices = {0}, indptr = {0};
    PyObject *answer = NULL;
    if (svmpress_items(args[0], &values, 0, size, "values") < 0) goto done;
    if (svmpress_items(args[1], &indices, values.len / size, sizeof(int32_t), "indices") < 0) goto done;
    if (svmpress_items(args[2], &indptr, 1, sizeof(int64_t), "indptr") < 0) goto done;
    Rows rows = {.n = indptr.len / (int64_t)sizeof(int64_t) - 1,
                 .values = values.buf,
                 .indices = indices.buf,
                 .indptr = indptr.buf};
    if (!svmpress_check_csr(&rows, self->model.d, values.len / size)) {
        PyErr_SetString(PyExc_ValueError, "not a CSR matrix with the columns of the model");
        goto done;
    }
    answer = finish(self, &rows, args[3], threads, 0);
done:
    PyBuffer_Release(&values);
    PyBuffer_Release(&indices);
    PyBuffer_Release(&indptr);
    return answer;
}

static PyMethodDef packed_methods[] = {
    {"predict_dense", (PyCFunction)(void (*)(void))predict_dense, METH_FASTCALL,
     "predict_dense(X, out, threads, shift, factor) -> a row that is not finite, or whose answer is not, or -1"},
    {"vote_dense", (PyCFunction)(void (*)(void))vote_dense, METH_FASTCALL,
     "vote_dense(X, out, threads, shift, factor) -> a row that is not finite, or -1"},
    {"predict_csr", (PyCFunction)(void (*)(void))predict_csr, METH_FASTCALL,
     "predict_csr(values, indices, indptr, out, threads) -> a row whose answer is not finite, or -1"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot packed_slots[] = {
    {Py_tp_doc, "A model packed for one instruction set; see svmpress.predictor.packing."},
    {Py_tp_new, packed_new},
    {Py_tp_dealloc, packed_free},
    {Py_tp_methods, packed_methods},
    {0, NULL},
};

PyType_Spec svmpress_packed_spec = {
    .name = "svmpress.native._compiled.Packed",
    .basicsize = sizeof(Packed),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = packed_slots,
};
