/* The least that is a product: rows come in over the serial port, answers go out. For its size. */
#include "svm.h"

#include <avr/io.h>

static svm_input row[SVM_INPUTS];

int main(void)
{
    UCSR0B = _BV(RXEN0) | _BV(TXEN0);
    UBRR0 = 8;
    for (;;) {
        uint8_t *byte = (uint8_t *)row;
        uint16_t left = sizeof row;
        for (; left; left--) {
            while (!(UCSR0A & _BV(RXC0))) {
            }
            *byte++ = UDR0;
        }
#ifdef SVM_CLASSES
        UDR0 = (uint8_t)svm_predict(row);
#else
        {
            float value = svm_predict(row);
            uint8_t i;
            for (i = 0; i < sizeof value; i++) {
                while (!(UCSR0A & _BV(UDRE0))) {
                }
                UDR0 = ((uint8_t *)&value)[i];
            }
        }
#endif
    }
}
