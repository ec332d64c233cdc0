// NCCL without a GPU: memory of the fake driver is the host's, and ranks exchange by files of the folder FAKE_NCCL_FOLDER.
//
// It is stricter than the real one: calls out of order, and messages whose lengths differ, are refused.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 16 };
typedef struct { char bytes[128]; } identity;
typedef struct { uintptr_t at; size_t count; int peer; void *stream; } message;
static message sent[MOST], received[MOST];
static int live, group, sends, receives, own, all;
static unsigned written[MOST], taken[MOST];

static int on(const char *name) { return getenv(name) != NULL; }

int ncclGetVersion(int *version) {
    const char *set = getenv("FAKE_NCCL_VERSION");
    *version = set ? atoi(set) : 22809;
    return 0;
}
const char *ncclGetErrorString(int code) { return code == 3 ? "a refusal of the fake" : "an error of the fake"; }
int ncclGetUniqueId(identity *id) {
    memset(id, 7, sizeof *id);
    memcpy(id->bytes, &(pid_t){getpid()}, sizeof(pid_t));
    return 0;
}

// Files appear whole; whoever reads one waits for it.
static void put(const char *name, const void *data, size_t bytes) {
    char path[512], part[520];
    snprintf(path, sizeof path, "%s/%s", getenv("FAKE_NCCL_FOLDER"), name);
    snprintf(part, sizeof part, "%s.part", path);
    FILE *file = fopen(part, "w");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file) || rename(part, path)) abort();
}
static int get(const char *name, void *data, size_t bytes) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("FAKE_NCCL_FOLDER"), name);
    FILE *file = NULL;
    for (int k = 0; k < 20000 && !(file = fopen(path, "r")); k++) usleep(1000);
    if (!file) return 6;
    int whole = fread(data, 1, bytes, file) == bytes && fgetc(file) == EOF;
    fclose(file);
    return whole ? 0 : 5;
}

int ncclCommInitRank(void **handle, int ranks, identity id, int rank) {
    if (on("FAKE_NCCL_REFUSES") || live || rank < 0 || rank >= ranks || ranks > MOST || id.bytes[127] != 7) return 3;
    char name[64];
    own = rank; all = ranks;
    snprintf(name, sizeof name, "rank-%d", rank);
    if (ranks > 1) put(name, &id, sizeof id);
    for (int k = 0; ranks > 1 && k < ranks; k++) {
        identity other;
        snprintf(name, sizeof name, "rank-%d", k);
        int code = get(name, &other, sizeof other);
        if (code || memcmp(&other, &id, sizeof id)) return code ? code : 5;
    }
    live = 1;
    *handle = &live;
    return 0;
}
int ncclCommDestroy(void *handle) { live = 0; return 0; }
int ncclCommGetAsyncError(void *handle, int *fault) { *fault = on("FAKE_NCCL_BREAKS") ? 6 : 0; return 0; }
int ncclGroupStart(void) { group++; return 0; }
static int wrong(int type, int peer, void *handle, void *stream) {
    return !group || !live || peer < 0 || peer >= all || type || handle != &live || !stream;
}
#ifndef WITHOUT_SEND
int ncclSend(const void *from, size_t count, int type, int peer, void *handle, void *stream) {
    if (wrong(type, peer, handle, stream) || sends == MOST) return 4;
    sent[sends++] = (message){(uintptr_t)from, count, peer, stream};
    return 0;
}
#endif
int ncclRecv(void *to, size_t count, int type, int peer, void *handle, void *stream) {
    if (wrong(type, peer, handle, stream) || receives == MOST) return 4;
    received[receives++] = (message){(uintptr_t)to, count, peer, stream};
    return 0;
}
// Work of the device, which a recording holds.
static int copy(const message *to, const message *from) {
    void *driver = dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
    int (*copy)(uint64_t, uint64_t, size_t, void *) = driver ? dlsym(driver, "cuMemcpyDtoDAsync_v2") : NULL;
    if (!copy || to->count != from->count) return 5;
    size_t count = to->count;
    if (!on("FAKE_NCCL_WRONG")) return count ? copy(to->at, from->at, count, to->stream) : 0;
    // One byte comes from elsewhere.
    int code = copy(to->at, from->at, count, to->stream);
    return code ? code : copy(to->at + count / 2, from->at, 1, to->stream);
}
// Messages between two ranks arrive in the order in which they were sent.
int ncclGroupEnd(void) {
    char name[64];
    int code = 0, next = 0;
    if (--group) return 5;
    for (int i = 0; i < sends; i++) {
        if (sent[i].peer == own) continue;
        snprintf(name, sizeof name, "message-%d-%d-%u", own, sent[i].peer, written[sent[i].peer]++);
        put(name, (void *)sent[i].at, sent[i].count);
    }
    for (int i = 0; i < receives && !code; i++) {
        if (received[i].peer == own) {
            while (next < sends && sent[next].peer != own) next++;
            code = next < sends ? copy(&received[i], &sent[next++]) : 5;
            continue;
        }
        snprintf(name, sizeof name, "message-%d-%d-%u", received[i].peer, own, taken[received[i].peer]++);
        code = get(name, (void *)received[i].at, received[i].count);
    }
    sends = receives = 0;
    return code;
}
