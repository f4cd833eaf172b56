/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rules.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What waits for a held stream of its context, and what returns at once; how much a stream takes.
 */

/* A call that is tried while GPU 0's stream is held, and what it needs. */
struct trial {
    struct world *w;
    CUresult (*call)(struct trial *t);
    CUdeviceptr device;
    void *host;
    CUstream stream;
    CUevent event;
    CUlibrary library;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    CUresult res;
    atomic_bool is_over;
};

static void *run_call(void *argument)
{
    struct trial *t = argument;

    t->res = cu.CtxSetCurrent(t->w->ctx[0]);
    t->res = t->res == CUDA_SUCCESS ? t->call(t) : t->res;
    atomic_store(&t->is_over, true);
    return NULL;
}

/* Whether the call is over before the stream is let go. */
static bool returns(struct trial *t, struct answer *a)
{
    pthread_t thread;
    bool was_over = false;

    atomic_store(&t->is_over, false);
    if (!rules_must(a, rules_hold(t->w, 0, t->w->stream[0], 20000), "cannot hold a stream") ||
        pthread_create(&thread, NULL, run_call, t) != 0) {
        return false;
    }
    for (unsigned ms = 0; ms < STALL_MS && !atomic_load(&t->is_over); ms += 5) {
        rules_sleep_ms(5);
    }
    was_over = atomic_load(&t->is_over);
    rules_let_go(t->w);
    pthread_join(thread, NULL);
    cu.CtxSynchronize(); /* the stream may be gone */
    rules_must(a, t->res == CUDA_SUCCESS, "the call: %s", rules_error(t->res));
    rules_must(a, rules_hold_state(t->w) == HOLD_OPENED, "the gate ended in state %u",
               rules_hold_state(t->w));
    return was_over;
}

static void must_wait(struct world *w, struct answer *a, struct trial t,
                      CUresult (*call)(struct trial *))
{
    t.w = w;
    t.call = call;
    rules_must(a, !returns(&t, a), "it returned at once");
}

static void must_return(struct world *w, struct answer *a, struct trial *t,
                        CUresult (*call)(struct trial *))
{
    t->w = w;
    t->call = call;
    rules_must(a, returns(t, a), "it waited");
}

static CUdeviceptr some_memory(struct answer *a, size_t bytes)
{
    CUdeviceptr at = 0;

    GOOD(cu.MemAlloc(&at, bytes));
    return at;
}

static void *pages(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    memset(at, 1, bytes);
    return at;
}

static CUresult do_free(struct trial *t)
{
    return cu.MemFree(t->device);
}

static void free_device(struct world *w, struct answer *a)
{
    must_wait(w, a, (struct trial){.device = some_memory(a, 64 * KIB)}, do_free);
}

static CUresult do_free_host(struct trial *t)
{
    return cu.MemFreeHost(t->host);
}

static void free_host(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    GOOD(cu.MemHostAlloc(&t.host, MIB, 0));
    must_wait(w, a, t, do_free_host);
}

static CUresult do_unregister(struct trial *t)
{
    return cu.MemHostUnregister(t->host);
}

static void unregister(struct world *w, struct answer *a)
{
    struct trial t = {.host = pages(MIB)};

    GOOD(cu.MemHostRegister(t.host, MIB, 0));
    must_wait(w, a, t, do_unregister);
    munmap(t.host, MIB);
}

static CUresult do_first_launch(struct trial *t)
{
    uint64_t word = 0;

    return rules_launch(t->w, 0, CORRUPT, 1, 1, t->w->other[0], (void *[]){&t->w->memory[0], &word})
               ? cu.StreamSynchronize(t->w->other[0])
               : CUDA_ERROR_UNKNOWN;
}

static void first_launch(struct world *w, struct answer *a)
{
    must_wait(w, a, (struct trial){.w = w}, do_first_launch);
}

static CUresult do_launch(struct trial *t)
{
    uint64_t bytes = KIB;
    uint32_t seed = 1;

    return rules_launch(t->w, 0, FILL, 1, 32, t->w->other[0],
                        (void *[]){&t->w->memory[0], &bytes, &seed})
               ? cu.StreamSynchronize(t->w->other[0])
               : CUDA_ERROR_UNKNOWN;
}

static void resident_launch(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_launch);
}

static CUresult do_copy(struct trial *t)
{
    const CUdeviceptr page = (CUdeviceptr)(uintptr_t)t->w->page + 8 * KIB;
    CUresult res = cu.MemcpyAsync(t->w->memory[0], page, KIB, t->w->other[0]);

    res = res == CUDA_SUCCESS ? cu.MemcpyAsync(page, t->w->memory[0], KIB, t->w->other[0]) : res;
    return res == CUDA_SUCCESS ? cu.StreamSynchronize(t->w->other[0]) : res;
}

static void other_copies(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_copy);
}

static CUresult do_small_copies(struct trial *t)
{
    uint32_t word = 7;
    const CUresult res = cu.MemcpyHtoD(t->w->memory[0], &word, sizeof(word));

    return res == CUDA_SUCCESS ? cu.MemcpyDtoH(&word, t->w->memory[0], sizeof(word)) : res;
}

