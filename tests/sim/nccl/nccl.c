/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stand-in for NCCL: the calls that bwtool makes, for all GPUs of one
 * process, as one kernel a rank on the simulated driver. As the real one does,
 * it connects on the first call of a kind, which waits for all that is under
 * way, and it waits where too many launches are queued: neither may happen
 * behind a shut gate. SIM_NCCL in the environment plants a fault:
 *   hang, die, fail, garbage   when communicators are made
 *   late                       more than a second goes by; then, as fail_again
 *   fail_again                 when they are made for other ranks after that
 *   fail_call, die_call        when all_gather is called
 *   fail_launch                the first group of all_gather launches on rank 0 only, and fails
 *   die_third                  when all_gather is called for a third size
 *   hang_call                  all_gather's call does not return
 *   wrong                      outputs have a wrong byte
 *   old                        the version is 2.7.5
 *   no_windows                 memory is not registered, without an error
 *   noise                      words on standard output
 *   fast                       no call takes more time than its bytes
 */
#include <cuda.h>

#include "nccl_standin.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { OK = 0, CUDA_FAILED = 1, INTERNAL = 3, MISUSE = 5 };
enum kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST, ALL_TO_ALL, SEND, RECV };
enum { SETS_MAX = 64 }; /* of ranks that meet */
enum { CALLS_MAX = 2 * SIM_NCCL_RANKS * SIM_NCCL_RANKS, WINDOWS_MAX = 256, QUEUED_MAX = 100 };

struct comm {
    int rank, ranks;
    CUdevice device;
    CUcontext ctx;
    CUfunction kernel;
    uint32_t launched; /* not by graphs; a word of the rank's counts those that have ended */
};

struct call {
    enum kind kind;
    const char *in;
    char *out;
    size_t count;
    int type, peer; /* or root */
    struct comm *comm;
    CUstream stream;
};

struct window {
    const char *at;
    size_t bytes;
};

static struct comm *all[SIM_NCCL_RANKS];
static uint32_t *words; /* pinned: launches that ended, then meetings of each set of ranks */
static unsigned sets[SETS_MAX];
static struct call calls[CALLS_MAX];
static int call_count, depth;
static struct window windows[WINDOWS_MAX];
static struct {
    enum kind kind;
    size_t bytes;
    bool is_registered;
} connected[1024];
static size_t connected_count;

static bool has_fault(const char *name)
{
    const char *fault = getenv("SIM_NCCL");

    return fault != NULL && strcmp(fault, name) == 0;
}

EXPORT int ncclGetVersion(int *version);
EXPORT int ncclGetVersion(int *version)
{
    *version = has_fault("old") ? 2705 : 22803;
    return OK;
}

EXPORT const char *ncclGetErrorString(int result);
EXPORT const char *ncclGetErrorString(int result)
{
    return result == OK            ? "no error"
           : result == CUDA_FAILED ? "unhandled cuda error"
           : result == MISUSE      ? "invalid usage"
                                   : "internal error";
}

EXPORT const char *ncclGetLastError(struct comm *comm);
EXPORT const char *ncclGetLastError(struct comm *comm)
{
    (void)comm;
    return getenv("SIM_NCCL") != NULL ? "planted by SIM_NCCL" : "";
}

static int comm_open(struct comm *comm)
{
    static const unsigned char image[4] = {0x50, 0xed, 0x55, 0xba};
    CUlibrary library;
    CUkernel kernel;
    int res = CUDA_FAILED;

    if (cuDevicePrimaryCtxRetain(&comm->ctx, comm->device) != CUDA_SUCCESS) {
        return CUDA_FAILED;
    }
    (void)cuCtxPushCurrent(comm->ctx);
    if (cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS &&
        cuLibraryGetKernel(&kernel, library, "sim_nccl") == CUDA_SUCCESS &&
        cuKernelGetFunction(&comm->kernel, kernel) == CUDA_SUCCESS) {
        res = OK;
    }
    if (words == NULL && res == OK) {
        void *memory = NULL;
        const size_t bytes = (SETS_MAX + 1) * SIM_NCCL_RANKS * sizeof(*words);

        res = cuMemHostAlloc(&memory, bytes, CU_MEMHOSTALLOC_PORTABLE) == CUDA_SUCCESS
                  ? OK
                  : CUDA_FAILED;
        words = memory;
        if (res == OK) {
            memset(words, 0, bytes);
        }
    }
    (void)cuCtxPopCurrent(NULL);
    return res;
}

