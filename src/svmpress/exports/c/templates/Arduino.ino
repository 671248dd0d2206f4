/* Answers rows that come in over the serial port: SVM_INPUTS numbers@HOW@, then the answer goes out.
 *
 * The sketch is to be in a folder of its own name, as this one is, with svm.h and svm.c in it. */
#include "svm.h"

static svm_input row[SVM_INPUTS];
static uint16_t have = 0;

void setup()
{
    Serial.begin(115200);
}

void loop()
{
    if (Serial.available() <= 0) {
        return;
    }
@RECEIVE@
    if (have == SVM_INPUTS) {
        have = 0;
        @SEND@
    }
}
