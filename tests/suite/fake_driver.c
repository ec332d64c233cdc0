// A CUDA driver without a GPU: memory is the host's, kernels are those of gpu.ptx written in C.
//
// It lets the tests of gpu.rs run anywhere, so that locks, lifetimes and the order of calls are tested where no GPU is.
// It is stricter than the real one: use of freed memory, leaks and calls without a context end the process.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef uint64_t address;
#define TOTAL ((size_t)1 << 30)
#define FAIL(text) (fprintf(stderr, "fake driver: %s\n", text), abort())

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local void *current;
static int context, retained;
static size_t used;
static int pinned;

// Memory: a list with the sizes.
typedef struct block { struct block *next; char *start; size_t bytes; } block;
static block *blocks;
static int lives(address at, size_t bytes) {
    int found = 0;
    pthread_mutex_lock(&lock);
    for (block *b = blocks; b; b = b->next)
        found |= at >= (address)b->start && at + bytes <= (address)b->start + b->bytes;
    pthread_mutex_unlock(&lock);
    return found;
}

typedef struct { char name[64]; int allowed; } function;
typedef struct node {
    struct node *next;
    const function *f;          // null for a copy
    unsigned grid, threads, shared;
    uint64_t words[16];         // arguments, each in a word or two
    address to, from; size_t bytes;
} node;
typedef struct stream stream;
// A recording may go on on one stream more, whose work its own stream must wait for in the end.
typedef struct { node *first, **last; stream *side; int joined; } graph;
struct stream { graph *recording; };
typedef struct { int recorded, timed; stream *by; graph *in; struct timespec at; } event;

int cuDriverGetVersion(int *v) { *v = 13000; return 0; }
int cuInit(unsigned flags) {
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    return visible && !strcmp(visible, "-1") ? 100 : 0;
}
int cuGetErrorName(int code, const char **text) { *text = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_FAKE"; return 0; }
int cuGetErrorString(int code, const char **text) { *text = "an error of the fake driver"; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return ordinal == 0 ? 0 : 101; }
int cuDeviceGetName(char *name, int len, int device) { snprintf(name, len, "Fake GPU"); return 0; }
// Ranks of a test have a device each, or share one.
int cuDeviceGetUuid(unsigned char *uuid, int device) {
    const char *rank = getenv("RAREFY_RANK");
    if (!rank) rank = getenv("SLURM_PROCID");
    memset(uuid, 1, 16);
    if (rank && !getenv("FAKE_GPU_SHARED")) uuid[15] += atoi(rank);
    return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = TOTAL; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 16: *value = 4; return 0;       // multiprocessors
    case 75: *value = 9; return 0;       // compute capability
    case 76: *value = 0; return 0;
    case 81: *value = 233472; return 0;  // shared memory of a multiprocessor
    case 87: *value = 2; return 0;       // f32 over f64
    case 97: *value = 232448; return 0;  // of a block
    }
    return 1;
}
int cuDevicePrimaryCtxRetain(void **c, int device) {
    pthread_mutex_lock(&lock); retained++; pthread_mutex_unlock(&lock);
    *c = &context; return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
    pthread_mutex_lock(&lock);
    if (--retained == 0 && (blocks || pinned)) FAIL("memory was not freed");
    if (retained < 0) FAIL("released more than retained");
    pthread_mutex_unlock(&lock);
    return 0;
}
int cuCtxSetCurrent(void *c) { current = c; return 0; }
#define NEED if (!current || !retained) return 201