EXPORT int ncclCommInitAll(struct comm **comms, int count, const int *devices);
EXPORT int ncclCommInitAll(struct comm **comms, int count, const int *devices)
{
    static int times;

    if (has_fault("hang")) {
        for (;;) {
            pause();
        }
    }
    if (has_fault("die")) {
        abort();
    }
    if (has_fault("garbage")) {
        (void)!write(3, "{\"point\": {\"us\": [}}\n", 21);
    }
    if (has_fault("noise")) {
        printf("NCCL INFO words on standard output\n");
        fflush(stdout);
    }
    if (has_fault("late")) {
        (void)usleep(1100 * 1000);
    }
    if (has_fault("fail") || count > SIM_NCCL_RANKS ||
        ((has_fault("fail_again") || has_fault("late")) && times++ > 0)) {
        return INTERNAL;
    }
    for (int i = 0; i < count; i++) {
        comms[i] = calloc(1, sizeof(**comms));
        if (comms[i] == NULL) {
            return INTERNAL;
        }
        *comms[i] = (struct comm){.rank = i, .ranks = count, .device = devices[i]};
        all[i] = comms[i];
        if (comm_open(comms[i]) != OK) {
            return CUDA_FAILED;
        }
    }
    return OK;
}

EXPORT int ncclCommDestroy(struct comm *comm);
EXPORT int ncclCommDestroy(struct comm *comm)
{
    bool is_last = true;

    all[comm->rank] = NULL;
    for (int r = 0; r < SIM_NCCL_RANKS; r++) {
        is_last = is_last && all[r] == NULL;
    }
    if (is_last && words != NULL) {
        (void)cuCtxPushCurrent(comm->ctx);
        (void)cuMemFreeHost(words);
        (void)cuCtxPopCurrent(NULL);
        words = NULL;
    }
    (void)cuDevicePrimaryCtxRelease(comm->device);
    free(comm);
    return OK;
}

/* What this rank has launched, begun or not, waits for no other one: those are far ahead of it. */
EXPORT int ncclCommAbort(struct comm *comm);
EXPORT int ncclCommAbort(struct comm *comm)
{
    static uint32_t aborted; /* who is ahead now is behind when its own turn comes */

    aborted++;
    for (int i = SIM_NCCL_RANKS; words != NULL && i < (SETS_MAX + 1) * SIM_NCCL_RANKS; i++) {
        if (i % SIM_NCCL_RANKS != comm->rank) {
            __atomic_store_n(&words[i], aborted << 16, __ATOMIC_RELEASE);
        }
    }
    (void)cuCtxPushCurrent(comm->ctx); /* until it has ended: it reads the words */
    (void)cuCtxSynchronize();
    (void)cuCtxPopCurrent(NULL);
    return ncclCommDestroy(comm);
}

EXPORT int ncclMemAlloc(void **ptr, size_t bytes);
EXPORT int ncclMemAlloc(void **ptr, size_t bytes)
{
    CUdeviceptr at = 0;
    const CUresult res = cuMemAlloc(&at, bytes);

    *ptr = (void *)at;
    return res == CUDA_SUCCESS ? OK : CUDA_FAILED;
}

