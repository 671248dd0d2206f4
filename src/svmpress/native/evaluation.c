/* One evaluation of an objective: two passes over its rows, in pieces, on threads.
 *
 * An Objective is not written to; each call has its memory to itself.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#include "crew.h"
#include "evaluation.h"
#include "module.h"

enum { ROWS_A_PIECE = 256, MOST_PIECES = 32 };
static const size_t MOST_SUMS = (size_t)1 << 26; /* bytes of sums that pieces have to themselves, if it can be */

/* So many doubles, zeros; NULL with an exception if there is no memory. */
static double *numbers(int64_t count) {
    void *memory = NULL;
    if (count < 0 || count > INT64_MAX / 64 || posix_memalign(&memory, 64, ((size_t)count + 1) * sizeof(double))) {
        PyErr_NoMemory();
        return NULL;
    }
    return memory;
}

/* All that the tasks of a pass share. */
typedef struct {
    const Objective *self;
    Basis basis;
    RowGroup *groups; /* with their places in `readouts`, `sums`, `wanted` */
    Piece *pieces;
    int64_t n_pieces, slots;
    unsigned char *wanted;
    const double *shift, *readouts;
    double *memory, *kept, *sums, *grams;
    Slopes *slopes;
    Loss loss;
    int threads;
} Evaluation;

static void release(Evaluation *e) {
    free(e->memory);
    free(e->groups);
    free(e->pieces);
    free(e->wanted);
    free(e->sums);
    free(e->slopes);
    free((void *)e->readouts);
}

/* The rows of the groups in pieces, no more of them than memory allows for `each` doubles of sums. */
static int cut(Evaluation *e, int64_t each) {
    const Objective *self = e->self;
    int64_t most = (int64_t)(MOST_SUMS / sizeof(double)) / (each > 0 ? each : 1);
    most = most < 1 ? 1 : most > MOST_PIECES ? MOST_PIECES : most;
    int64_t rows = (self->all_rows + most - 1) / most;
    rows = ((rows < ROWS_A_PIECE ? ROWS_A_PIECE : rows) + BLOCK - 1) / BLOCK * BLOCK;
    int64_t n = 0;
    for (int64_t g = 0; g < self->n_groups; g++) n += (e->groups[g].count + rows - 1) / rows;
    e->pieces = calloc((size_t)n + 1, sizeof(Piece));
    if (!e->pieces) return PyErr_NoMemory(), 0;
    for (int64_t g = 0; g < self->n_groups; g++)
        for (int64_t first = 0; first < e->groups[g].count; first += rows) {
            const int64_t left = e->groups[g].count - first;
            e->pieces[e->n_pieces++] = (Piece){.group = g, .first = first, .count = left < rows ? left : rows};
        }
    e->slots = n < most ? n : most;
    return 1;
}

/* About how long a pass takes, in nanoseconds. */
static double cost(const Evaluation *e, double per_value) {
    const double stored = e->self->rows.base || !e->self->rows.n
                              ? (double)e->self->d
                              : (double)e->self->rows.indptr[e->self->rows.n] / (double)e->self->rows.n;
    return 0.03 * (double)e->self->all_rows * (double)e->basis.m * (stored + 16 + per_value);
}

/* Arguments kernel, gamma, coef0, degree, V: the vectors are packed and the groups copied. */
static int begin(Evaluation *e, PyObject *const *args) {
    const Objective *self = e->self;
    Model *model = &e->basis.model;
    const long kernel = PyLong_AsLong(args[0]);
    e->basis.gamma = PyFloat_AsDouble(args[1]);
    e->basis.coef0 = PyFloat_AsDouble(args[2]);
    model->degree = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred()) return 0;
    if (kernel < RBF || kernel > LINEAR) return PyErr_SetString(PyExc_ValueError, "unknown kernel"), 0;
    model->kernel = (int)kernel;
    model->d = self->d;
    Py_buffer V = {0};
    if (svmpress_items(args[4], &V, 1, sizeof(double), "V") < 0) return PyBuffer_Release(&V), 0;
    const int64_t items = V.len / (int64_t)sizeof(double);
    int good = items % self->d == 0;
    if (!good) PyErr_SetString(PyExc_ValueError, "V has other features than the rows");
    e->basis.m = items / self->d;
    if (good) good = (e->memory = numbers((int64_t)self->passes->basis_size(e->basis.m, self->d))) != NULL;
    if (good) self->passes->pack_basis(&e->basis, &self->rows, V.buf, e->memory);
    PyBuffer_Release(&V);
    if (good && !(e->groups = malloc((size_t)(self->n_groups + 1) * sizeof(RowGroup)))) good = (PyErr_NoMemory(), 0);
    if (good) memcpy(e->groups, self->groups, (size_t)self->n_groups * sizeof(RowGroup));
    return good;
}

