/* The sum of 4 n products, n at most 64: 24 bits hold it. A byte has two weights, the first in its low half. */
static uint32_t svm_block(const svm_level *u, const uint8_t *w, uint8_t n)
{
    uint32_t sum = 0;
#ifdef __AVR__
#define SVM_ADD "add %A[s], r0\n adc %B[s], r1\n adc %C[s], %D[s]\n"
#define SVM_PRODUCTS                                                                                                   \
    "lpm %[b], Z+\n mov %[c], %[b]\n andi %[b], 15\n swap %[c]\n andi %[c], 15\n"                                      \
    "ld %[a], X+\n mul %[a], %[b]\n" SVM_ADD "ld %[a], X+\n mul %[a], %[c]\n" SVM_ADD
    uint8_t a, b, c;
    __asm__ volatile("1:\n" SVM_PRODUCTS SVM_PRODUCTS
                     "dec %[n]\n brne 1b\n clr __zero_reg__\n"
                     : [s] "+r"(sum), [a] "=&r"(a), [b] "=&d"(b), [c] "=&d"(c), [n] "+r"(n), "+x"(u), "+z"(w)
                     :
                     : "cc", "memory");
#else
    do {
        sum += (uint32_t)u[0] * (w[0] & 15u) + (uint32_t)u[1] * (uint32_t)(w[0] >> 4);
        sum += (uint32_t)u[2] * (w[1] & 15u) + (uint32_t)u[3] * (uint32_t)(w[1] >> 4);
        u += 4;
        w += 2;
    } while (--n);
#endif
    return sum;
}
