/* A thread that ends the process some time after a signal, if nothing else does. It needs no lock of Python, which the
 * training of an SVM holds for minutes; see svmpress/cli/signals.py.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "module.h"

static int64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Wait until the other end is closed (1), or so long (0). */
static int closes_within(int file, int64_t patience) {
    const int64_t end = milliseconds() + patience;
    for (int64_t left; (left = end - milliseconds()) > 0;) {
        struct pollfd one = {.fd = file, .events = POLLIN};
        char more;
        if (poll(&one, 1, (int)left) > 0 && read(file, &more, 1) <= 0) return 1;
    }
    return 0;
}

typedef struct {
    int file, patience;
} Watch;

static void *watch_file(void *argument) {
    const int file = ((Watch *)argument)->file, patience = ((Watch *)argument)->patience;
    free(argument);
    unsigned char number;
    while (read(file, &number, 1) == 1) {
        if ((number != SIGINT && number != SIGTERM) || closes_within(file, patience)) continue;
        const char *said = number == SIGINT ? "svmpress: interrupted\n" : "svmpress: terminated\n";
        if (write(STDERR_FILENO, said, strlen(said))) _exit(128 + number);
        _exit(128 + number);
    }
    close(file);
    return NULL;
}

/* watch(file, milliseconds): read numbers of signals from a pipe, whose reading end is given away */
PyObject *svmpress_watch(PyObject *module, PyObject *args) {
    (void)module;
    Watch *watch = malloc(sizeof *watch);
    pthread_t thread;
    if (!watch) return PyErr_NoMemory();
    if (!PyArg_ParseTuple(args, "ii", &watch->file, &watch->patience)) return free(watch), NULL;
    sigset_t all, before; /* signals are for the main thread */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&thread, NULL, watch_file, watch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) return free(watch), PyErr_SetString(PyExc_OSError, "no thread could be started"), NULL;
    pthread_detach(thread);
    Py_RETURN_NONE;
}
