/* Numbered tasks on threads, which take the next until none are left. Threads live for one call, so that nothing
 * survives a fork and nothing waits while idle; starting one takes some ten microseconds. */
#ifndef SVMPRESS_CREW_H
#define SVMPRESS_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum { MOST_THREADS = 256 };
static const double WORTH_A_THREAD = 40e3; /* nanoseconds of work */

typedef struct {
    void (*task)(void *context, int64_t task, void *scratch);
    void *context;
    int64_t tasks;
    size_t scratch; /* bytes for each thread */
    _Atomic int64_t next;
    atomic_int out_of_memory;
} Crew;

static void *crew_member(void *argument) {
    Crew *crew = argument;
    void *scratch = NULL;
    if (crew->scratch && posix_memalign(&scratch, 64, crew->scratch)) {
        crew->out_of_memory = 1;
        return NULL;
    }
    for (int64_t task; (task = atomic_fetch_add(&crew->next, 1)) < crew->tasks;) crew->task(crew->context, task, scratch);
    free(scratch);
    return NULL;
}

/* How many threads so much work is worth. */
static int crew_size(int threads, double nanoseconds) {
    const double worth = 1 + nanoseconds / WORTH_A_THREAD;
    if (threads > worth) threads = (int)worth;
    return threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
}

/* Do all tasks, which take so many nanoseconds in all; returns 0 if there was no memory for it. */
static int crew_run(Crew *crew, int threads, double nanoseconds) {
    threads = crew_size(threads, nanoseconds);
    if (threads > crew->tasks) threads = (int)crew->tasks;
    pthread_t others[MOST_THREADS];
    int started = 0;
    while (started < threads - 1 && pthread_create(&others[started], NULL, crew_member, crew) == 0) started++;
    crew_member(crew);
    for (int i = 0; i < started; i++) pthread_join(others[i], NULL);
    return !crew->out_of_memory;
}

#endif
