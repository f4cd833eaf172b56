/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rules.h"

#include <stdio.h>
#include <stdlib.h>

/* The error of each bad call, and what sticks. */

static bool open_world(struct world *w, struct answer *a)
{
    return rules_must(a, rules_open(w), "cannot open");
}

static void bad_memory(struct world *w, struct answer *a)
{
    CUdeviceptr at = 0;
    size_t unused = 0, total = 0;

    WANT(cu.MemAlloc(&at, 0), CUDA_ERROR_INVALID_VALUE);
    WANT(cu.MemFree(0), CUDA_SUCCESS);
    WANT(cu.MemFree(w->memory[0] + 256), CUDA_ERROR_INVALID_VALUE);
    GOOD(cu.MemGetInfo(&unused, &total));
    WANT(cu.MemAlloc(&at, total + MIB), CUDA_ERROR_OUT_OF_MEMORY);
    GOOD(cu.MemAlloc(&at, KIB)); /* does not stick */
    rules_must(a, at % 256 == 0, "%#llx is not a multiple of 256", (unsigned long long)at);
    GOOD(cu.MemFree(at));
}

static void bad_registration(struct world *w, struct answer *a)
{
    void *memory = aligned_alloc(4096, MIB);

    (void)w;
    WANT(cu.MemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    WANT(cu.MemHostRegister(memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
    GOOD(cu.MemHostRegister(memory, MIB, 0));
    WANT(cu.MemHostRegister(memory, MIB, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    GOOD(cu.MemHostUnregister(memory));
    free(memory);
}

static void bad_launches(struct world *w, struct answer *a)
{
    uint64_t bytes = KIB;
    uint32_t seed = 1;
    void *args[] = {&w->memory[0], &bytes, &seed};
    CUfunction fill = w->f[0][FILL];

    WANT(cu.LaunchKernel(fill, 0, 1, 1, 32, 1, 1, 0, w->other[0], args, NULL),
         CUDA_ERROR_INVALID_VALUE);
    WANT(cu.LaunchKernel(fill, 1, 1, 1, 0, 1, 1, 0, w->other[0], args, NULL),
         CUDA_ERROR_INVALID_VALUE);
    WANT(cu.LaunchKernel(fill, 1, 1, 1, 1025, 1, 1, 0, w->other[0], args, NULL),
         CUDA_ERROR_INVALID_VALUE);
    WANT(cu.LaunchKernel(fill, 1, 65536, 1, 32, 1, 1, 0, w->other[0], args, NULL),
         CUDA_ERROR_INVALID_VALUE);
    GOOD(cu.LaunchKernel(fill, 1, 1, 1, 32, 1, 1, 0, w->other[0], args, NULL));
    GOOD(cu.StreamSynchronize(w->other[0]));
}

static void bad_names(struct world *w, struct answer *a)
{
    CUkernel kernel;

    WANT(cu.LibraryGetKernel(&kernel, w->library, "bw_no_such_kernel"), CUDA_ERROR_NOT_FOUND);
}

static const char zeroes[4096];

/* Loading is lazy: nobody has looked into the image. */
static void bad_image(struct world *w, struct answer *a)
{
    CUlibrary library;

    (void)w;
    GOOD(cu.LibraryLoadData(&library, zeroes, NULL, NULL, 0, NULL, NULL, 0));
    GOOD(cu.LibraryUnload(library));
}

/* What fails then is noted: no GPU has told yet. */
static void no_kernel_of_it(struct world *unused, struct answer *a)
{
    const char *what = "cuLibraryGetKernel";
    struct world w = {0};
    CUlibrary library = NULL;
    CUkernel kernel = NULL;
    CUfunction function;
    CUresult res;

    (void)unused;
    if (!open_world(&w, a) ||
        !GOOD(cu.LibraryLoadData(&library, zeroes, NULL, NULL, 0, NULL, NULL, 0))) {
        return;
    }
    res = cu.LibraryGetKernel(&kernel, library, "bw_fill");
    if (res == CUDA_SUCCESS) {
        what = "cuKernelGetFunction";
        res = cu.KernelGetFunction(&function, kernel);
    }
    if (rules_must(a, res != CUDA_SUCCESS, "it has bw_fill")) {
        snprintf(a->note, sizeof(a->note), "%s: %s", what, rules_error(res));
    }
}

static void bad_handles(struct world *w, struct answer *a)
{
    (void)w;
    WANT(cu.StreamDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
    WANT(cu.EventDestroy(NULL), CUDA_ERROR_INVALID_HANDLE);
    WANT(cu.EventRecord(NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
}

static void bad_copies(struct world *w, struct answer *a)
{
    GOOD(cu.MemcpyAsync(w->memory[0], w->memory[0] + MIB, 0, w->other[0]));
    WANT(cu.MemcpyAsync(w->memory[0], w->memory[0] + 4 * MIB - KIB, 64 * MIB, w->other[0]),
         CUDA_ERROR_INVALID_VALUE);
    WANT(cu.MemsetD32Async(w->memory[0] + 1, 1, KIB, w->other[0]), CUDA_ERROR_INVALID_VALUE);
    GOOD(cu.StreamSynchronize(w->other[0]));
}

static void bad_devices(struct world *w, struct answer *a)
{
    CUdevice dev;
    int value;

    WANT(cu.DeviceGet(&dev, 999), CUDA_ERROR_INVALID_DEVICE);
    WANT(cu.DeviceGet(&dev, -1), CUDA_ERROR_INVALID_DEVICE);
    WANT(cu.DeviceGetAttribute(&value, (CUdevice_attribute)100000, w->dev[0]),
         CUDA_ERROR_INVALID_VALUE);
}

static void no_context(struct world *w, struct answer *a)
{
    CUdeviceptr at;

    GOOD(cu.CtxSetCurrent(NULL));
    WANT(cu.MemAlloc(&at, KIB), CUDA_ERROR_INVALID_CONTEXT);
    rules_use(w, 0);
}

static void not_initialised(struct world *unused, struct answer *a)
{
    int count;

    (void)unused;
    WANT(cu.DeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
    WANT(cu.DriverGetVersion(&count), CUDA_SUCCESS);
    WANT(cu.Init(1), CUDA_ERROR_INVALID_VALUE);
}

/* --- what sticks: in processes of their own -------------------------------- */

/* Have a kernel write where nothing is. */
static void write_nowhere(struct world *w, struct answer *a)
{
    uint64_t bytes = 64;
    uint32_t seed = 1;
    CUdeviceptr nowhere = 0x10000;

    rules_launch(w, 0, FILL, 1, 32, w->other[0], (void *[]){&nowhere, &bytes, &seed});
    WANT(cu.StreamSynchronize(w->other[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void illegal_address(struct world *unused, struct answer *a)
{
    struct world w = {0};
    CUdeviceptr at;

    (void)unused;
    if (open_world(&w, a)) {
        write_nowhere(&w, a);
        WANT(cu.MemAlloc(&at, KIB), CUDA_ERROR_ILLEGAL_ADDRESS);
        WANT(cu.StreamQuery(w.stream[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
        WANT(cu.CtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
        WANT(cu.MemFree(w.memory[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}

static void other_context(struct world *unused, struct answer *a)
{
    struct world w = {0};
    CUdeviceptr at;

    (void)unused;
    if (open_world(&w, a)) {
        write_nowhere(&w, a);
        GOOD(cu.CtxSetCurrent(w.ctx[1]));
        WANT(cu.MemAlloc(&at, KIB), CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}

static void new_context(struct world *unused, struct answer *a)
{
    struct world w = {0};
    CUcontext ctx = NULL;

    (void)unused;
    if (open_world(&w, a)) {
        write_nowhere(&w, a);
        cu.DevicePrimaryCtxRelease(w.dev[0]); /* what that says does not matter */
        WANT(cu.DevicePrimaryCtxRetain(&ctx, w.dev[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}

/* Memory of a GPU that this one was not given access to. */
static void no_access(struct world *unused, struct answer *a)
{
    struct world w = {0};
    uint64_t bytes = 64;
    uint32_t seed = 1;

    (void)unused;
    if (open_world(&w, a)) {
        rules_use(&w, 0);
        rules_launch(&w, 0, FILL, 1, 32, w.other[0], (void *[]){&w.memory[1], &bytes, &seed});
        WANT(cu.StreamSynchronize(w.other[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
    }
}

const struct rule rules_errors[] = {
    {"error: before cuInit", not_initialised, ALONE, NULL},
    {"error: bad allocations", bad_memory, 0, NULL},
    {"error: bad registrations", bad_registration, 0, NULL},
    {"error: bad launches", bad_launches, 0, NULL},
    {"error: no such kernel", bad_names, 0, NULL},
    {"error: an image that is none can be loaded", bad_image, 0, NULL},
    {"error: no kernel comes of it", no_kernel_of_it, ALONE, NULL},
    {"error: no stream, no event", bad_handles, 0, NULL},
    {"error: bad copies and sets", bad_copies, 0, NULL},
    {"error: no such device or attribute", bad_devices, 0, NULL},
    {"error: no context", no_context, 0, NULL},
    {"sticks: an illegal address, in every later call of its context", illegal_address, ALONE,
     NULL},
    {"sticks: in the context of another GPU, too", other_context, ALONE | NEEDS_TWO, NULL},
    {"sticks: a context cannot be retained again", new_context, ALONE, NULL},
    {"sticks: a kernel in memory of another GPU without access", no_access, ALONE | NEEDS_TWO,
     NULL},
    {NULL, NULL, 0, NULL},
};
