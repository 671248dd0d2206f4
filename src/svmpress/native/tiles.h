/* Sums over a long index, a tile of rows and a few panels at a time in registers; included after elementary.h.
 *
 *     t[i, j] = start[j] + sum_k term(x[i, k], v[j, k])     term(x, v) = x v  or  |x - v|
 *
 * for `rows` rows i and all columns j of some panels. A panel is (k, LANES) in memory. The number of rows and panels
 * in a tile is a compile-time constant, so that the accumulators are registers: TILE_ROWS x TILE_PANELS leaves
 * room for one panel row and one broadcast; a single row has fewer accumulators and takes more panels at once.
 */

#ifndef TILE_ROWS
#if defined(__AVX512F__) || defined(__aarch64__) /* 32 registers */
#define TILE_ROWS 8
#define TILE_PANELS 3
#elif defined(__AVX2__) /* 16 registers */
#define TILE_ROWS 4
#define TILE_PANELS 3
#else /* 16 registers and no fused multiply-add, which takes one more */
#define TILE_ROWS 4
#define TILE_PANELS 2
#endif
#define ROW_PANELS 8
/* Features in one sweep: this much of the rows of a tile stays in the first-level cache. */
#define SWEEP 512
enum { DOT, ABSOLUTE };
#endif

INLINE vec FN(term)(int metric, vec x, vec v, vec sum) {
    if (metric == DOT) return x * v + sum;
    return sum + (vec)((ivec)(x - v) & ~(ivec)FN(all)((REAL)-0.0));
}

/* start == NULL: go on from what is in t. */
INLINE void FN(tile)(int metric, int rows, int panels, const REAL *x, ptrdiff_t x_stride, const REAL *v,
                     ptrdiff_t v_stride, int64_t n, const REAL *start, REAL *t, ptrdiff_t t_stride) {
    vec sum[TILE_ROWS][ROW_PANELS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < panels; j++)
            sum[i][j] = FN(load)(start ? start + j * LANES : t + i * t_stride + j * LANES);
    for (int64_t k = 0; k < n; k++) {
        vec column[ROW_PANELS];
        for (int j = 0; j < panels; j++) column[j] = FN(load)(v + j * v_stride + k * LANES);
        for (int i = 0; i < rows; i++) {
            vec a = FN(all)(x[i * x_stride + k]);
            for (int j = 0; j < panels; j++) sum[i][j] = FN(term)(metric, a, column[j], sum[i][j]);
        }
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < panels; j++) FN(store)(t + i * t_stride + j * LANES, sum[i][j]);
}

/* The same for one CSR row: its values, their columns, and their number. Absolute differences start from
 * |0 - v|, which is in `start`, and exchange the terms of the values that are there. */
INLINE void FN(sparse_tile)(int metric, int panels, const REAL *x, const int32_t *index, int64_t n, const REAL *v,
                            ptrdiff_t v_stride, const REAL *start, REAL *t) {
    vec sum[ROW_PANELS];
    for (int j = 0; j < panels; j++) sum[j] = FN(load)(start + j * LANES);
    for (int64_t k = 0; k < n; k++) {
        vec a = FN(all)(x[k]);
        for (int j = 0; j < panels; j++) {
            vec column = FN(load)(v + j * v_stride + (ptrdiff_t)index[k] * LANES);
            sum[j] = FN(term)(metric, a, column, sum[j]);
            if (metric == ABSOLUTE) sum[j] -= FN(term)(ABSOLUTE, column, (vec){0}, (vec){0});
        }
    }
    for (int j = 0; j < panels; j++) FN(store)(t + j * LANES, sum[j]);
}

/* Any number of panels, in tiles. `rows` is TILE_ROWS or 1, a constant at every call. */
INLINE void FN(sweep)(int metric, int rows, const REAL *x, ptrdiff_t x_stride, const REAL *v, ptrdiff_t v_stride,
                      int64_t n, int64_t panels, const REAL *start, REAL *t, ptrdiff_t t_stride) {
    int64_t p = 0;
#define TILES(width)                                                                                      \
    for (; p + (width) <= panels; p += (width))                                                           \
    FN(tile)(metric, rows, width, x, x_stride, v + p * v_stride, v_stride, n, start ? start + p * LANES : start, \
             t + p * LANES, t_stride)
    if (rows == 1) {
        TILES(ROW_PANELS);
        TILES(4);
    } else {
        TILES(TILE_PANELS);
        TILES(2);
    }
    TILES(1);
#undef TILES
}

INLINE void FN(sparse_sweep)(int metric, const REAL *x, const int32_t *index, int64_t n, const REAL *v,
                             ptrdiff_t v_stride, int64_t panels, const REAL *start, REAL *t) {
    int64_t p = 0;
#define TILES(width)                                                                                        \
    for (; p + (width) <= panels; p += (width))                                                             \
    FN(sparse_tile)(metric, width, x, index, n, v + p * v_stride, v_stride, start + p * LANES, t + p * LANES)
    TILES(ROW_PANELS);
    TILES(4);
    TILES(1);
#undef TILES
}

/* Rows against panels that continue for n terms, SWEEP of them at a time. */
INLINE void FN(product)(int metric, int rows, const REAL *x, ptrdiff_t x_stride, const REAL *v, ptrdiff_t v_stride,
                        int64_t n, int64_t panels, const REAL *start, REAL *t, ptrdiff_t t_stride) {
    for (int64_t k = 0; k == 0 || k < n; k += SWEEP) {
        int64_t length = n - k < SWEEP ? n - k : SWEEP;
        FN(sweep)(metric, rows, x + k, x_stride, v + k * LANES, v_stride, length, panels, start, t, t_stride);
        start = NULL;
    }
}
