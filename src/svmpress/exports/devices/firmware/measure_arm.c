/* Runs the self-test, and measures a prediction: its stack by paint, its instructions by the clock of the simulator,
 * which makes one of them take one nanosecond. Speaks to the simulator by semihosting. */
#define SVM_NO_MAIN
int svm_selftest(void) __attribute__((noinline)); /* or its stack would be part of ours */
#include "selftest.c"

extern uint32_t stack_top, stack_end;
void reset(void);
void fault(void);
int main(void);

__attribute__((section(".vectors"), used)) const void *const vectors[16] = {
    &stack_top, (const void *)reset, (const void *)fault, (const void *)fault,
};

static svm_input row[SVM_INPUTS];

static int call(int what, const void *with)
{
    register int r0 __asm__("r0") = what;
    register const void *r1 __asm__("r1") = with;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void say(const char *name, uint32_t value)
{
    char digits[12];
    uint32_t n = sizeof digits;
    digits[--n] = 0;
    digits[--n] = '\n';
    do {
        digits[--n] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    call(4, name);
    call(4, &digits[n]);
}

void fault(void)
{
    call(4, "fault\n");
    call(0x18, (const void *)0x20023);
    for (;;) {
    }
}

void reset(void)
{
#ifdef __ARM_FP
    *(volatile uint32_t *)0xE000ED88 |= 0xFu << 20;
    __asm__ volatile("dsb\n isb");
#endif
    main();
    call(0x18, (const void *)0x20026);
    for (;;) {
    }
}

int main(void)
{
    volatile uint32_t *tick = (volatile uint32_t *)0xE000E010;
    uint32_t *here, unused = 0, start, spent = 0, i;
    volatile uint32_t *floor = &stack_end, *paint; /* volatile, or memset paints its own stack */
    __asm__ volatile("mov %0, sp" : "=r"(here));
    for (paint = floor; paint < here; paint++) {
        *paint = 0xc5c5c5c5;
    }
    COPY(row, rows[0], sizeof row);
    (void)svm_predict(row);
    for (paint = floor; *paint == 0xc5c5c5c5; paint++) {
        unused += 4;
    }
    tick[1] = 0xFFFFFF;
    for (i = 0; i < ROWS && i < 4; i++) {
        COPY(row, rows[i], sizeof row);
        tick[2] = 0;
        tick[0] = 5;
        start = tick[2];
        (void)svm_predict(row);
        spent += (start - tick[2]) & 0xFFFFFF;
        tick[0] = 0;
    }
    say("stack=", (uint32_t)((char *)here - (char *)floor) - unused);
    say("ticks=", spent / i);
    say("wrong=", (uint32_t)svm_selftest());
    say("rows=", ROWS);
    return 0;
}
