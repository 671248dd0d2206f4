/* A file system that fails when it is told to, between a program and the C library: LD_PRELOAD it.
 *
 * Calls that concern files below one folder are counted; the one with the number that was asked for fails with an
 * errno, writes half of what it should, or kills the process. Everything else goes through.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { NO_SPACE, BROKEN, SHORT, KILL };
enum { MOST_FILES = 4096 };

static char folder[4096];
static long calls, at;
static int fault;
static unsigned char ours[MOST_FILES];

/* Count calls below `path` and let number `n` fail; 0 never. */
void faults_arm(const char *path, long n, int kind) {
    calls = 0;
    at = n;
    fault = kind;
    strncpy(folder, path, sizeof folder - 1);
}

long faults_disarm(void) {
    folder[0] = 0;
    memset(ours, 0, sizeof ours);
    return calls;
}

static int is_below(const char *path) { return folder[0] && strncmp(path, folder, strlen(folder)) == 0; }
static int is_ours(int file) { return folder[0] && file >= 0 && file < MOST_FILES && ours[file]; }

/* Whether this call fails; a write may also be cut short. */
static int fails(int is_write) {
    if (fault == SHORT && !is_write) return 0;
    if (++calls != at) return 0;
    if (fault == KILL) raise(SIGKILL);
    errno = fault == BROKEN ? EIO : ENOSPC;
    return 1;
}

#define REAL(result, name, ...)                                    \
    static result (*real)(__VA_ARGS__);                            \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int opened(int file, int below) {
    if (file >= 0 && file < MOST_FILES) ours[file] = (unsigned char)below;
    return file;
}

#define OPEN(name)                                                                   \
    int name(const char *path, int flags, ...) {                                     \
        REAL(int, #name, const char *, int, ...);                                    \
        va_list rest;                                                                \
        va_start(rest, flags);                                                       \
        const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                                                \
        const int below = is_below(path);                                            \
        if (below && fails(0)) return -1;                                            \
        return opened(real(path, flags, mode), below);                               \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int file, const void *bytes, size_t count) {
    REAL(ssize_t, "write", int, const void *, size_t);
    if (is_ours(file) && fails(1)) {
        if (fault != SHORT) return -1;
        count = (count + 1) / 2;
    }
    return real(file, bytes, count);
}

#define ON_FILE(name)                           \
    int name(int file) {                        \
        REAL(int, #name, int);                  \
        if (is_ours(file) && fails(0)) return -1; \
        return real(file);                      \
    }
ON_FILE(fsync)
ON_FILE(fdatasync)

#define TRUNCATE(name)                            \
    int name(int file, off_t length) {            \
        REAL(int, #name, int, off_t);             \
        if (is_ours(file) && fails(0)) return -1; \
        return real(file, length);                \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

int fchmod(int file, mode_t mode) {
    REAL(int, "fchmod", int, mode_t);
    if (is_ours(file) && fails(0)) return -1;
    return real(file, mode);
}

int close(int file) {
    REAL(int, "close", int);
    if (file >= 0 && file < MOST_FILES) ours[file] = 0;
    return real(file);
}

int rename(const char *from, const char *to) {
    REAL(int, "rename", const char *, const char *);
    if (is_below(to) && fails(0)) return -1;
    return real(from, to);
}

int renameat2(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    REAL(int, "renameat2", int, const char *, int, const char *, unsigned);
    if (is_below(to) && fails(0)) return -1;
    return real(from_folder, from, to_folder, to, flags);
}

int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    REAL(int, "linkat", int, const char *, int, const char *, int);
    if (is_below(to) && fails(0)) return -1;
    return real(from_folder, from, to_folder, to, flags);
}

int unlink(const char *path) {
    REAL(int, "unlink", const char *);
    if (is_below(path) && fails(0)) return -1;
    return real(path);
}

int mkdir(const char *path, mode_t mode) {
    REAL(int, "mkdir", const char *, mode_t);
    if (is_below(path) && fails(0)) return -1;
    return real(path, mode);
}
