/* The sum of 4 n products, n at most 64: 24 bits hold it. */
static uint32_t svm_block(const svm_level *u, const uint8_t *w, uint8_t n)
{
    uint32_t sum = 0;
#ifdef __AVR__
#define SVM_PRODUCT "ld %[a], X+\n lpm %[b], Z+\n mul %[a], %[b]\n add %A[s], r0\n adc %B[s], r1\n adc %C[s], %D[s]\n"
    uint8_t a, b;
    __asm__ volatile("1:\n" SVM_PRODUCT SVM_PRODUCT SVM_PRODUCT SVM_PRODUCT
                     "dec %[n]\n brne 1b\n clr __zero_reg__\n"
                     : [s] "+r"(sum), [a] "=&r"(a), [b] "=&r"(b), [n] "+r"(n), "+x"(u), "+z"(w)
                     :
                     : "cc", "memory");
#else
    do {
        sum += (uint32_t)u[0] * w[0] + (uint32_t)u[1] * w[1] + (uint32_t)u[2] * w[2] + (uint32_t)u[3] * w[3];
        u += 4;
        w += 4;
    } while (--n);
#endif
    return sum;
}
