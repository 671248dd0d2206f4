/* Decision values of a kernel SVM in WebAssembly with SIMD: f = k(x, V) A + b, in float32, four numbers at a time.
 *
 * `make wasm` builds values.wasm from this file; both are committed, and a test builds it again. runtime.js lays the
 * numbers out in the module's memory, and tells what each argument holds. There is no allocation here, no library but
 * one imported power, and no data: all of the module is code.
 *
 * A panel is four columns of a matrix, stored row by row: W (n, c) becomes (c / 4 panels, n, 4). Vectors are packed as
 * Vᵀ (d, m), coefficients as A (m, M), so both products read their right-hand side from front to back.
 */

typedef float vec __attribute__((vector_size(16)));
typedef int ivec __attribute__((vector_size(16)));
#define INLINE static inline __attribute__((always_inline))
#define APART static __attribute__((noinline))

enum { RBF, LAPLACIAN, CHI_SQUARED, SIGMOID, POLYNOMIAL, LINEAR };
enum { DOT, ABSOLUTE, CHI };

__attribute__((import_module("env"), import_name("pow"))) double power_of(double base, double exponent);

INLINE vec all(float a) { return (vec){a, a, a, a}; }
INLINE vec choose(ivec which, vec a, vec b) { return (vec)(((ivec)a & which) | ((ivec)b & ~which)); }

/* ---- sums over features, and over vectors ------------------------------------------------------------------- */

INLINE vec term(int metric, vec x, vec v) {
    if (metric == DOT) return x * v;
    vec difference = x - v;
    if (metric == ABSOLUTE) return (vec)((ivec)difference & 0x7fffffff);
    vec total = x + v; /* zero only where both are: then nothing is added */
    return difference * difference / choose(total > 0, total, all(1));
}

/* out[i, p] = start[p] + sum_k term(x[i, k], w[p, k]) for a tile of rows and panels that stays in registers. */
INLINE void tile(int metric, int rows, int panels, const float *x, int x_stride, const vec *w, int n, const vec *start,
                 float *out, int out_stride) {
    vec sum[8];
#define EACH                                            \
    _Pragma("unroll") for (int i = 0; i < rows; i++)    \
    _Pragma("unroll") for (int p = 0; p < panels; p++)
    EACH sum[i * panels + p] = start[p];
    for (int k = 0; k < n; k++)
        EACH sum[i * panels + p] += term(metric, all(x[i * x_stride + k]), w[p * n + k]);
    EACH((vec *)(out + i * out_stride))[p] = sum[i * panels + p];
#undef EACH
}

INLINE void tiles(int metric, int rows, int most, const float *x, int x_stride, const vec *w, int n, int panels,
                  const vec *start, float *out, int out_stride) {
    int p = 0;
    for (; p + most <= panels; p += most)
        tile(metric, rows, most, x, x_stride, w + p * n, n, start + p, out + 4 * p, out_stride);
    for (; p < panels; p++)
        tile(metric, rows, 1, x, x_stride, w + p * n, n, start + p, out + 4 * p, out_stride);
}

/* All of them for `rows` rows: four rows by two panels, or one row by four panels, fill the registers of a machine. */
APART void product(int rows, const float *x, int x_stride, const vec *w, int n, int panels, const vec *start,
                   float *out, int out_stride) {
    for (; rows >= 4; rows -= 4, x += 4 * x_stride, out += 4 * out_stride)
        tiles(DOT, 4, 2, x, x_stride, w, n, panels, start, out, out_stride);
    for (; rows > 0; rows--, x += x_stride, out += out_stride)
        tiles(DOT, 1, 4, x, x_stride, w, n, panels, start, out, out_stride);
}

/* ---- elementary functions ------------------------------------------------------------------------------------- */

/* 2^x for x <= 0: with n the nearest integer and r = x - n, which is exact, 2^x = 2^n (1 + p(r)). The polynomial is
 * minimax for the relative error of 2^r, 2^-28.3 on |r| <= 1/2. Adding 1.5 * 2^23 rounds to the nearest integer and
 * leaves it in the low bits. */
