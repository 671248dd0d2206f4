/* Runs the self-test, and measures a prediction: its stack by paint, its time by timer 1. For the simulator. */
#define SVM_NO_MAIN
int svm_selftest(void) __attribute__((noinline)); /* or its stack would be part of ours */
#include "selftest.c"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>

static svm_input row[SVM_INPUTS];
static volatile uint16_t turns;
extern uint8_t _end;

void paint(void) __attribute__((naked, used, section(".init1")));
void paint(void)
{
    __asm__ volatile("ldi r30, lo8(_end)\n ldi r31, hi8(_end)\n ldi r24, 0xc5\n ldi r25, hi8(%0)\n"
                     "1: st Z+, r24\n cpi r30, lo8(%0)\n cpc r31, r25\n brlo 1b\n breq 1b\n"
                     :
                     : "i"(RAMEND));
}

ISR(TIMER1_OVF_vect)
{
    turns++;
}

static void put(char c)
{
    while (!(UCSR0A & _BV(UDRE0))) {
    }
    UDR0 = (uint8_t)c;
}

static void say(const char *name, uint32_t value)
{
    char digits[10];
    uint8_t n = 0;
    while (*name) {
        put(*name++);
    }
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (n) {
        put(digits[--n]);
    }
    put('\n');
}

int main(void)
{
    const uint8_t *free = &_end;
    uint16_t unused = 0, start, stop;
    uint32_t cycles = 0;
    uint8_t i;
    UCSR0B = _BV(TXEN0);
    COPY(row, rows[0], sizeof row);
    (void)svm_predict(row);
    while (*free == 0xc5) {
        free++;
        unused++;
    }
    TIMSK1 = _BV(TOIE1);
    TCCR1A = 0;
    for (i = 0; i < ROWS && i < 4; i++) {
        COPY(row, rows[i], sizeof row);
        turns = 0;
        TCNT1 = 0;
        sei();
        TCCR1B = _BV(CS10);
        start = TCNT1;
        (void)svm_predict(row);
        stop = TCNT1;
        TCCR1B = 0;
        cli();
        if (TIFR1 & _BV(TOV1)) {
            TIFR1 = _BV(TOV1);
            if (stop < 0x8000) {
                turns++;
            }
        }
        start = (uint16_t)(start + 2);
        cycles += ((uint32_t)turns << 16) + stop - start;
    }
    say("stack=", (uint16_t)(RAMEND + 1 - (uint16_t)&_end - unused));
    say("cycles=", cycles / i);
    say("wrong=", (uint16_t)svm_selftest());
    say("rows=", ROWS);
    sleep_mode();
    return 0;
}