int cuMemGetInfo_v2(size_t *free, size_t *total) { NEED; *free = TOTAL - used; *total = TOTAL; return 0; }
int cuMemAlloc_v2(address *at, size_t bytes) {
    NEED;
    pthread_mutex_lock(&lock);
    if (bytes > TOTAL - used) { pthread_mutex_unlock(&lock); return 2; }
    block *b = malloc(sizeof *b);
    b->start = aligned_alloc(256, (bytes + 255) / 256 * 256);
    memset(b->start, 0xcd, bytes);
    b->bytes = bytes; b->next = blocks; blocks = b; used += bytes;
    *at = (address)b->start;
    pthread_mutex_unlock(&lock);
    return 0;
}
int cuMemFree_v2(address at) {
    NEED;
    pthread_mutex_lock(&lock);
    block **b = &blocks;
    while (*b && (address)(*b)->start != at) b = &(*b)->next;
    if (!*b) FAIL("freed what is not allocated");
    block *gone = *b; *b = gone->next; used -= gone->bytes;
    memset(gone->start, 0xdd, gone->bytes);
    free(gone->start); free(gone);
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuMemHostAlloc(void **at, size_t bytes, unsigned flags) {
    NEED;
    pthread_mutex_lock(&lock); pinned++; pthread_mutex_unlock(&lock);
    *at = malloc(bytes);
    return 0;
}
int cuMemFreeHost(void *at) {
    NEED;
    pthread_mutex_lock(&lock); pinned--; pthread_mutex_unlock(&lock);
    free(at);
    return 0;
}

int cuStreamCreate(stream **s, unsigned flags) { NEED; if (flags != 1) FAIL("stream"); *s = calloc(1, sizeof **s); return 0; }
int cuStreamCreateWithPriority(stream **s, unsigned flags, int priority) { return priority < 0 ? cuStreamCreate(s, flags) : 1; }
int cuStreamDestroy_v2(stream *s) { NEED; free(s); return 0; }
int cuStreamSynchronize(stream *s) { NEED; return s->recording ? 900 : 0; }
int cuStreamBeginCapture_v2(stream *s, int mode) {
    NEED;
    if (s->recording) return 901;
    s->recording = calloc(1, sizeof(graph)); s->recording->last = &s->recording->first; return 0;
}
int cuStreamEndCapture(stream *s, graph **g) {
    NEED;
    if (!s->recording) return 901;
    *g = s->recording; s->recording = NULL;
    if ((*g)->side) {
        (*g)->side->recording = NULL;
        if (!(*g)->joined) { free(*g); *g = NULL; return 904; }
    }
    return 0;
}

int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, stream *s) {
    NEED;
    if (s->recording) FAIL("copy from the host in a recording");
    if (!lives(to, bytes)) FAIL("copy to freed memory");
    memcpy((void *)to, from, bytes); return 0;
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, stream *s) {
    NEED;
    if (s->recording) FAIL("copy to the host in a recording");
    if (!lives(from, bytes)) FAIL("copy from freed memory");
    memcpy(to, (void *)from, bytes); return 0;
}

int cuModuleLoadDataEx(void **module, const char *text, unsigned n, int *options, void **values) {
    NEED;
    if (n != 2 || options[0] != 5 || options[1] != 6) FAIL("options");
    if (strstr(text, "nonsense")) {
        snprintf(values[0], (size_t)values[1], "ptxas: unexpected `nonsense`"); return 218;
    }
    *module = strdup(text); return 0;
}
int cuModuleUnload(void *module) { NEED; free(module); return 0; }
int cuModuleGetFunction(function **f, char *module, const char *name) {
    NEED;
    char entry[128];
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr(module, entry)) return 500;
    *f = calloc(1, sizeof **f);
    snprintf((*f)->name, sizeof (*f)->name, "%s", name);
    (*f)->allowed = 48 << 10; return 0;
}
int cuFuncGetAttribute(int *value, int attribute, function *f) { NEED; *value = attribute == 0 ? 1024 : 0; return 0; }
int cuFuncSetAttribute(function *f, int attribute, int value) {
    NEED;
    if (attribute != 8 || value > 232448) return 1;
    f->allowed = value; return 0;
}