EXPORT int ncclMemFree(void *ptr);
EXPORT int ncclMemFree(void *ptr)
{
    return cuMemFree((CUdeviceptr)ptr) == CUDA_SUCCESS ? OK : CUDA_FAILED;
}

EXPORT int ncclCommWindowRegister(struct comm *comm, void *at, size_t bytes, struct window **window,
                                  int flags);
EXPORT int ncclCommWindowRegister(struct comm *comm, void *at, size_t bytes, struct window **window,
                                  int flags)
{
    (void)comm;
    *window = NULL;
    if (depth == 0 || flags != 1) {
        return MISUSE; /* of one thread's GPUs the next would never come */
    }
    for (int i = 0; i < WINDOWS_MAX && !has_fault("no_windows"); i++) {
        if (windows[i].at == NULL) {
            windows[i] = (struct window){at, bytes};
            *window = &windows[i];
            break;
        }
    }
    return OK;
}

EXPORT int ncclCommWindowDeregister(struct comm *comm, struct window *window);
EXPORT int ncclCommWindowDeregister(struct comm *comm, struct window *window)
{
    (void)comm;
    *window = (struct window){0};
    return OK;
}

static size_t width_of(int type)
{
    return type == 0 ? 1 : type == 6 || type == 9 ? 2 : 4;
}

static uint32_t dtype_of(int type) /* as enum bw_shmem_dtype has them */
{
    return type == 6 ? 0 : type == 9 ? 1 : type == 7 ? 2 : type == 2 ? 3 : 4;
}

static bool is_registered(const struct call *call)
{
    const char *at = call->kind == SEND ? call->in : call->out;

    for (int i = 0; i < WINDOWS_MAX; i++) {
        if (windows[i].at != NULL && at >= windows[i].at && at < windows[i].at + windows[i].bytes) {
            return true;
        }
    }
    return false;
}

/* The first call of its kind and size waits for everything. */
static void connect_first(const struct call *call)
{
    const size_t bytes = call->count * width_of(call->type);

    for (size_t i = 0; i < connected_count; i++) {
        if (connected[i].kind == call->kind && connected[i].bytes == bytes &&
            connected[i].is_registered == is_registered(call)) {
            return;
        }
    }
    if (connected_count < sizeof(connected) / sizeof(connected[0])) {
        connected[connected_count].kind = call->kind;
        connected[connected_count].bytes = bytes;
        connected[connected_count++].is_registered = is_registered(call);
    }
    for (int r = 0; r < SIM_NCCL_RANKS && all[r] != NULL; r++) {
        (void)cuCtxPushCurrent(all[r]->ctx);
        (void)cuCtxSynchronize();
        (void)cuCtxPopCurrent(NULL);
    }
}

