/* The passes of the objective over the rows, for one instruction set in double precision; included after predict.h. */
#include "objective.h"

#include "outer.h"

/* ---- vectors ------------------------------------------------------------------------------------------------ */

/* So many numbers in whole registers and an odd number of cache lines, so that rows do not share lines of the cache. */
static int64_t FN(stride)(int64_t columns) {
    const int64_t lines = (columns + 7) / 8;
    return (lines | 1) * 8;
}

static size_t FN(basis_size)(int64_t m, int64_t d) {
    const size_t wide = FN(round_up)(m);
    return 2 * wide * d + wide + FN(round_up)(d);
}

static void FN(centre_vectors)(const double *V, int64_t m, int64_t d, double *centre) {
    for (int64_t j = 0; j < m; j++)
        for (int64_t k = 0; k < d; k++) centre[k] += V[j * d + k] / (double)m;
}

static void FN(pack_basis)(Basis *b, const Rows *rows, const double *V, double *memory) {
    const int64_t m = b->m, d = b->model.d;
    const double log2e = 1.4426950408889634, r = -b->gamma * log2e;
    b->stride = FN(round_up)(m);
    b->vectors = memory;
    b->columns = b->vectors + b->stride * d;
    b->offset = b->columns + b->stride * d;
    b->centre = b->offset + b->stride;
    memset(memory, 0, FN(basis_size)(m, d) * sizeof(double));
    if (b->model.kernel == RBF && rows->base) FN(centre_vectors)(V, m, d, b->centre);
    b->model.panels = b->stride / LANES;
    b->model.row_factor = r;
    b->model.vectors = b->vectors;
    b->model.offset = b->offset;
    for (int64_t j = 0; j < m; j++) {
        double square = 0, sum = 0, factor = 1;
        switch (b->model.kernel) {
            case RBF: factor = -2 * r; break;
            case SIGMOID: factor = 2 * b->gamma * log2e; break;
            case POLYNOMIAL: factor = b->gamma; break;
        }
        for (int64_t k = 0; k < d; k++) {
            const int64_t at = (j / LANES * d + k) * LANES + j % LANES;
            const double v = V[j * d + k] - b->centre[k];
            b->columns[at] = v;
            b->vectors[at] = factor * v;
            square += v * v;
            sum += fabs(v);
        }
        switch (b->model.kernel) {
            case RBF: b->offset[j] = r * square; break;
            case LAPLACIAN: b->offset[j] = rows->base ? 0 : sum; break;
            case SIGMOID: b->offset[j] = 2 * b->coef0 * log2e; break;
            case POLYNOMIAL: b->offset[j] = b->coef0; break;
        }
    }
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

/* Rows of a group, dense: x (count, stride) holds x - centre, 1, ||x - centre||^2. */
static void FN(read_rows)(const Basis *b, const Rows *rows, const RowGroup *g, int64_t first, int64_t count, double *x,
                          int64_t stride) {
    const int64_t d = b->model.d;
    for (int64_t i = 0; i < count; i++, x += stride) {
        const char *from = rows->base + (g->first + g->step * (first + i)) * rows->row_stride;
        vec squares = {0};
        double square = 0;
        int64_t k = 0;
        if (rows->is_double)
            for (; k + LANES <= d; k += LANES) {
                const vec v = FN(load)((const double *)from + k) - FN(load)(b->centre + k);
                FN(store)(x + k, v);
                squares += v * v;
            }
        for (; k < d; k++) {
            x[k] = (rows->is_double ? ((const LooseDouble *)from)[k] : (double)((const LooseFloat *)from)[k]) - b->centre[k];
            square += x[k] * x[k];
        }
        x[d] = 1;
        x[d + 1] = square + FN(sum)(squares);
    }
}

/* T, the sums over features, of rows of a group; x as in `read_rows`. */
static void FN(sums_of_features)(const Basis *b, const Rows *rows, const RowGroup *g, int64_t first, int64_t count,
                                 const double *x, int64_t x_stride, double *t, int64_t t_stride, double *norm) {
    const int64_t d = b->model.d, panels = b->model.panels, each = d * LANES;
    const int metric = b->model.kernel == LAPLACIAN ? ABSOLUTE : DOT;
    if (!rows->base) {
        for (int64_t i = 0; i < count; i++) {
            const int64_t row = g->first + g->step * (first + i), at = rows->indptr[row];
            const int64_t stored = rows->indptr[row + 1] - at;
            const double *values = (const double *)rows->values + at;
            if (metric == DOT)
                FN(sparse_sweep)(DOT, values, rows->indices + at, stored, b->vectors, each, panels, b->offset, t + i * t_stride);
            else
                FN(sparse_sweep)(ABSOLUTE, values, rows->indices + at, stored, b->vectors, each, panels, b->offset, t + i * t_stride);
            norm[i] = 0;
            for (int64_t k = 0; k < stored; k++) norm[i] += values[k] * values[k];
        }
        return;
    }
    int64_t i = 0;
    for (; i < count; i++) norm[i] = x[i * x_stride + d + 1];
#define PRODUCTS(metric)                                                                                          \
    for (i = 0; i + TILE_ROWS <= count; i += TILE_ROWS)                                                           \
        FN(product)(metric, TILE_ROWS, x + i * x_stride, x_stride, b->vectors, each, d, panels, b->offset, t + i * t_stride, t_stride); \
    for (; i < count; i++)                                                                                        \
        FN(product)(metric, 1, x + i * x_stride, x_stride, b->vectors, each, d, panels, b->offset, t + i * t_stride, t_stride)
    if (metric == DOT) {
        PRODUCTS(DOT);
    } else {
        PRODUCTS(ABSOLUTE);
    }
#undef PRODUCTS
}

INLINE void FN(phi_rows)(int kernel, const Basis *b, int64_t count, double *t, int64_t stride, const double *norm) {
    for (int64_t i = 0; i < count; i++, t += stride)
        for (int64_t p = 0; p < b->model.panels; p++)
            FN(store)(t + p * LANES, FN(phi)(kernel, &b->model, FN(load)(t + p * LANES), b->model.row_factor * norm[i]));
}

/* K = phi(T), in place. */
static void FN(apply_kernel)(const Basis *b, int64_t count, double *t, int64_t stride, const double *norm) {
    switch (b->model.kernel) {
        case RBF: FN(phi_rows)(RBF, b, count, t, stride, norm); return;
        case LAPLACIAN: FN(phi_rows)(LAPLACIAN, b, count, t, stride, norm); return;
        case SIGMOID: FN(phi_rows)(SIGMOID, b, count, t, stride, norm); return;
        case POLYNOMIAL: FN(phi_rows)(POLYNOMIAL, b, count, t, stride, norm); return;
    }
}

/* ---- first pass ------------------------------------------------------------------------------------------------ */

/* Numbers of scratch that either pass needs. */
static size_t FN(scratch_size)(int64_t m, int64_t d, int64_t width) {
    const size_t wide = FN(stride)(FN(round_up)(m) + 1 + width);
    return BLOCK * ((size_t)FN(stride)(d + 2) + 3 * wide + 2 * FN(round_up)(width) + 1) + FN(round_up)(m) + (m + 1) * (size_t)FN(round_up)(width);
}

/* [K 1 T]' [K 1 T] of some rows, without its lower rows: added to sums (m + 1, stride) where tiles are wanted. */
static void FN(equations)(const Basis *b, const Rows *rows, const RowGroup *g, const Piece *piece,
                          const double *targets, const double *shift, const unsigned char *wanted, double *kept,
                          double *scratch, double *sums) {
    const int64_t m = b->m, d = b->model.d, columns = m + 1 + g->width, stride = FN(stride)(columns);
    const int64_t x_stride = FN(stride)(d + 2), panels = (columns + LANES - 1) / LANES;
    const int64_t z_stride = stride < b->stride ? b->stride : stride;
    double *z = scratch, *x = z + BLOCK * z_stride, *norm = x + BLOCK * x_stride;
    for (int64_t at = 0; at < piece->count; at += BLOCK) {
        const int64_t first = piece->first + at, count = piece->count - at < BLOCK ? piece->count - at : BLOCK;
        if (rows->base) FN(read_rows)(b, rows, g, first, count, x, x_stride);
        FN(sums_of_features)(b, rows, g, first, count, x, x_stride, z, z_stride, norm);
        FN(apply_kernel)(b, count, z, z_stride, norm);
        for (int64_t i = 0; i < count; i++) {
            double *row = z + i * z_stride;
            const double *T = targets + g->targets + (first + i) * g->width;
            if (kept) memcpy(kept + (g->kept + first + i) * b->stride, row, b->stride * sizeof(double));
            row[m] = 1;
            for (int64_t c = 0; c < g->width; c++) row[m + 1 + c] = T[c] - (shift ? shift[c] : 0);
            for (int64_t c = columns; c < panels * LANES; c++) row[c] = 0;
        }
        for (int64_t a = 0; a <= m; a += OUTER_ROWS, wanted += panels) {
            const int64_t tile = m + 1 - a < OUTER_ROWS ? m + 1 - a : OUTER_ROWS;
            for (int64_t p = 0, end; p < panels; p = end) {
                for (end = p; end < panels && wanted[end] == wanted[p];) end++;
                if (wanted[p])
                    FN(outer)(tile, end - p, z + a, z_stride, z + p * LANES, z_stride, count,
                              sums + a * stride + p * LANES, stride, LANES);
            }
        }
        wanted -= (m / OUTER_ROWS + 1) * panels;
    }
}

/* ---- second pass ------------------------------------------------------------------------------------------------ */

static size_t FN(readout_size)(int64_t m, int64_t width) {
    const size_t wide = FN(round_up)(width);
    return wide * m + FN(round_up)(m) * (size_t)width + 3 * wide;
}

static void FN(pack_readout)(const Basis *b, const RowGroup *g, const int64_t *outputs, const double *weights,
                             const double *sides, const double *coef, const double *intercept, int64_t M,
                             double *memory) {
    const int64_t m = b->m, k = g->width, wide = FN(round_up)(k);
    double *across = memory + wide * m, *rest = across + b->stride * k;
    memset(memory, 0, FN(readout_size)(m, k) * sizeof(double));
    for (int64_t c = 0; c < k; c++) {
        const int64_t output = outputs[g->outputs + c];
        for (int64_t j = 0; j < m; j++) {
            const double a = coef[j * M + output];
            memory[(c / LANES * m + j) * LANES + c % LANES] = a;
            across[(j / LANES * k + c) * LANES + j % LANES] = a;
        }
        rest[c] = intercept[output];
        rest[wide + c] = weights[g->outputs + c];
        if (sides) rest[2 * wide + c] = sides[g->outputs + c];
    }
}

/* What the losses of a group's rows need. */
typedef struct {
    const double *intercept, *weights, *sides; /* (width rounded up,) */
} FN(Readout);

/* f holds values F of one row, and becomes the slope of the error with respect to them; returns the error. */
INLINE vec FN(loss)(const Loss *loss, const FN(Readout) *r, int64_t wide, const double *t, double *f) {
    vec error = {0};
    const vec one = FN(all)(1);
    for (int64_t c = 0; c < wide; c += LANES) {
        const vec F = FN(load)(f + c), T = FN(load)(t + c), w = FN(load)(r->weights + c);
        vec R = F - T;
        if (loss->has_sides) {
            const vec s = FN(load)(r->sides + c);
            const vec margin = loss->trust ? FN(at_most)(FN(at_least)(s * T, 0), 1) : one;
            R = R * (one - s * s) - FN(at_least)(margin - s * F, 0) * s;
        }
        error += w * R * R;
        FN(store)(f + c, FN(all)(loss->factor) * w * R);
    }
    return error;
}

/* h holds G = dE/dK of one row, and becomes dE/ds, where s is what the kernel is a function of (see `finish`). */
INLINE void FN(slope_row)(int kernel, const Basis *b, const double *k, const double *s, double *h) {
    for (int64_t p = 0; p < b->stride; p += LANES) {
        const vec G = FN(load)(h + p), K = FN(load)(k + p);
        switch (kernel) {
            case SIGMOID: FN(store)(h + p, G * (FN(all)(1) - K * K)); break;
            case POLYNOMIAL: {
                const double degree = b->model.degree;
                FN(store)(h + p, degree == 0 ? FN(all)(0) : G * FN(all)(degree) * FN(power)(FN(load)(s + p), degree - 1));
                break;
            }
            default: FN(store)(h + p, G * K);
        }
    }
}

static void FN(slope_rows)(const Basis *b, int64_t count, const double *k, int64_t k_stride, const double *s, double *h,
                           int64_t stride) {
    for (int64_t i = 0; i < count; i++, k += k_stride, s += stride, h += stride) switch (b->model.kernel) {
            case RBF:
            case LAPLACIAN: FN(slope_row)(RBF, b, k, s, h); break;
            case SIGMOID: FN(slope_row)(SIGMOID, b, k, s, h); break;
            case POLYNOMIAL: FN(slope_row)(POLYNOMIAL, b, k, s, h); break;
        }
}

/* Sum of H log(K): for the width of the Laplacian kernel, whose distances are not products. */
static double FN(log_slopes)(const Basis *b, int64_t count, const double *k, int64_t k_stride, const double *h,
                             int64_t stride) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < b->m; j++)
            if (k[i * k_stride + j] > 0) sum += h[i * stride + j] * log(k[i * k_stride + j]);
    return sum;
}

