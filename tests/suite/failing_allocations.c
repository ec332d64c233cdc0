// Fails one allocation of a process: the FAILING_ALLOCATION-th of those of 64 KiB or more.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int due(size_t size)
{
    static atomic_long calls;
    if (size < 65536)
        return 0;
    const char *wanted = getenv("FAILING_ALLOCATION");
    if (!wanted || atomic_fetch_add(&calls, 1) + 1 != atol(wanted))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return due(size) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return due(size ? (count > 65536 ? 65536 : count * size) : 0) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    return due(size) ? NULL : __libc_realloc(old, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return due(size) ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (due(size))
        return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