static bool is_capturing(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    return cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* A collective: the call of rank `r` in the group, or NULL. */
static const struct call *call_of(int r)
{
    for (int i = 0; i < call_count; i++) {
        if (calls[i].comm->rank == r) {
            return &calls[i];
        }
    }
    return NULL;
}

static int add_part(struct sim_nccl_args *a, const char *src, uint64_t to, uint64_t bytes)
{
    if (a->part_count == SIM_NCCL_RANKS) {
        return INTERNAL;
    }
    a->parts[a->part_count++] = (struct sim_nccl_part){src, to, bytes};
    return OK;
}

static int collect(struct sim_nccl_args *a, const struct call *mine)
{
    const uint64_t bytes = mine->count * width_of(mine->type);
    int res = OK;

    a->out = mine->out;
    a->is_sum = mine->kind == ALL_REDUCE || mine->kind == REDUCE_SCATTER;
    a->dtype = dtype_of(mine->type);
    for (int p = 0; p < mine->comm->ranks && res == OK; p++) {
        const struct call *other = call_of(p);
        const bool is_each = mine->kind == REDUCE_SCATTER || mine->kind == ALL_TO_ALL;

        if (other == NULL || other->kind != mine->kind || other->count != mine->count) {
            return MISUSE; /* the real one would wait for ever */
        }
        if (mine->kind == BROADCAST && p != mine->peer) {
            continue;
        }
        res = add_part(a, other->in + (is_each ? (uint64_t)mine->comm->rank * bytes : 0),
                       a->is_sum || mine->kind == BROADCAST ? 0 : (uint64_t)p * bytes, bytes);
    }
    return res;
}

/* What rank `me` receives in this group, each from the send that it belongs to. */
static int receive(struct sim_nccl_args *a, int me)
{
    for (int i = 0; i < call_count; i++) {
        const struct call *recv = &calls[i];
        const uint64_t bytes = recv->count * width_of(recv->type);
        const struct call *send = NULL;
        int before = 0;

        if (recv->kind != RECV || recv->comm->rank != me) {
            continue;
        }
        for (int k = 0; k < i; k++) {
            before +=
                calls[k].kind == RECV && calls[k].comm->rank == me && calls[k].peer == recv->peer;
        }
        for (int k = 0; k < call_count && send == NULL; k++) {
            if (calls[k].kind == SEND && calls[k].comm->rank == recv->peer && calls[k].peer == me &&
                before-- == 0) {
                send = &calls[k];
            }
        }
        if (send == NULL || send->count != recv->count) {
            return MISUSE;
        }
        a->out = a->out == NULL ? recv->out : a->out;
        if (add_part(a, send->in, (uint64_t)(recv->out - a->out), bytes) != OK) {
            return INTERNAL;
        }
    }
    return OK;
}

static int launch(const struct call *call, struct sim_nccl_args *a)
{
    struct comm *comm = call->comm;
    const bool captures = is_capturing(call->stream);
    void *params[] = {a};
    CUresult res;

    a->is_wrong = has_fault("wrong");
    a->busy_ns = has_fault("fast") ? 0 : (is_registered(call) ? 4000 : 6000) + !captures * 1000;
    (void)cuCtxPushCurrent(comm->ctx);
    if (!captures) {
        a->done = &words[comm->rank];
        if (comm->launched++ - __atomic_load_n(a->done, __ATOMIC_ACQUIRE) >= QUEUED_MAX) {
            (void)cuStreamSynchronize(call->stream);
        }
    }
    res = cuLaunchKernel(comm->kernel, 1, 1, 1, 32, 1, 1, 0, call->stream, params, NULL);
    (void)cuCtxPopCurrent(NULL);
    return res == CUDA_SUCCESS ? OK : CUDA_FAILED;
}

/* Words of their own for each set of ranks: who is not in it counts no meeting. */
static uint32_t *words_of(unsigned set)
{
    int i = 0;

    while (i + 1 < SETS_MAX && sets[i] != 0 && sets[i] != set) {
        i++;
    }
    sets[i] = set;
    return &words[(i + 1) * SIM_NCCL_RANKS];
}

/* Each rank that takes part, once. */
static int run_group(void)
{
    const struct call *first[SIM_NCCL_RANKS] = {NULL};
    int ranks[SIM_NCCL_RANKS];
    int count = 0, res = OK;
    unsigned set = 0;

    for (int r = 0; r < SIM_NCCL_RANKS; r++) {
        first[r] = call_of(r);
        if (first[r] != NULL) {
            ranks[count++] = r;
            set |= 1u << r;
        }
    }
    for (int i = 0; i < count && res == OK; i++) {
        const struct call *call = first[ranks[i]];
        static int failed;

        if (i == 1 && call->kind == ALL_GATHER && has_fault("fail_launch") && failed++ == 0) {
            return CUDA_FAILED;
        }
        struct sim_nccl_args a = {.rank = (uint32_t)i, .ranks = (uint32_t)count};

        for (int k = 0; k < count; k++) {
            a.arrived[k] = &words_of(set)[ranks[k]];
        }
        res = call->kind >= SEND ? receive(&a, ranks[i]) : collect(&a, call);
        res = res == OK ? launch(call, &a) : res;
    }
    return res;
}

EXPORT int ncclGroupStart(void);
EXPORT int ncclGroupStart(void)
{
    depth++;
    return OK;
}

EXPORT int ncclGroupEnd(void);
EXPORT int ncclGroupEnd(void)
{
    int res = OK;

    if (--depth > 0 || call_count == 0) {
        return OK;
    }
    if (!is_capturing(calls[0].stream)) {
        connect_first(&calls[0]);
    }
    res = run_group();
    call_count = 0;
    return res;
}

static bool is_third_size(size_t count)
{
    static size_t last;
    static int sizes;

    sizes += count != last;
    last = count;
    return sizes >= 3;
}

static int add(struct call call)
{
    if (call.kind == ALL_GATHER && has_fault("fail_call")) {
        return INTERNAL;
    }
    if (call.kind == ALL_GATHER && has_fault("die_call")) {
        abort();
    }
    if (call.kind == ALL_GATHER && has_fault("die_third") && is_third_size(call.count)) {
        abort();
    }
    while (call.kind == ALL_GATHER && has_fault("hang_call")) {
        pause();
    }
    if (call_count == CALLS_MAX) {
        return INTERNAL;
    }
    (void)ncclGroupStart();
    calls[call_count++] = call;
    return ncclGroupEnd();
}

EXPORT int ncclAllReduce(const void *in, void *out, size_t count, int type, int op,
                         struct comm *comm, CUstream stream);
EXPORT int ncclAllReduce(const void *in, void *out, size_t count, int type, int op,
                         struct comm *comm, CUstream stream)
{
    return op != 0 ? MISUSE : add((struct call){ALL_REDUCE, in, out, count, type, 0, comm, stream});
}

EXPORT int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op,
                             struct comm *comm, CUstream stream);