/* Rows times packed columns, `start` in every row. */
static void FN(matrix_product)(int64_t count, const double *x, int64_t x_stride, const double *packed, int64_t n,
                               int64_t panels, const double *start, double *t, int64_t t_stride) {
    int64_t i = 0;
    for (; i + TILE_ROWS <= count; i += TILE_ROWS)
        FN(product)(DOT, TILE_ROWS, x + i * x_stride, x_stride, packed, n * LANES, n, panels, start, t + i * t_stride, t_stride);
    for (; i < count; i++)
        FN(product)(DOT, 1, x + i * x_stride, x_stride, packed, n * LANES, n, panels, start, t + i * t_stride, t_stride);
}

static void FN(slopes)(const Basis *b, const Rows *rows, const RowGroup *g, const Piece *piece, const double *targets,
                       const int64_t *outputs, const Loss *loss, const double *coef, double *kept, double *scratch,
                       Slopes *slopes) {
    const int64_t m = b->m, d = b->model.d, k = g->width, wide = FN(round_up)(k);
    const int64_t x_stride = FN(stride)(d + 2), h_stride = FN(stride)(b->stride), panels = b->model.panels;
    const double *across = coef + wide * m, *rest = across + b->stride * k;
    const FN(Readout) readout = {rest, rest + wide, rest + 2 * wide};
    double *x = scratch, *values = x + BLOCK * x_stride, *h = values + BLOCK * h_stride, *s = h + BLOCK * h_stride;
    double *f = s + BLOCK * h_stride, *t = f + BLOCK * wide, *norm = t + BLOCK * wide;
    double *nothing = norm + BLOCK, *local = nothing + b->stride;
    vec error = {0};
    memset(t, 0, BLOCK * wide * sizeof(double));
    memset(nothing, 0, (b->stride + (slopes->coef ? (m + 1) * wide : 0)) * sizeof(double));
    for (int64_t at = 0; at < piece->count; at += BLOCK) {
        const int64_t first = piece->first + at, count = piece->count - at < BLOCK ? piece->count - at : BLOCK;
        double *mine = kept ? kept + (g->kept + first) * b->stride : NULL;
        const double *K = loss->kept_known ? mine : values;
        const int64_t k_stride = loss->kept_known ? b->stride : h_stride;
        if (rows->base) FN(read_rows)(b, rows, g, first, count, x, x_stride);
        if (!loss->kept_known) {
            FN(sums_of_features)(b, rows, g, first, count, x, x_stride, values, h_stride, norm);
            if (b->model.kernel == POLYNOMIAL) memcpy(s, values, count * h_stride * sizeof(double));
            FN(apply_kernel)(b, count, values, h_stride, norm);
        }
        FN(matrix_product)(count, K, k_stride, coef, m, wide / LANES, readout.intercept, f, wide);
        for (int64_t i = 0; i < count; i++) {
            memcpy(t + i * wide, targets + g->targets + (first + i) * k, k * sizeof(double));
            error += FN(loss)(loss, &readout, wide, t + i * wide, f + i * wide);
        }
        FN(matrix_product)(count, f, wide, across, k, panels, nothing, h, h_stride);
        if (slopes->coef) FN(outer)(m, wide / LANES, K, k_stride, f, wide, count, local, wide, LANES);
        for (int64_t i = 0; slopes->coef && i < count; i++)
            for (int64_t c = 0; c < wide; c++) local[m * wide + c] += f[i * wide + c];
        FN(slope_rows)(b, count, K, k_stride, s, h, h_stride);
        if (loss->width && b->model.kernel == LAPLACIAN)
            slopes->width += FN(log_slopes)(b, count, K, k_stride, h, h_stride);
        if (!rows->base) { /* their slopes take the place of the kernel values; see `scatter` */
            for (int64_t i = 0; i < count; i++)
                memcpy(mine + i * b->stride, h + i * h_stride, b->stride * sizeof(double));
        } else {
            const int64_t signs = b->model.kernel == LAPLACIAN ? d : 0;
            if (signs) FN(outer_signs)(d, panels, x, x_stride, b->columns, h, h_stride, count, slopes->vectors, (d + 2) * LANES);
            FN(outer)(d + 2 - signs, panels, x + signs, x_stride, h, h_stride, count, slopes->vectors + signs * LANES,
                      LANES, (d + 2) * LANES);
        }
    }
    slopes->error += FN(sum)(error);
    for (int64_t j = 0; slopes->coef && j <= m; j++)
        for (int64_t c = 0; c < k; c++) slopes->coef[j * loss->M + outputs[g->outputs + c]] += local[j * wide + c];
}