#define MEMORY(k, type) ((type *)n->words[k])
static void check(const node *n, int k, size_t size) {
    if (!lives(n->words[k], n->words[k + 1] * size)) FAIL("a kernel uses freed memory");
}
#define AXPY(type) do { \
    type a; memcpy(&a, &n->words[6], sizeof a); \
    for (int k = 0; k < 6; k += 2) check(n, k, sizeof a); \
    uint64_t threads = (uint64_t)n->grid * n->threads; \
    for (uint64_t i = 0; i < n->words[5] && i < threads; i++) \
        MEMORY(4, type)[i] = a * MEMORY(0, type)[i] + MEMORY(2, type)[i]; \
} while (0)
static int run(const node *n) {
    if (!n->f) {
        if (!lives(n->to, n->bytes) || !lives(n->from, n->bytes)) FAIL("a copy uses freed memory");
        memcpy((void *)n->to, (void *)n->from, n->bytes);
    } else if (!strcmp(n->f->name, "suite_axpy_f32")) AXPY(float);
    else if (!strcmp(n->f->name, "suite_axpy_f64")) AXPY(double);
    else if (!strcmp(n->f->name, "suite_reverse")) {
        check(n, 0, 4);
        uint32_t *x = MEMORY(0, uint32_t), count = (uint32_t)n->words[2];
        if (n->shared < 4 * count) FAIL("too little shared memory");
        for (uint32_t k = 0; k < count / 2; k++) {
            uint32_t y = x[k]; x[k] = x[count - 1 - k]; x[count - 1 - k] = y;
        }
    } else if (!strcmp(n->f->name, "suite_mixed")) {
        check(n, 0, 8);
        double *out = MEMORY(0, double);
        out[0] = (uint32_t)n->words[2];
        memcpy(out + 1, &n->words[3], 8);
        out[2] = (uint32_t)n->words[4];
        out[3] = (uint32_t)n->words[5];
        memcpy(out + 4, &n->words[6], 8);
        out[5] = n->words[1];
    } else return 98;
    return 0;
}
static int submit(stream *s, node n) {
    if (!s->recording) return run(&n);
    n.next = NULL;
    if (s == s->recording->side) s->recording->joined = 0;
    *s->recording->last = malloc(sizeof n);
    **s->recording->last = n;
    s->recording->last = &(*s->recording->last)->next;
    return 0;
}
int cuLaunchKernel(function *f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, stream *s, void **arguments, void **extra) {
    NEED;
    if (!x || !bx || y != 1 || z != 1 || by != 1 || bz != 1 || extra || (int)shared > f->allowed) return 1;
    node n = {.f = f, .grid = x, .threads = bx, .shared = shared};
    if (!strcmp(f->name, "suite_mixed")) {
        const int sizes[] = {8, 8, 4, 16, 4, 8}, places[] = {0, 1, 2, 3, 5, 6};
        for (int k = 0; k < 6; k++) {
            if ((uintptr_t)arguments[k] % (sizes[k] > 8 ? 8 : sizes[k])) FAIL("alignment");
            memcpy(n.words + places[k], arguments[k], sizes[k]);
        }
    } else {
        int views = !strcmp(f->name, "suite_reverse") ? 2 : 6;
        for (int k = 0; k < views; k++) memcpy(n.words + k, arguments[k], 8);
        memcpy(n.words + views, arguments[views], strstr(f->name, "f64") ? 8 : 4);
    }
    return submit(s, n);
}
int cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, stream *s) {
    NEED; return submit(s, (node){.to = to, .from = from, .bytes = bytes});
}
int cuMemcpyPeerAsync(address to, void *own, address from, void *other, size_t bytes, stream *s) {
    if (own != current || other != &context) FAIL("contexts of a copy between devices");
    return cuMemcpyDtoDAsync_v2(to, from, bytes, s);
}
int cuCtxEnablePeerAccess(void *other, unsigned flags) { NEED; return flags ? 1 : 0; }

int cuEventCreate(event **e, unsigned flags) {
    NEED;
    if (flags & ~2u) FAIL("event");
    *e = calloc(1, sizeof **e); (*e)->timed = !flags; return 0;
}
int cuEventDestroy_v2(event *e) { NEED; free(e); return 0; }
int cuEventRecord(event *e, stream *s) {
    NEED;
    if (s->recording && e->timed) FAIL("event in a recording");
    e->recorded = 1; e->by = s; e->in = s->recording; clock_gettime(CLOCK_MONOTONIC, &e->at); return 0;
}
int cuStreamWaitEvent(stream *s, event *e, unsigned flags) {
    NEED;
    if (!e->recorded || flags) FAIL("waiting for an event that is not recorded");
    if (e->in && !s->recording) {
        if (e->in->side && e->in->side != s) FAIL("a recording on three streams");
        e->in->side = s; e->in->joined = 0; s->recording = e->in;
    } else if (e->in != s->recording) FAIL("waiting in a recording for what is outside of it");
    else if (e->in && e->by == e->in->side) e->in->joined = 1;
    return 0;
}
int cuEventSynchronize(event *e) { NEED; return 0; }
int cuEventElapsedTime(float *ms, event *start, event *stop) {
    NEED;
    if (!start->recorded || !stop->recorded) return 400;
    *ms = (stop->at.tv_sec - start->at.tv_sec) * 1e3f + (stop->at.tv_nsec - start->at.tv_nsec) * 1e-6f; return 0;
}

int cuGraphInstantiateWithFlags(graph **executable, graph *g, unsigned long long flags) {
    NEED;
    *executable = malloc(sizeof **executable); **executable = *g; return 0;
}
int cuGraphDestroy(graph *g) { NEED; free(g); return 0; }
int cuGraphExecDestroy(graph *g) { NEED; g->first = NULL; free(g); return 0; }
int cuGraphLaunch(graph *g, stream *s) {
    NEED;
    if (s->recording) FAIL("graph in a recording");
    for (node *n = g->first; n; n = n->next) {
        int code = run(n);
        if (code) return code;
    }
    return 0;
}
