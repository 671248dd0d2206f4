/* values += k * c, and c goes on to the next vector. */
static void svm_add(svm_value *values, int16_t k, const int8_t **c)
{
#if defined(__AVR__) && SVM_OUTPUTS < 256 && defined(SVM_SUM_32)
    const int8_t *from = *c;
    uint8_t n = SVM_OUTPUTS, a, b, zero = 0;
    uint16_t high;
    __asm__ volatile("1:\n lpm %[a], Z+\n muls %[a], %B[k]\n movw %A[high], r0\n clr %[b]\n sbrc r1, 7\n com %[b]\n"
                     "mulsu %[a], %A[k]\n sbc %B[high], %[zero]\n sbc %[b], %[zero]\n"
                     "add %A[high], r1\n adc %B[high], %[zero]\n adc %[b], %[zero]\n"
                     "ld %[a], X\n add %[a], r0\n st X+, %[a]\n"
                     "ld %[a], X\n adc %[a], %A[high]\n st X+, %[a]\n"
                     "ld %[a], X\n adc %[a], %B[high]\n st X+, %[a]\n"
                     "ld %[a], X\n adc %[a], %[b]\n st X+, %[a]\n"
                     "dec %[n]\n brne 1b\n clr __zero_reg__\n"
                     : [n] "+r"(n), [a] "=&a"(a), [b] "=&r"(b), [high] "=&r"(high), "+x"(values), "+z"(from)
                     : [k] "a"(k), [zero] "r"(zero)
                     : "cc", "memory");
    *c = from;
#else
    SVM_INDEX p;
    for (p = 0; p < SVM_OUTPUTS; p++, (*c)++) {
        values[p] += (int32_t)k * (int8_t)SVM_U8(*c);
    }
#endif
}