/* X'H, 1'H and ||x||^2'H of CSR rows for one panel of vectors, (d + 2, lanes); H as it was kept. */
static void FN(scatter)(const Basis *b, const Rows *rows, const RowGroup *groups, int64_t n_groups, int64_t panel,
                        const double *kept, double *sums) {
    const int64_t d = b->model.d;
    const double *v = b->columns + panel * d * LANES;
    vec total = {0}, norms = {0};
    for (const RowGroup *g = groups; g < groups + n_groups; g++)
        for (int64_t i = 0; i < g->count; i++) {
            const int64_t row = g->first + g->step * i;
            const vec h = FN(load)(kept + (g->kept + i) * b->stride + panel * LANES);
            vec square = {0};
            for (int64_t at = rows->indptr[row]; at < rows->indptr[row + 1]; at++) {
                double *to = sums + (ptrdiff_t)rows->indices[at] * LANES;
                const vec x = FN(all)(((const double *)rows->values)[at]);
                if (b->model.kernel == LAPLACIAN) { /* sign(x - v) in place of sign(0 - v) */
                    const vec here = FN(load)(v + (ptrdiff_t)rows->indices[at] * LANES), none = {0};
                    const vec now = (vec)((ivec)h & (ivec)(x > here)) - (vec)((ivec)h & (ivec)(x < here));
                    const vec before = (vec)((ivec)h & (ivec)(none > here)) - (vec)((ivec)h & (ivec)(none < here));
                    FN(store)(to, FN(load)(to) + (now - before));
                } else {
                    FN(store)(to, x * h + FN(load)(to));
                    square += x * x;
                }
            }
            total += h;
            norms += square * h;
        }
    if (b->model.kernel == LAPLACIAN)
        for (int64_t k = 0; k < d; k++) {
            const vec here = FN(load)(v + k * LANES), none = {0};
            const vec base = (vec)((ivec)total & (ivec)(none > here)) - (vec)((ivec)total & (ivec)(none < here));
            FN(store)(sums + k * LANES, FN(load)(sums + k * LANES) + base);
        }
    FN(store)(sums + d * LANES, total);
    FN(store)(sums + (d + 1) * LANES, norms);
}

