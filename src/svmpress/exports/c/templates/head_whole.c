#include "svm.h"

#ifdef __AVR__
#include <avr/pgmspace.h>
#define SVM_ROM PROGMEM
#define SVM_U8(p) pgm_read_byte(p)
#define SVM_U16(p) pgm_read_word(p)
#define SVM_U32(p) pgm_read_dword(p)
#define SVM_FLOAT(p) pgm_read_float(p)
#else
#define SVM_ROM
#define SVM_U8(p) (*(p))
#define SVM_U16(p) (*(p))
#define SVM_U32(p) (*(p))
#define SVM_FLOAT(p) (*(p))
#endif