/* A buffer that may be written to, of so many doubles; None is NULL where it may be. */
static int get_writable(PyObject *object, Py_buffer *buffer, int64_t count, const char *name, int may_be_none) {
    if (may_be_none && object == Py_None) return 1;
    if (PyObject_GetBuffer(object, buffer, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE) < 0) return 0;
    if (count >= 0 && buffer->itemsize == sizeof(double) && buffer->len / (int64_t)sizeof(double) >= count) return 1;
    PyErr_Format(PyExc_ValueError, "%s has the wrong size", name);
    return 0;
}

/* ---- first pass --------------------------------------------------------------------------------------------------- */

/* Mark the tiles of a group's sums that are wanted: the upper triangle, or what covers the rectangles that are given as
 * group, first row, last row, first column, last column. What concerns the intercept and the targets always is. */
static int mark(Evaluation *e, const int64_t *cut_out, int64_t n_cut) {
    const int64_t m = e->basis.m, lanes = e->self->passes->lanes, tiles = m / OUTER_ROWS + 1;
    int64_t total = 0;
    for (int64_t g = 0; g < e->self->n_groups; g++) {
        e->groups[g].wanted = total;
        total = size_of(tiles, (m + 1 + e->groups[g].width + lanes - 1) / lanes, total);
    }
    if (total < 0 || !(e->wanted = calloc((size_t)total + 1, 1))) return PyErr_NoMemory(), 0;
    for (int64_t g = 0; g < e->self->n_groups; g++) {
        const int64_t panels = (m + 1 + e->groups[g].width + lanes - 1) / lanes;
        for (int64_t t = 0; t < tiles; t++)
            for (int64_t p = 0; p < panels; p++) {
                const int border = t == tiles - 1 || (p + 1) * lanes > m;
                e->wanted[e->groups[g].wanted + t * panels + p] = border || (!cut_out && (p + 1) * lanes > t * OUTER_ROWS);
            }
    }
    for (const int64_t *r = cut_out; r && r < cut_out + 5 * n_cut; r += 5) {
        if (r[0] < 0 || r[0] >= e->self->n_groups || r[1] < 0 || r[2] > m || r[3] < 0 || r[4] > m)
            return PyErr_SetString(PyExc_ValueError, "a piece of the equations is out of range"), 0;
        const RowGroup *g = &e->groups[r[0]];
        const int64_t panels = (m + 1 + g->width + lanes - 1) / lanes;
        for (int64_t t = r[1] / OUTER_ROWS; r[1] < r[2] && t * OUTER_ROWS < r[2]; t++)
            for (int64_t p = r[3] / lanes; r[3] < r[4] && p * lanes < r[4]; p++) {
                const int mirrored = r[1] == r[3] && r[2] == r[4] && (p + 1) * lanes <= t * OUTER_ROWS;
                if (!mirrored) e->wanted[g->wanted + t * panels + p] = 1;
            }
    }
    return 1;
}

static void add_equations(void *context, int64_t task, void *scratch) {
    Evaluation *e = context;
    const Piece *piece = &e->pieces[task];
    const RowGroup *g = &e->groups[piece->group];
    const int64_t size = (e->basis.m + 1) * e->self->passes->stride(e->basis.m + 1 + g->width);
    memset(e->sums + piece->sums, 0, (size_t)size * sizeof(double));
    e->self->passes->equations(&e->basis, &e->self->rows, g, piece, e->self->targets, e->shift ? e->shift + g->outputs : NULL,
                               e->wanted + g->wanted, e->kept, scratch, e->sums + piece->sums);
}