/* dV (m, d) and the slope of gamma, from sums (panels, d + 2, lanes); the Laplacian's slope comes in as sum H log K. */
static void FN(finish_slopes)(const Basis *b, const double *sums, double *dV, double *width) {
    const int64_t m = b->m, d = b->model.d;
    double products = 0, norms = 0;
    for (int64_t j = 0; j < m; j++) {
        const double *of = sums + j / LANES * (d + 2) * LANES + j % LANES;
        const double *v = b->columns + j / LANES * d * LANES + j % LANES;
        const double total = of[d * LANES];
        double square = 0;
        for (int64_t k = 0; k < d; k++) {
            const double xh = of[k * LANES], at = v[k * LANES];
            products += at * xh;
            square += at * at;
            switch (b->model.kernel) {
                case RBF: dV[j * d + k] = 2 * b->gamma * (xh - total * at); break;
                case LINEAR: dV[j * d + k] = xh; break;
                default: dV[j * d + k] = b->gamma * xh;
            }
        }
        norms += square * total + of[(d + 1) * LANES];
    }
    switch (b->model.kernel) {
        case RBF: *width = 2 * products - norms; break;
        case LAPLACIAN: *width = b->gamma == 0 ? 0 : *width / b->gamma; break;
        default: *width = products;
    }
}