EXPORT int ncclReduceScatter(const void *in, void *out, size_t count, int type, int op,
                             struct comm *comm, CUstream stream)
{
    return op != 0 ? MISUSE
                   : add((struct call){REDUCE_SCATTER, in, out, count, type, 0, comm, stream});
}

EXPORT int ncclAllGather(const void *in, void *out, size_t count, int type, struct comm *comm,
                         CUstream stream);
EXPORT int ncclAllGather(const void *in, void *out, size_t count, int type, struct comm *comm,
                         CUstream stream)
{
    return add((struct call){ALL_GATHER, in, out, count, type, 0, comm, stream});
}

EXPORT int ncclBroadcast(const void *in, void *out, size_t count, int type, int root,
                         struct comm *comm, CUstream stream);
EXPORT int ncclBroadcast(const void *in, void *out, size_t count, int type, int root,
                         struct comm *comm, CUstream stream)
{
    return add((struct call){BROADCAST, in, out, count, type, root, comm, stream});
}

EXPORT int ncclAlltoAll(const void *in, void *out, size_t count, int type, struct comm *comm,
                        CUstream stream);
EXPORT int ncclAlltoAll(const void *in, void *out, size_t count, int type, struct comm *comm,
                        CUstream stream)
{
    return add((struct call){ALL_TO_ALL, in, out, count, type, 0, comm, stream});
}

EXPORT int ncclSend(const void *in, size_t count, int type, int peer, struct comm *comm,
                    CUstream stream);
EXPORT int ncclSend(const void *in, size_t count, int type, int peer, struct comm *comm,
                    CUstream stream)
{
    return add((struct call){SEND, in, NULL, count, type, peer, comm, stream});
}

EXPORT int ncclRecv(void *out, size_t count, int type, int peer, struct comm *comm,
                    CUstream stream);
EXPORT int ncclRecv(void *out, size_t count, int type, int peer, struct comm *comm, CUstream stream)
{
    return add((struct call){RECV, NULL, out, count, type, peer, comm, stream});
}