/* Sum up the pieces of a group into the first of them, one row of its equations a task; then into the Gram matrix. */
static void sum_equations(void *context, int64_t task, void *scratch) {
    Evaluation *e = context;
    (void)scratch;
    const int64_t m = e->basis.m, lanes = e->self->passes->lanes, g = task / (m + 1), a = task % (m + 1);
    const RowGroup *group = &e->groups[g];
    const int64_t stride = e->self->passes->stride(m + 1 + group->width), panels = (m + 1 + group->width + lanes - 1) / lanes;
    const unsigned char *map = e->wanted + group->wanted, *wanted = map + a / OUTER_ROWS * panels;
    double *gram = e->grams + g * (m + 1) * (m + 1), *total = NULL;
    for (const Piece *piece = e->pieces; piece < e->pieces + e->n_pieces; piece++) {
        if (piece->group != g) continue;
        double *sums = e->sums + piece->sums + a * stride;
        if (total)
            for (int64_t c = 0; c < panels * lanes; c++) total[c] += sums[c];
        else
            total = sums;
    }
    for (int64_t p = 0; p < panels; p++)
        for (int64_t c = p * lanes; wanted[p] && c < (p + 1) * lanes && c <= m; c++) {
            const double value = total ? total[c] : 0;
            if (c >= a || !map[c / OUTER_ROWS * panels + a / lanes]) gram[a * (m + 1) + c] = gram[c * (m + 1) + a] = value;
        }
}

/* [K 1]'T of all groups, weighted: (m + 1, M). */
static void gather_moments(const Evaluation *e, double *moments) {
    const Objective *self = e->self;
    const int64_t m = e->basis.m, M = self->M;
    memset(moments, 0, (size_t)((m + 1) * M) * sizeof(double));
    for (int64_t i = 0; i < e->n_pieces; i++) {
        const int64_t g = e->pieces[i].group;
        if (i && e->pieces[i - 1].group == g) continue; /* the first has the sum of all */
        const RowGroup *group = &e->groups[g];
        const int64_t stride = self->passes->stride(m + 1 + group->width);
        for (int64_t a = 0; a <= m; a++)
            for (int64_t c = 0; c < group->width; c++)
                moments[a * M + self->outputs[group->outputs + c]] +=
                    self->weights[group->outputs + c] * e->sums[e->pieces[i].sums + a * stride + m + 1 + c];
    }
}

