/* The predictor in one precision: rows in, decision values out. Included by fused.c for float and for double. */
#include "simd.h"

#include "elementary.h"

#include "tiles.h"

/* ---- rows ------------------------------------------------------------------------------------------------ */

INLINE int64_t FN(round_up)(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* Row i as x (d,), scaled, centred, and filled up with zeros to whole registers; 0 if it is not finite. */
static int FN(read_any_row)(const Model *m, const Rows *rows, int64_t i, REAL *restrict x) {
    const char *from = rows->base + i * rows->row_stride;
    const REAL *centre = m->centre;
    int bad = 0;
    for (int64_t k = 0; k < m->d; k++) {
        const char *at = from + k * rows->column_stride;
        double value = rows->is_double ? *(const LooseDouble *)at : (double)*(const LooseFloat *)at;
        if (rows->factor) value = (value - (rows->shift ? rows->shift[k] : 0)) * rows->factor[k];
        bad |= !(value - value == 0);
        x[k] = (REAL)value - centre[k];
    }
    for (int64_t k = m->d; k % LANES; k++) x[k] = 0;
    return !bad;
}

/* The same for a contiguous row without a scaling, a register at a time; reads on to the end of a register. */
INLINE int FN(read_plain_row)(const Model *m, int is_double, const char *from, REAL *x) {
    typedef double doubles __attribute__((vector_size(LANES * sizeof(double)), aligned(1), may_alias));
    typedef float floats __attribute__((vector_size(LANES * sizeof(float)), aligned(1), may_alias));
    const REAL *centre = m->centre;
    ivec bad = {0};
    for (int64_t k = 0; k < m->d; k += LANES) {
        const int64_t left = m->d - k < LANES ? m->d - k : LANES;
        const ivec mask = FN(first)(left);
        vec v = is_double ? __builtin_convertvector(*(const doubles *)(from + k * sizeof(double)), vec)
                          : __builtin_convertvector(*(const floats *)(from + k * sizeof(float)), vec);
        v = (vec)((ivec)v & mask);
        bad |= (ivec)(v - v != 0);
        FN(store)(x + k, (vec)((ivec)(v - FN(load)(centre + k)) & mask));
    }
    BITS any = 0;
    for (int j = 0; j < LANES; j++) any |= bad[j];
    return !any;
}

INLINE int FN(read_row)(const Model *m, const Rows *rows, int64_t i, REAL *x) {
    const ptrdiff_t size = rows->is_double ? sizeof(double) : sizeof(float);
    const int plain = !rows->factor && rows->column_stride == size && rows->row_stride == m->d * size;
    if (!plain || i * m->d + FN(round_up)(m->d) > rows->n * m->d) return FN(read_any_row)(m, rows, i, x);
    const char *from = rows->base + i * rows->row_stride;
    return rows->is_double ? FN(read_plain_row)(m, 1, from, x) : FN(read_plain_row)(m, 0, from, x);
}

/* ||x||^2 of a row that is filled up with zeros. */
INLINE REAL FN(norm)(const REAL *x, int64_t d) {
    vec sum = {0};
    for (int64_t k = 0; k < d; k += LANES) sum += FN(load)(x + k) * FN(load)(x + k);
    return FN(sum)(sum);
}

/* ||x - centre||^2 of a CSR row, from the values that are there. */
static REAL FN(sparse_norm)(const Model *m, const REAL *x, const int32_t *index, int64_t n) {
    const REAL *centre = m->centre;
    double sum = m->centre_norm;
    for (int64_t k = 0; k < n; k++) sum += x[k] * (x[k] - 2 * (double)centre[index[k]]);
    return (REAL)sum;
}

/* ---- step 2, alone or with step 3 for few outputs ---------------------------------------------------------- */

/* The kernel of a sum t over features; `row` is r ||x||^2 for RBF. */
INLINE vec FN(phi)(int kernel, const Model *m, vec t, REAL row) {
    switch (kernel) {
        case RBF: return FN(exp2)(FN(at_most)(t + row, 0)); /* above 0 is rounding */
        case LAPLACIAN: return FN(exp2)(t * (REAL)m->row_factor);
        case SIGMOID: return FN(tanh2)(t);
        case POLYNOMIAL: return FN(power)(t, m->degree);
        default: return t;
    }
}

/* K = phi(T) over some panels of each row; with outputs > 0, instead f[o] += sum_j K[j] A[o, j]. */
INLINE void FN(finish)(int kernel, int outputs, const Model *m, int rows, int64_t panels, REAL *t,
                       ptrdiff_t t_stride, const REAL *row, const REAL *coef, REAL *f, ptrdiff_t f_stride) {
    const ptrdiff_t stride = m->panels * LANES;
    for (int i = 0; i < rows; i++, t += t_stride, f += f_stride) {
        vec sum[FEW_OUTPUTS] = {{0}};
        for (int64_t p = 0; p < panels; p++) {
            vec k = FN(phi)(kernel, m, FN(load)(t + p * LANES), row[i]);
            if (outputs == 0) FN(store)(t + p * LANES, k);
            for (int o = 0; o < outputs; o++) sum[o] = k * FN(load)(coef + o * stride + p * LANES) + sum[o];
        }
        for (int o = 0; o < outputs; o++) f[o] += FN(sum)(sum[o]);
    }
}

static void FN(finish_rows)(const Model *m, int rows, int64_t panels, REAL *t, ptrdiff_t t_stride, const REAL *row,
                            const REAL *coef, REAL *f, ptrdiff_t f_stride) {
#define FINISH(kernel, outputs) \
    case kernel: FN(finish)(kernel, outputs, m, rows, panels, t, t_stride, row, coef, f, f_stride); return
#define KERNELS(outputs)                                                                                        \
    switch (m->kernel) {                                                                                        \
        FINISH(RBF, outputs);                                                                                   \
        FINISH(LAPLACIAN, outputs);                                                                             \
        FINISH(SIGMOID, outputs);                                                                               \
        FINISH(POLYNOMIAL, outputs);                                                                            \
    }                                                                                                           \
    return
    switch (m->M) {
        case 1: KERNELS(1);
        case 2: KERNELS(2);
        case 3: KERNELS(3);
        case FEW_OUTPUTS: KERNELS(FEW_OUTPUTS);
        default: KERNELS(0);
    }
#undef FINISH
#undef KERNELS
}

/* ---- the loop over blocks ------------------------------------------------------------------------------------ */

/* Working memory of one thread, carved from one allocation. */
typedef struct {
    REAL *x;     /* (count, d rounded up to whole registers) rows as read; unused for CSR */
    REAL *row;   /* (count,) r ||x||^2 */
    REAL *t;     /* (TILE_ROWS, block of vectors) */
    REAL *f;     /* (count, width) decision values; width: M rounded up to whole panels */
    REAL *some;  /* (TILE_ROWS, at most width) those of one group's columns */
    REAL *kept;  /* (count, vectors) all kernel values, or NULL: they are forgotten */
} FN(Scratch);

/* Panels of vectors in one block: they stay in the second-level cache while all rows of a call pass by, and
 * the tile of kernel values in the first. */
INLINE int64_t FN(block_panels)(const Model *m) {
    const int64_t most = 16 * 1024 / (TILE_ROWS * REGISTER_BYTES);
    int64_t fit = 256 * 1024 / (m->d * REGISTER_BYTES);
    fit = fit < most ? fit : most;
    return fit < TILE_PANELS ? TILE_PANELS : fit / TILE_PANELS * TILE_PANELS;
}

static int64_t FN(block_rows)(const Model *m) {
    const int64_t fit = 1024 * 1024 / ((m->d + FN(round_up)(m->M)) * (int64_t)sizeof(REAL));
    return fit < TILE_ROWS ? TILE_ROWS : fit > 256 ? 256 : fit / TILE_ROWS * TILE_ROWS;
}

static size_t FN(carve)(const Model *m, int64_t count, char *memory, FN(Scratch) * s) {
    const int64_t width = FN(round_up)(m->M);
    const int64_t sizes[] = {count * FN(round_up)(m->d), count, TILE_ROWS * FN(block_panels)(m) * LANES, count * width,
                             TILE_ROWS * width};
    REAL **parts[] = {&s->x, &s->row, &s->t, &s->f, &s->some};
    size_t used = 0;
    s->kept = NULL;
    for (int i = 0; i < 5; i++) {
        *parts[i] = (REAL *)(memory + used);
        used += (size_t)FN(round_up)(sizes[i]) * sizeof(REAL);
    }
    return used;
}

static size_t FN(scratch_bytes)(const Model *m, int64_t count) {
    FN(Scratch) s;
    return FN(carve)(m, count, NULL, &s);
}

/* Step 1 for `rows` rows from `start + i`, against `panels` panels from p. */
INLINE void FN(sums)(int metric, int rows, const Model *m, const Rows *X, int64_t start, int64_t i, int64_t p,
                     int64_t panels, const FN(Scratch) * s, ptrdiff_t t_stride) {
    const ptrdiff_t v_stride = m->d * LANES;
    const REAL *v = (const REAL *)m->vectors + p * v_stride;
    if (X->base) {
        const ptrdiff_t x_stride = FN(round_up)(m->d);
        FN(product)(metric, rows, s->x + i * x_stride, x_stride, v, v_stride, m->d, panels,
                    (const REAL *)m->offset + p * LANES, s->t, t_stride);
        return;
    }
    for (int a = 0; a < rows; a++) {
        int64_t from = X->indptr[start + i + a], to = X->indptr[start + i + a + 1];
        FN(sparse_sweep)(metric, (const REAL *)X->values + from, X->indices + from, to - from, v, v_stride, panels,
                         (const REAL *)m->offset_sparse + p * LANES, s->t + a * t_stride);
    }
}

/* Step 3 for many outputs: panels of outputs, sums over the vectors of a block that starts at panel p. */
INLINE void FN(weigh)(int rows, const Model *m, const Group *g, int64_t p, int64_t panels, const FN(Scratch) * s,
                      ptrdiff_t t_stride, REAL *f) {
    const int64_t width = FN(round_up)(m->M), vectors = (g->last - g->first) * LANES;
    const int64_t outputs = FN(round_up)(g->columns) / LANES;
    const REAL *coef = (const REAL *)m->coef + g->coef_start + (p - g->first) * LANES * LANES;
    if (g->column_start < 0) {
        FN(product)(DOT, rows, s->t, t_stride, coef, vectors * LANES, panels * LANES, outputs, NULL, f, width);
        return;
    }
    const int64_t *column = m->columns + g->column_start, stride = outputs * LANES;
    memset(s->some, 0, (size_t)(rows * stride) * sizeof(REAL));
    FN(product)(DOT, rows, s->t, t_stride, coef, vectors * LANES, panels * LANES, outputs, NULL, s->some, stride);
    for (int a = 0; a < rows; a++)
        for (int64_t c = 0; c < g->columns; c++) f[a * width + column[c]] += s->some[a * stride + c];
}

/* All steps for one tile of rows and one block of vectors. */
INLINE void FN(block)(int rows, const Model *m, const Rows *X, int64_t start, int64_t i, const Group *g, int64_t p,
                      int64_t panels, const FN(Scratch) * s) {
    const ptrdiff_t t_stride = FN(block_panels)(m) * LANES;
    const int64_t width = FN(round_up)(m->M);
    REAL *f = s->f + i * width;
    if (m->kernel == LAPLACIAN)
        FN(sums)(ABSOLUTE, rows, m, X, start, i, p, panels, s, t_stride);
    else
        FN(sums)(DOT, rows, m, X, start, i, p, panels, s, t_stride);
    if (m->kernel == LINEAR) {
        for (int a = 0; a < rows; a++)
            memcpy(f + a * width + p * LANES, s->t + a * t_stride, (size_t)(panels * LANES) * sizeof(REAL));
        return;
    }
    const REAL *coef = (const REAL *)m->coef + p * LANES; /* read for few outputs only */
    FN(finish_rows)(m, rows, panels, s->t, t_stride, s->row + i, coef, f, width);
    for (int a = 0; s->kept && a < rows; a++)
        memcpy(s->kept + (i + a) * m->panels * LANES + p * LANES, s->t + a * t_stride,
               (size_t)(panels * LANES) * sizeof(REAL));
    if (m->M > FEW_OUTPUTS) FN(weigh)(rows, m, g, p, panels, s, t_stride, f);
}

/* Read row i of this call, and start its decision values from the intercepts; 0 if it is not finite. */
INLINE int FN(begin)(const Model *m, const Rows *X, int64_t start, int64_t i, const FN(Scratch) * s) {
    const int64_t width = FN(round_up)(m->M);
    REAL *x = s->x + i * FN(round_up)(m->d), *f = s->f + i * width, norm = 0;
    if (X->base) {
        if (!FN(read_row)(m, X, start + i, x)) return 0;
        if (m->kernel == RBF) norm = FN(norm)(x, m->d);
    } else if (m->kernel == RBF) {
        const int64_t from = X->indptr[start + i], to = X->indptr[start + i + 1];
        norm = FN(sparse_norm)(m, (const REAL *)X->values + from, X->indices + from, to - from);
    }
    s->row[i] = (REAL)m->row_factor * norm;
    for (int64_t o = 0; o < width; o++) f[o] = o < m->M ? ((const REAL *)m->intercept)[o] : 0;
    return 1;
}

/* Decision values of `count` rows into s->f; returns the first row that is not finite, or -1. */
static int64_t FN(values)(const Model *m, const Rows *X, int64_t start, int64_t count, const FN(Scratch) * s) {
    for (int64_t i = 0; i < count; i++)
        if (!FN(begin)(m, X, start, i, s)) return start + i;
    const int64_t step = FN(block_panels)(m);
    for (const Group *g = m->group; g < m->group + m->groups; g++)
        for (int64_t p = g->first; p < g->last; p += step) {
            const int64_t panels = g->last - p < step ? g->last - p : step;
            int64_t i = 0;
            for (; i + TILE_ROWS <= count; i += TILE_ROWS) FN(block)(TILE_ROWS, m, X, start, i, g, p, panels, s);
            for (; i < count; i++) FN(block)(1, m, X, start, i, g, p, panels, s);
        }
    return -1;
}

static int64_t FN(predict)(const Model *m, const Rows *X, int64_t start, int64_t count, void *scratch, void *out) {
    FN(Scratch) s;
    FN(carve)(m, count, scratch, &s);
    const int64_t bad = FN(values)(m, X, start, count, &s);
    if (bad >= 0) return bad;
    for (int64_t i = 0; i < count; i++)
        for (int64_t o = 0; o < m->M; o++) ((REAL *)out)[(start + i) * m->M + o] = s.f[i * FN(round_up)(m->M) + o];
    return -1;
}

static void FN(apply)(int kernel, void *x, int64_t n) {
    for (int64_t i = 0; i < n; i += LANES) {
        const size_t bytes = (size_t)(n - i < LANES ? n - i : LANES) * sizeof(REAL);
        REAL a[LANES] = {0};
        memcpy(a, (REAL *)x + i, bytes);
        FN(store)(a, kernel == SIGMOID ? FN(tanh2)(FN(load)(a)) : FN(exp2)(FN(load)(a)));
        memcpy((REAL *)x + i, a, bytes);
    }
}
