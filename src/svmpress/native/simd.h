/* SIMD registers of one precision, by the vector extensions of GCC and Clang.
 *
 * Included once for float and once for double, with REAL, BITS (an integer of the same size), MANTISSA (its explicit
 * bits) and FN(name) (a suffix for this precision) defined. Only minimum, maximum and the scaling by a power of two
 * need intrinsics; other machines get them from plain operators.
 *
 * No -ffast-math: NaN and infinities pass through everything here as IEEE 754 says. Contraction of a * b + c to a
 * fused multiply-add is on.
 */

#if defined(__AVX512F__)
#define REGISTER_BYTES 64
#elif defined(__AVX2__)
#define REGISTER_BYTES 32
#else
#define REGISTER_BYTES 16
#endif

#define LANES ((int)(REGISTER_BYTES / sizeof(REAL)))
#define INLINE static inline __attribute__((always_inline))

typedef REAL FN(vec) __attribute__((vector_size(REGISTER_BYTES)));
typedef BITS FN(ivec) __attribute__((vector_size(REGISTER_BYTES)));
typedef __typeof__(_Generic((BITS)0, int32_t: (uint32_t)0, int64_t: (uint64_t)0)) FN(unsigned_bits);
typedef FN(unsigned_bits) FN(uvec) __attribute__((vector_size(REGISTER_BYTES))); /* whose sums may wrap */
typedef REAL FN(loose) __attribute__((vector_size(REGISTER_BYTES), aligned(sizeof(REAL)), may_alias));
#define vec FN(vec)
#define ivec FN(ivec)

INLINE vec FN(load)(const REAL *p) { return *(const FN(loose) *)p; }
INLINE void FN(store)(REAL *p, vec v) { *(FN(loose) *)p = v; }
INLINE vec FN(all)(REAL x) { return x - (vec){0}; }

/* A mask of the first n lanes. */
INLINE ivec FN(first)(int64_t n) {
    ivec lane;
    for (int i = 0; i < LANES; i++) lane[i] = i;
    return (ivec)(lane < (BITS)n);
}

/* a where the mask is set, b elsewhere. */
INLINE vec FN(choose)(ivec mask, vec a, vec b) { return (vec)((mask & (ivec)a) | (~mask & (ivec)b)); }

/* An x86 intrinsic of two operands in this precision, where there is one. */
#if REGISTER_BYTES == 64
#define X86(op, a, b)                                              \
    (sizeof(REAL) == 4 ? (vec)_mm512_##op##_ps((__m512)(a), (__m512)(b)) \
                       : (vec)_mm512_##op##_pd((__m512d)(a), (__m512d)(b)))
#elif REGISTER_BYTES == 32
#define X86(op, a, b)                                              \
    (sizeof(REAL) == 4 ? (vec)_mm256_##op##_ps((__m256)(a), (__m256)(b)) \
                       : (vec)_mm256_##op##_pd((__m256d)(a), (__m256d)(b)))
#elif defined(__SSE2__)
#define X86(op, a, b)                                           \
    (sizeof(REAL) == 4 ? (vec)_mm_##op##_ps((__m128)(a), (__m128)(b)) \
                       : (vec)_mm_##op##_pd((__m128d)(a), (__m128d)(b)))
#endif

/* The larger and the smaller; a NaN in x is kept (x86 answers with the second operand when one is NaN). */
INLINE vec FN(at_least)(vec x, REAL low) {
#ifdef X86
    return X86(max, FN(all)(low), x);
#else
    return FN(choose)((ivec)(x < low), FN(all)(low), x);
#endif
}

INLINE vec FN(at_most)(vec x, REAL high) {
#ifdef X86
    return X86(min, FN(all)(high), x);
#else
    return FN(choose)((ivec)(x > high), FN(all)(high), x);
#endif
}

/* The sum of the lanes, by halves. */
INLINE REAL FN(sum)(vec v) {
    typedef REAL quarter __attribute__((vector_size(16)));
    union {
        vec whole;
        quarter part[REGISTER_BYTES / 16];
    } u = {v};
    for (int half = REGISTER_BYTES / 32; half > 0; half /= 2)
        for (int i = 0; i < half; i++) u.part[i] += u.part[i + half];
    REAL total = 0;
    for (size_t i = 0; i < 16 / sizeof(REAL); i++) total += u.part[0][i];
    return total;
}
