/* The least of Arduino's core that the sketch needs: its own is a board package, which is not to be had here. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>

extern "C" {
void setup(void);
void loop(void);
}

class Stream {
  public:
    void begin(unsigned long baud);
    int available(void);
    int read(void);
    float parseFloat(void);
    size_t println(const char *text);
    size_t println(double value);
};

extern Stream Serial;

#endif
