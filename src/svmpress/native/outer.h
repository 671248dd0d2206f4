/* Sums of outer products over rows, a tile of the result at a time in registers; included after tiles.h.
 *
 *     c[a, j] = c[a, j] + sum_i x[i, a] term(h[i, j])
 *
 * for `rows` columns a of x and some panels j of h. The result has its own stride for rows and for panels, so that it
 * may be a matrix or panels of one.
 */

#if defined(__AVX512F__) || defined(__aarch64__) /* 32 registers */
#define OUTER_PANELS 3
#elif defined(__AVX2__) /* 16 registers: four rows at a time */
#define OUTER_PANELS 3
#else
#define OUTER_PANELS 2
#endif

INLINE void FN(outer_tile)(int rows, int panels, const REAL *x, ptrdiff_t x_stride, const REAL *h, ptrdiff_t h_stride,
                           int64_t n, REAL *c, ptrdiff_t c_row, ptrdiff_t c_panel) {
    vec sum[OUTER_ROWS][OUTER_PANELS];
    for (int a = 0; a < rows; a++)
        for (int j = 0; j < panels; j++) sum[a][j] = FN(load)(c + a * c_row + j * c_panel);
    for (int64_t i = 0; i < n; i++, x += x_stride, h += h_stride) {
        vec right[OUTER_PANELS];
        for (int j = 0; j < panels; j++) right[j] = FN(load)(h + j * LANES);
        for (int a = 0; a < rows; a++) {
            vec left = FN(all)(x[a]);
            for (int j = 0; j < panels; j++) sum[a][j] = left * right[j] + sum[a][j];
        }
    }
    for (int a = 0; a < rows; a++)
        for (int j = 0; j < panels; j++) FN(store)(c + a * c_row + j * c_panel, sum[a][j]);
}

/* Any number of panels for a constant number of rows. */
INLINE void FN(outer_strip)(int rows, int64_t panels, const REAL *x, ptrdiff_t x_stride, const REAL *h,
                            ptrdiff_t h_stride, int64_t n, REAL *c, ptrdiff_t c_row, ptrdiff_t c_panel) {
    int64_t p = 0;
#define STRIPS(width)                      \
    for (; p + (width) <= panels; p += (width)) \
    FN(outer_tile)(rows, width, x, x_stride, h + p * LANES, h_stride, n, c + p * c_panel, c_row, c_panel)
    STRIPS(OUTER_PANELS);
    STRIPS(2);
    STRIPS(1);
#undef STRIPS
}

/* Any number of rows, at most OUTER_ROWS of them at a time. */
static void FN(outer)(int64_t rows, int64_t panels, const REAL *x, ptrdiff_t x_stride, const REAL *h,
                      ptrdiff_t h_stride, int64_t n, REAL *c, ptrdiff_t c_row, ptrdiff_t c_panel) {
    int64_t a = 0;
#define ROWS(count)                       \
    for (; a + (count) <= rows; a += (count)) \
    FN(outer_strip)(count, panels, x + a, x_stride, h, h_stride, n, c + a * c_row, c_row, c_panel)
#if TILE_ROWS == OUTER_ROWS
    ROWS(OUTER_ROWS);
#endif
    ROWS(4);
    ROWS(2);
    ROWS(1);
#undef ROWS
}

/* sign(x - v) h instead of x h, for v in panels (d, LANES) as the result. */
static void FN(outer_signs)(int64_t d, int64_t panels, const REAL *x, ptrdiff_t x_stride, const REAL *v,
                            const REAL *h, ptrdiff_t h_stride, int64_t n, REAL *c, ptrdiff_t c_panel) {
    for (int64_t p = 0; p < panels; p++)
        for (int64_t k = 0; k < d; k++) {
            const vec at = FN(load)(v + (p * d + k) * LANES);
            vec sum = FN(load)(c + p * c_panel + k * LANES);
            for (int64_t i = 0; i < n; i++) {
                const vec left = FN(all)(x[i * x_stride + k]), right = FN(load)(h + i * h_stride + p * LANES);
                sum += (vec)((ivec)right & (ivec)(left > at)) - (vec)((ivec)right & (ivec)(left < at));
            }
            FN(store)(c + p * c_panel + k * LANES, sum);
        }
}
