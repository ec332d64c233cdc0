// A GPU that is lost. Preloaded, it lets so many launches of kernels and graphs through as LAUNCHES_LEFT says; the next one, and from
// then on every call that the device would have to answer, is refused with 999 (unknown error), as by a driver whose device is gone.
//
// rarefy finds the driver's functions by dlsym, so dlsym is what is taken over. What is only in the driver's own memory (names,
// attributes, contexts, the end of a recording) is still answered, and what is destroyed is still destroyed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN = 999 };

static long left;
static int lost;

__attribute__((constructor)) static void begin(void) {
    const char *given = getenv("LAUNCHES_LEFT");
    left = given ? atol(given) : 0;
}

static int refuses(int launch) {
    if (launch && __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST) < 0)
        __atomic_store_n(&lost, 1, __ATOMIC_SEQ_CST);
    return __atomic_load_n(&lost, __ATOMIC_SEQ_CST);
}

// All arguments are integers and pointers, of which no function has more than eleven: passing on too many does no harm.
typedef void *word;
typedef int (*call)(word, word, word, word, word, word, word, word, word, word, word);

#define LAUNCHES(of) of(cuLaunchKernel) of(cuGraphLaunch)
#define OTHERS(of) \
    of(cuStreamCreate) of(cuStreamCreateWithPriority) of(cuStreamSynchronize) of(cuStreamWaitEvent) of(cuStreamBeginCapture_v2) \
    of(cuMemAlloc_v2) of(cuMemFree_v2) of(cuMemGetInfo_v2) of(cuMemHostAlloc) of(cuMemFreeHost) \
    of(cuMemcpyHtoDAsync_v2) of(cuMemcpyDtoHAsync_v2) of(cuMemcpyDtoDAsync_v2) of(cuMemcpyPeerAsync) \
    of(cuModuleLoadDataEx) of(cuGraphInstantiateWithFlags) of(cuDevicePrimaryCtxRelease_v2) \
    of(cuEventCreate) of(cuEventRecord) of(cuEventSynchronize) of(cuEventElapsedTime)

#define DEFINE(name, launch) \
    static call real_##name; \
    static int name(word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k) { \
        return refuses(launch) ? UNKNOWN : real_##name(a, b, c, d, e, f, g, h, i, j, k); \
    }
#define DEFINE_LAUNCH(name) DEFINE(name, 1)
#define DEFINE_OTHER(name) DEFINE(name, 0)
LAUNCHES(DEFINE_LAUNCH)
OTHERS(DEFINE_OTHER)

// dlsym has had several versions; dlvsym, which tells them apart, is not taken over.
static void *plain_dlsym(void *library, const char *name) {
    static void *(*plain)(void *, const char *);
    const char *versions[] = {"GLIBC_2.2.5", "GLIBC_2.17", "GLIBC_2.34"};
    for (int k = 0; k < 3 && !plain; k++) plain = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[k]);
    return plain ? plain(library, name) : NULL;
}

void *dlsym(void *library, const char *name) {
    void *found = plain_dlsym(library, name);
#define TAKE_OVER(known) if (found && !strcmp(name, #known)) { real_##known = (call)found; return (void *)known; }
    LAUNCHES(TAKE_OVER)
    OTHERS(TAKE_OVER)
    return found;
}