static void small_copies(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_small_copies);
}

static CUresult do_alloc(struct trial *t)
{
    return cu.MemAlloc(&t->device, 16 * MIB);
}

static void alloc_device(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_alloc);
    GOOD(cu.MemFree(t.device));
}

static CUresult do_alloc_host(struct trial *t)
{
    return cu.MemHostAlloc(&t->host, MIB, 0);
}

static void alloc_host(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_alloc_host);
    GOOD(cu.MemFreeHost(t.host));
}

static CUresult do_register(struct trial *t)
{
    return cu.MemHostRegister(t->host, MIB, 0);
}

static void register_host(struct world *w, struct answer *a)
{
    struct trial t = {.host = pages(MIB)};

    must_return(w, a, &t, do_register);
    GOOD(cu.MemHostUnregister(t.host));
    munmap(t.host, MIB);
}

static CUresult do_info(struct trial *t)
{
    size_t unused, total;

    (void)t;
    return cu.MemGetInfo(&unused, &total);
}

static void get_info(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_info);
}

static CUresult do_streams(struct trial *t)
{
    const CUresult res = cu.StreamCreate(&t->stream, CU_STREAM_NON_BLOCKING);

    return res == CUDA_SUCCESS ? cu.StreamDestroy(t->stream) : res;
}

static void streams(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_streams);
}

/* An event that the held stream has yet to reach is destroyed, too. */
static CUresult do_events(struct trial *t)
{
    CUresult res = cu.EventCreate(&t->event, 0);

    res = res == CUDA_SUCCESS ? cu.EventRecord(t->event, t->w->stream[0]) : res;
    return res == CUDA_SUCCESS ? cu.EventDestroy(t->event) : res;
}

static void events(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_events);
}

static CUresult do_destroy_held(struct trial *t)
{
    return cu.StreamDestroy(t->w->stream[0]);
}

static void destroy_held(struct world *w, struct answer *a)
{
    struct trial t = {.w = w, .call = do_destroy_held};

    /* Held is another stream than usual: one that is gone afterwards. */
    rules_must(a, returns(&t, a), "it waited");
    cu.CtxSynchronize();
    GOOD(cu.StreamCreate(&w->stream[0], CU_STREAM_NON_BLOCKING));
}

static CUresult do_library(struct trial *t)
{
    const CUresult res =
        cu.LibraryLoadData(&t->library, bw_kernels_image, NULL, NULL, 0, NULL, NULL, 0);

    return res == CUDA_SUCCESS ? cu.LibraryUnload(t->library) : res;
}

static void libraries(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_library);
}

static CUresult do_map(struct trial *t)
{
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = t->w->dev[0]},
    };
    const CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    const size_t bytes = 2 * MIB;
    CUresult res = cu.MemCreate(&t->handle, bytes, &prop, 0);

    res = res == CUDA_SUCCESS ? cu.MemAddressReserve(&t->address, bytes, 0, 0, 0) : res;
    res = res == CUDA_SUCCESS ? cu.MemMap(t->address, bytes, 0, t->handle, 0) : res;
    res = res == CUDA_SUCCESS ? cu.MemSetAccess(t->address, bytes, &access, 1) : res;
    res = res == CUDA_SUCCESS ? cu.MemUnmap(t->address, bytes) : res;
    res = res == CUDA_SUCCESS ? cu.MemAddressFree(t->address, bytes) : res;
    return res == CUDA_SUCCESS ? cu.MemRelease(t->handle) : res;
}

static void maps(struct world *w, struct answer *a)
{
    struct trial t = {.w = w};

    must_return(w, a, &t, do_map);
}

const struct rule rules_held[] = {
    {"held: the first launch of a kernel that is not loaded waits", first_launch, 0, NULL},
    {"held: launching a loaded kernel on another stream does not wait", resident_launch, 0, NULL},
    {"held: copies on another stream do not wait", other_copies, 0, NULL},
    {"held: small synchronous copies do not wait", small_copies, 0, NULL},
    {"held: cuMemFree waits", free_device, 0, NULL},
    {"held: cuMemFreeHost waits", free_host, 0, NULL},
    {"held: cuMemHostUnregister waits", unregister, 0, NULL},
    {"held: cuMemAlloc does not wait", alloc_device, 0, NULL},
    {"held: cuMemHostAlloc does not wait", alloc_host, 0, NULL},
    {"held: cuMemHostRegister does not wait", register_host, 0, NULL},
    {"held: cuMemGetInfo does not wait", get_info, 0, NULL},
    {"held: making and destroying streams does not wait", streams, 0, NULL},
    {"held: making and destroying events does not wait", events, 0, NULL},
    {"held: destroying the held stream does not wait", destroy_held, 0, NULL},
    {"held: loading and unloading a library does not wait", libraries, 0, NULL},
    {"held: creating, mapping and unmapping memory does not wait", maps, 0, NULL},
    {NULL, NULL, 0, NULL},
};