typedef struct {
    vec p;
    ivec n; /* in the low bits */
} parts;

INLINE parts split(vec x) {
    const vec magic = all(12582912);
    vec z = x + magic, r = x - (z - magic), q = all(0.000153211384891f);
    q = q * r + 0.00133901727752f;
    q = q * r + 0.00961852646224f;
    q = q * r + 0.0555036223324f;
    q = q * r + 0.240226475479f;
    q = q * r + 0.69314718056f;
    return (parts){q * r, (ivec)z};
}

/* In two steps, of which only the last can round to a subnormal number. A NaN (a row so far away that its square
 * overflows) counts as minus infinity. */
INLINE vec exp2(vec x) {
    parts s = split(choose(x > -151, x, all(-151)));
    return (s.p + 1) * (vec)((s.n << 23) + ((127 + 64) << 23)) * 0x1p-64f;
}

/* tanh(s) for x = 2 s log2(e): with e = 2^-|x| - 1 it is -e / (2 + e), with the sign of x. Close to zero e = p, and no
 * digits are lost. */
INLINE vec tanh2(vec x) {
    const ivec sign = (ivec)all(-0.0f);
    vec y = (vec)((ivec)x | sign);
    parts s = split(choose(y > -120, y, all(-120)));
    vec scale = (vec)((s.n << 23) + (127 << 23)), e = s.p * scale + (scale - 1);
    return (vec)(((ivec)(e / (e + 2)) & ~sign) | ((ivec)x & sign));
}

INLINE vec power(vec x, float degree) {
    vec y = all(1);
    if (degree <= 64 && degree == (float)(int)degree) {
        for (int p = (int)degree; p > 0; p >>= 1) {
            if (p & 1) y *= x;
            x *= x;
        }
        return y;
    }
    for (int i = 0; i < 4; i++) y[i] = (float)power_of(x[i], degree);
    return y;
}

/* ---- the whole of it -------------------------------------------------------------------------------------------- */

/* k = phi(scale (t - norm) + shift), in place, for the panels of one row; `norm` is |x|^2 / 2 for RBF, else 0. */
APART void finish(int kernel, vec *t, int panels, float norm, float scale, float shift, float degree) {
    for (int p = 0; p < panels; p++) {
        vec s = (t[p] - norm) * scale + shift;
        if (kernel == SIGMOID)
            s = tanh2(s);
        else if (kernel == POLYNOMIAL)
            s = power(s, degree);
        else
            s = exp2(choose(s > 0, all(0), s)); /* above 0 is rounding */
        t[p] = s;
    }
}

/* f (n, M rounded up to panels) for rows x (n, d); k (n, m rounded up to panels) is working memory. */
__attribute__((export_name("values"))) void values(int n, int d, int m, int M, int kernel, float scale, float shift,
                                                   float degree, const float *x, const float *norm, const vec *vectors,
                                                   const vec *offset, float *k, const vec *coef, const vec *intercept,
                                                   float *f) {
    const int panels = (m + 3) / 4, outputs = (M + 3) / 4;
    if (kernel == LINEAR) {
        product(n, x, d, vectors, d, outputs, intercept, f, 4 * outputs);
        return;
    }
    if (kernel != LAPLACIAN && kernel != CHI_SQUARED) product(n, x, d, vectors, d, panels, offset, k, 4 * panels);
    for (int i = 0; i < n; i++) {
        float *row = k + i * 4 * panels;
        if (kernel == LAPLACIAN) tiles(ABSOLUTE, 1, 4, x + i * d, d, vectors, d, panels, offset, row, 4 * panels);
        if (kernel == CHI_SQUARED) tiles(CHI, 1, 4, x + i * d, d, vectors, d, panels, offset, row, 4 * panels);
        finish(kernel, (vec *)row, panels, norm[i], scale, shift, degree);
    }
    product(n, k, 4 * panels, coef, m, outputs, intercept, f, 4 * outputs);
}
