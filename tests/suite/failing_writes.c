// Fails one write, wait for the disk or rename of a process: the FAILING_CALL-th of those of regular files and folders.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int counted(void)
{
    static atomic_long calls;
    const char *wanted = getenv("FAILING_CALL");
    return wanted && atomic_fetch_add(&calls, 1) + 1 == atol(wanted);
}

static int due(int descriptor)
{
    struct stat there;
    return fstat(descriptor, &there) == 0 && (S_ISREG(there.st_mode) || S_ISDIR(there.st_mode)) && counted();
}

int rename(const char *from, const char *to)
{
    static int (*next)(const char *, const char *);
    if (!next)
        next = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    if (counted()) {
        errno = EIO;
        return -1;
    }
    return next(from, to);
}

ssize_t write(int descriptor, const void *bytes, size_t count)
{
    static ssize_t (*next)(int, const void *, size_t);
    if (!next)
        next = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    if (due(descriptor)) {
        errno = ENOSPC;
        return -1;
    }
    return next(descriptor, bytes, count);
}

int fsync(int descriptor)
{
    static int (*next)(int);
    if (!next)
        next = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    if (due(descriptor)) {
        errno = EIO;
        return -1;
    }
    return next(descriptor);
}
