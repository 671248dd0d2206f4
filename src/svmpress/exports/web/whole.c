/* Decision values of a kernel SVM in whole numbers, in WebAssembly with SIMD: the steps of the C code for devices, and
 * of the emulator, with the same results bit for bit.
 *
 * `make wasm` builds whole.wasm from this file; both are committed, and a test builds it again. whole.js lays the
 * numbers out in the module's memory, and tells what each argument holds. There is no allocation here, no library and
 * no data: all of the module is code.
 *
 * A panel is four columns of a matrix of 16-bit numbers, stored by pairs of rows: W (2 n, c) becomes (c / 4 panels, n,
 * 4 columns, 2), because one instruction multiplies eight such numbers and adds them up in pairs. The vectors are
 * packed as (d, m), the coefficients as (m, M).
 */

typedef short shorts __attribute__((vector_size(16)));
typedef int ints __attribute__((vector_size(16)));
typedef double doubles __attribute__((vector_size(16)));
#define INLINE static inline __attribute__((always_inline))

enum { DIGITS = 7, UNIT = 12, ONE = 32767 };

/* x holds a pair of numbers, w the pairs of four columns. */
INLINE ints products(int x, shorts w) { return __builtin_wasm_dot_s_i32x4_i16x8((shorts)(ints){x, x, x, x}, w); }

/* 2^-t for t in proportion to p: a table of one halving, a straight line between two of its numbers, and a shift. */
INLINE int halved(unsigned p, int down, unsigned factor, int shift, unsigned far, const unsigned short *table) {
    unsigned d = p >> down;
    if (d > far) return 0;
    unsigned t = d * factor >> shift, i = t >> DIGITS & 31, y = table[i];
    return (int)((y - ((y - table[i + 1]) * (t & 127) >> DIGITS)) >> (t >> UNIT));
}

/* A power of a projection, in 1/32767 of the largest. */
INLINE int raised(int p, int down, int factor, int shift, int add, int degree) {
    long long s = ((long long)(p >> down) * factor + add) >> shift;
    int cut = s > ONE ? ONE : s < -ONE ? -ONE : (int)s, k = cut;
    while (--degree > 0) k = k * cut >> 15;
    return k;
}

/* k (m) for a row x of n pairs: P = row + norm + scale * products, and the kernel of that. `degree` is 0 for a kernel of
 * distances, whose last argument is `far`, and else that of a power, whose last argument is `add`. */
INLINE void kernels(const int *x, int n, int row, const shorts *w, const int *norm, int scale, int m, int degree,
                    int down, int factor, int shift, int last, const unsigned short *table, short *k) {
    for (int j = 0; j < m; j += 4, w += n) {
        ints sum = {0, 0, 0, 0}, other = sum;
        int i = 0;
        for (; i + 2 <= n; i += 2) {
            sum += products(x[i], w[i]);
            other += products(x[i + 1], w[i + 1]);
        }
        if (i < n) sum += products(x[i], w[i]);
        sum += other;
        for (int c = 0; c < 4; c++) {
            int p = (int)((unsigned)row + (unsigned)norm[j + c] + (unsigned)sum[c] * (unsigned)scale);
            k[j + c] = (short)(degree ? raised(p, down, factor, shift, last, degree)
                                      : halved((unsigned)p, down, (unsigned)factor, shift, (unsigned)last, table));
        }
    }
}

/* f (rows, M rounded up to fours) for rows x of n pairs (rows, n); k (m rounded up to fours) is working memory. The sums
 * of two products fit 32 bits, and those of all fit a double without rounding. */
__attribute__((export_name("values"))) void values(int rows, int n, int m, int M, int degree, int down, int factor,
                                                   int shift, int last, int scale, const int *x, const int *row,
                                                   const shorts *vectors, const int *norm, const unsigned short *table,
                                                   short *k, const shorts *coef, const doubles *intercept, doubles *f) {
    const int pairs = (m + 1) / 2;
    for (; rows > 0; rows--, x += n, row++) {
        kernels(x, n, *row, vectors, norm, scale, m, degree, down, factor, shift, last, table, k);
        const shorts *a = coef;
        for (int o = 0; o < (M + 3) / 4; o++, a += pairs, f += 2) {
            doubles low = intercept[2 * o], high = intercept[2 * o + 1];
            for (int j = 0; j < pairs; j++) {
                ints sum = products(((const int *)k)[j], a[j]);
                low += __builtin_convertvector(__builtin_shufflevector(sum, sum, 0, 1), doubles);
                high += __builtin_convertvector(__builtin_shufflevector(sum, sum, 2, 3), doubles);
            }
            f[0] = low;
            f[1] = high;
        }
    }
}
