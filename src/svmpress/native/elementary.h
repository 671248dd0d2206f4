/* 2^x, tanh and powers on SIMD registers; included after simd.h.
 *
 * 2^x for x <= 0. With n the nearest integer and r = x - n, which is exact, 2^x = 2^n (1 + p(r)), where p(r) =
 * c1 r + c2 r^2 + ... approximates 2^r - 1 on |r| <= 1/2. The coefficients are minimax for the relative error of
 * 2^r (c1 = log 2 fixed): 2^-28.3 with six terms in float, 2^-57.9 with eleven in double, so the result is within
 * 1 ulp (1.2 without fused multiply-add). Kernels fold log2(e) into their vectors, so that e^x costs no more than 2^x.
 * Adding 1.5 * 2^MANTISSA rounds to the nearest integer and leaves n in the low bits of the sum.
 * Results below the smallest normal number come out as subnormal numbers, correctly rounded, then as zeros.
 */

#define CLAMP (sizeof(REAL) == 4 ? (REAL)-151 : (REAL)-1076) /* 2^CLAMP rounds to zero */
#define BIAS (sizeof(REAL) == 4 ? 127 : 1023)
#define HEADROOM 64 /* CLAMP + HEADROOM is still the exponent of a normal number */

typedef struct {
    vec p;    /* 2^r - 1 */
    vec n;    /* the integer part of the argument */
    ivec low; /* n in the low bits */
} FN(parts);

INLINE FN(parts) FN(split)(vec x) {
    const vec magic = FN(all)((REAL)3 * (REAL)((int64_t)1 << (MANTISSA - 1)));
    vec z = x + magic, n = z - magic, r = x - n, q;
    if (sizeof(REAL) == 4) {
        q = FN(all)((REAL)0.000153211384891);
        q = q * r + (REAL)0.00133901727752;
        q = q * r + (REAL)0.00961852646224;
        q = q * r + (REAL)0.0555036223324;
        q = q * r + (REAL)0.240226475479;
        q = q * r + (REAL)0.69314718056;
    } else {
        q = FN(all)((REAL)4.4363024878182729895e-10);
        q = q * r + (REAL)7.073582115693266878e-9;
        q = q * r + (REAL)1.0178184678983749473e-7;
        q = q * r + (REAL)1.3215436594383807602e-6;
        q = q * r + (REAL)0.000015252733546770132506;
        q = q * r + (REAL)0.00015403530454092617298;
        q = q * r + (REAL)0.0013333558146686253099;
        q = q * r + (REAL)0.0096181291075969662844;
        q = q * r + (REAL)0.055504108664820733591;
        q = q * r + (REAL)0.24022650695910122292;
        q = q * r + (REAL)0.69314718055994530942;
    }
    return (FN(parts)){q * r, n, (ivec)z};
}

/* 2^(n + shift) for parts with a normal result; of a NaN, some number. */
INLINE vec FN(power_of_two)(FN(parts) s, int shift) {
    return (vec)(((FN(uvec))s.low << MANTISSA) + ((FN(unsigned_bits))(BIAS + shift) << MANTISSA));
}

INLINE vec FN(exp2)(vec x) {
    FN(parts) s = FN(split)(FN(at_least)(x, CLAMP));
#if REGISTER_BYTES == 64
    return X86(scalef, s.p + (REAL)1, s.n);
#else
    /* In two steps, of which only the last can round to a subnormal number. */
    const REAL back = (REAL)1 / (REAL)((uint64_t)1 << (HEADROOM - 1)) / 2;
    return (s.p + (REAL)1) * FN(power_of_two)(s, HEADROOM) * back;
#endif
}

/* tanh(s) for x = 2 s log2(e): with e = 2^-|x| - 1 it is -e / (2 + e), with the sign of x. Close to zero e = p, and
 * no digits are lost. */
INLINE vec FN(tanh2)(vec x) {
    const ivec sign = (ivec)FN(all)((REAL)-0.0);
    FN(parts) s = FN(split)(FN(at_least)((vec)((ivec)x | sign), (REAL)-120));
    vec scale = FN(power_of_two)(s, 0);
    vec e = s.p * scale + (scale - (REAL)1);
    return (vec)(((ivec)(e / ((REAL)2 + e)) & ~sign) | ((ivec)x & sign));
}

/* x^degree: by squaring for small integers, else lane by lane (NaN for negative x and a fraction, as in NumPy). */
INLINE vec FN(power)(vec x, double degree) {
    if (degree >= 0 && degree <= 64 && degree == (int)degree) {
        vec y = FN(all)((REAL)1);
        for (int p = (int)degree; p > 0; p >>= 1) {
            if (p & 1) y *= x;
            x *= x;
        }
        return y;
    }
    REAL a[LANES];
    FN(store)(a, x);
    for (int i = 0; i < LANES; i++) a[i] = (REAL)pow((double)a[i], degree);
    return FN(load)(a);
}
