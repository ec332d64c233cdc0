// Fails one write or wait for the disk of a process: the FAILING_CALL-th of those of regular files and folders.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int due(int descriptor)
{
    static atomic_long calls;
    struct stat there;
    const char *wanted = getenv("FAILING_CALL");
    if (!wanted || fstat(descriptor, &there) != 0 || !(S_ISREG(there.st_mode) || S_ISDIR(there.st_mode)))
        return 0;
    return atomic_fetch_add(&calls, 1) + 1 == atol(wanted);
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