static PyObject *run_equations(Evaluation *e, double *moments) {
    const Objective *self = e->self;
    const int64_t m = e->basis.m;
    int64_t largest = 0, total = 0;
    for (int64_t g = 0; g < self->n_groups; g++) {
        const int64_t size = size_of(m + 1, self->passes->stride(m + 1 + e->groups[g].width), 0);
        if (size < 0) return PyErr_NoMemory();
        if (size > largest) largest = size;
    }
    if (!cut(e, largest)) return NULL;
    for (int64_t i = 0; i < e->n_pieces; i++) {
        e->pieces[i].sums = total;
        total = size_of(m + 1, self->passes->stride(m + 1 + e->groups[e->pieces[i].group].width), total);
    }
    if (!(e->sums = numbers(total))) return NULL;
    const size_t scratch = self->passes->scratch_size(m, self->d, self->most_width) * sizeof(double);
    Crew add = {.task = add_equations, .context = e, .tasks = e->n_pieces, .scratch = scratch};
    Crew sum = {.task = sum_equations, .context = e, .tasks = self->n_groups * (m + 1)};
    int good;
    Py_BEGIN_ALLOW_THREADS
    good = crew_run(&add, e->threads, cost(e, (double)m / 2 + (double)self->most_width));
    if (good) good = crew_run(&sum, e->threads, 0.3 * (double)total);
    if (good) gather_moments(e, moments);
    Py_END_ALLOW_THREADS
    if (!good) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* equations(kernel, gamma, coef0, degree, V, shift, grams, moments, kept, pieces, threads) */
PyObject *svmpress_equations(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
    const Objective *self = (Objective *)object;
    if (n_args != 11) return PyErr_SetString(PyExc_TypeError, "equations takes 11 arguments"), NULL;
    Evaluation e = {.self = self, .threads = (int)PyLong_AsLong(args[10])};
    if (PyErr_Occurred()) return NULL;
    Py_buffer shift = {0}, grams = {0}, moments = {0}, kept = {0}, pieces = {0};
    PyObject *answer = NULL;
    if (!begin(&e, args)) goto done;
    const int64_t m = e.basis.m;
    const int64_t widths = self->buffer[OUTPUTS].len / (int64_t)sizeof(int64_t);
    if (args[5] != Py_None && svmpress_items(args[5], &shift, widths, sizeof(double), "shift") < 0) goto done;
    if (!get_writable(args[6], &grams, size_of(size_of(m + 1, m + 1, 0), self->n_groups, 0), "grams", 0)) goto done;
    if (!get_writable(args[7], &moments, size_of(m + 1, self->M, 0), "moments", 0)) goto done;
    if (!get_writable(args[8], &kept, size_of(self->all_rows, e.basis.stride, 0), "kept", 1)) goto done;
    if (args[9] != Py_None && svmpress_items(args[9], &pieces, 0, sizeof(int64_t), "pieces") < 0) goto done;
    e.shift = shift.buf;
    e.grams = grams.buf;
    e.kept = kept.buf;
    if (!mark(&e, pieces.buf, pieces.len / (int64_t)(5 * sizeof(int64_t)))) goto done;
    answer = run_equations(&e, moments.buf);
done:
    release(&e);
    PyBuffer_Release(&shift);
    PyBuffer_Release(&grams);
    PyBuffer_Release(&moments);
    PyBuffer_Release(&kept);
    PyBuffer_Release(&pieces);
    return answer;
}

/* ---- second pass -------------------------------------------------------------------------------------------------- */

static void add_slopes(void *context, int64_t task, void *scratch) {
    Evaluation *e = context;
    const Objective *self = e->self;
    for (int64_t i = task * e->n_pieces / e->slots; i < (task + 1) * e->n_pieces / e->slots; i++) {
        const RowGroup *g = &e->groups[e->pieces[i].group];
        self->passes->slopes(&e->basis, &self->rows, g, &e->pieces[i], self->targets, self->outputs, &e->loss,
                             e->readouts + g->readout, e->kept, scratch, &e->slopes[task]);
    }
}

/* X'H of a panel of vectors: of CSR rows as it is, of dense rows the sum of all slots' into the first. */
static void sum_slopes(void *context, int64_t panel, void *scratch) {
    Evaluation *e = context;
    const int64_t size = (e->self->d + 2) * e->self->passes->lanes;
    double *total = e->sums + panel * size;
    (void)scratch;
    if (!e->self->rows.base) {
        e->self->passes->scatter(&e->basis, &e->self->rows, e->groups, e->self->n_groups, panel, e->kept, total);
        return;
    }
    for (int64_t s = 1; s < e->slots; s++)
        for (int64_t i = 0; i < size; i++) total[i] += e->slopes[s].vectors[panel * size + i];
}

/* Lay out readouts and the sums of the slots; `coef` says whether slopes of the coefficients are wanted. */
static int prepare_slopes(Evaluation *e, const double *A, const double *b, int coef) {
    const Objective *self = e->self;
    const int64_t m = e->basis.m, M = self->M, panels = e->basis.model.panels;
    const int64_t of_vectors = size_of(panels * self->passes->lanes, self->d + 2, 0);
    const int64_t of_coef = coef ? size_of(m + 1, M, 0) : 0, sparse = !self->rows.base;
    const int64_t each = size_of(1, of_coef, sparse ? 0 : of_vectors);
    if (of_vectors < 0 || each < 0) return PyErr_NoMemory(), 0;
    if (!cut(e, each)) return 0;
    int64_t total = 0;
    for (int64_t g = 0; g < self->n_groups; g++) {
        e->groups[g].readout = total;
        total = size_of(1, (int64_t)self->passes->readout_size(m, e->groups[g].width), total);
    }
    double *readouts = numbers(total);
    e->readouts = readouts;
    const int64_t slots = e->slots > 0 ? e->slots : 1, all = size_of(slots, each, sparse ? of_vectors : 0);
    if (!readouts || !(e->sums = numbers(all))) return 0;
    if (!(e->slopes = calloc((size_t)slots, sizeof(Slopes)))) return PyErr_NoMemory(), 0;
    memset(e->sums, 0, (size_t)all * sizeof(double));
    for (int64_t s = 0; s < slots; s++) {
        if (coef) e->slopes[s].coef = e->sums + all - (slots - s) * of_coef;
        e->slopes[s].vectors = sparse ? NULL : e->sums + s * of_vectors;
    }
    for (int64_t g = 0; g < self->n_groups; g++)
        self->passes->pack_readout(&e->basis, &e->groups[g], self->outputs, self->weights, self->sides, A, b, M,
                                   readouts + e->groups[g].readout);
    return 1;
}

static PyObject *run_slopes(Evaluation *e, double *dV, double *dA) {
    const Objective *self = e->self;
    const int64_t m = e->basis.m;
    const size_t scratch = self->passes->scratch_size(m, self->d, self->most_width) * sizeof(double);
    Crew add = {.task = add_slopes, .context = e, .tasks = e->slots, .scratch = scratch};
    Crew sum = {.task = sum_slopes, .context = e, .tasks = e->basis.model.panels};
    double error = 0, width = 0;
    int good;
    Py_BEGIN_ALLOW_THREADS
    good = crew_run(&add, e->threads, cost(e, (double)self->d + 2 * (double)self->most_width));
    if (good) good = crew_run(&sum, e->threads, cost(e, 0));
    for (int64_t s = 0; s < e->slots; s++) {
        error += e->slopes[s].error;
        width += e->slopes[s].width;
        for (int64_t i = 0; dA && i < (m + 1) * self->M; i++) dA[i] = (s ? dA[i] : 0) + e->slopes[s].coef[i];
    }
    self->passes->finish(&e->basis, e->sums, dV, &width);
    Py_END_ALLOW_THREADS
    return good ? Py_BuildValue("(dd)", error, width) : PyErr_NoMemory();
}

/* slopes(kernel, gamma, coef0, degree, V, coef, intercept, factor, trust, width, kept, known, dV, dA, threads) */
PyObject *svmpress_slopes(PyObject *object, PyObject *const *args, Py_ssize_t n_args) {
    const Objective *self = (Objective *)object;
    if (n_args != 15) return PyErr_SetString(PyExc_TypeError, "slopes takes 15 arguments"), NULL;
    Evaluation e = {.self = self, .threads = (int)PyLong_AsLong(args[14])};
    e.loss = (Loss){.factor = PyFloat_AsDouble(args[7]), .has_sides = self->sides != NULL, .M = self->M};
    e.loss.trust = PyObject_IsTrue(args[8]);
    e.loss.width = PyObject_IsTrue(args[9]);
    e.loss.kept_known = PyObject_IsTrue(args[11]);
    if (PyErr_Occurred()) return NULL;
    Py_buffer A = {0}, b = {0}, kept = {0}, dV = {0}, dA = {0};
    PyObject *answer = NULL;
    if (!begin(&e, args)) goto done;
    const int64_t m = e.basis.m;
    if (svmpress_items(args[5], &A, size_of(m, self->M, 0), sizeof(double), "coef") < 0) goto done;
    if (svmpress_items(args[6], &b, self->M, sizeof(double), "intercept") < 0) goto done;
    if (!get_writable(args[10], &kept, size_of(self->all_rows, e.basis.stride, 0), "kept", 1)) goto done;
    if (!get_writable(args[12], &dV, size_of(m, self->d, 0), "dV", 0)) goto done;
    if (!get_writable(args[13], &dA, size_of(m + 1, self->M, 0), "dA", 1)) goto done;
    e.kept = kept.buf;
    if (!e.kept && (!self->rows.base || e.loss.kept_known)) {
        PyErr_SetString(PyExc_ValueError, "kernel values of these rows are to be kept");
        goto done;
    }
    e.loss.kept_known = e.loss.kept_known && e.basis.model.kernel != POLYNOMIAL;
    if (prepare_slopes(&e, A.buf, b.buf, args[13] != Py_None)) answer = run_slopes(&e, dV.buf, dA.buf);
done:
    release(&e);
    PyBuffer_Release(&A);
    PyBuffer_Release(&b);
    PyBuffer_Release(&kept);
    PyBuffer_Release(&dV);
    PyBuffer_Release(&dA);
    return answer;
}
