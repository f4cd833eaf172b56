/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rules.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct rules_api cu;

enum { REPORT = 16, RESULT = KIB / 4 }; /* words of the page */

bool rules_load(void)
{
#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x) /* cuda.h turns cuMemAlloc into cuMemAlloc_v2 */
    static const char *const names[] = {
#define NAME(f) TEXT(cu##f),
        RULES_API(NAME)
#undef NAME
    };
    void *const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        void *found = library == NULL ? NULL : dlsym(library, names[i]);

        if (found == NULL) {
            fprintf(stderr, "no driver, or too old a one: %s\n", dlerror());
            return false;
        }
        memcpy((char *)&cu + i * sizeof(found), &found, sizeof(found));
    }
    return true;
}

const char *rules_error(CUresult res)
{
    const char *name = NULL;

    return cu.GetErrorName(res, &name) == CUDA_SUCCESS && name != NULL ? name : "an unknown error";
}

bool rules_must(struct answer *a, bool holds, const char *form, ...)
{
    va_list args;

    if (!holds && a->verdict != RULE_DIFFERS) {
        a->verdict = RULE_DIFFERS;
        va_start(args, form);
        vsnprintf(a->note, sizeof(a->note), form, args);
        va_end(args);
    }
    return holds;
}

bool rules_want(struct answer *a, const char *what, CUresult got, CUresult wanted)
{
    return rules_must(a, got == wanted, "%.60s: %s, not %s", what, rules_error(got),
                      rules_error(wanted));
}

void rules_skip(struct answer *a, const char *why)
{
    if (a->verdict == RULE_OK) {
        a->verdict = RULE_SKIPPED;
        snprintf(a->note, sizeof(a->note), "%s", why);
    }
}

double rules_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void rules_sleep_ms(unsigned ms)
{
    const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

    nanosleep(&t, NULL);
}

static bool good(CUresult res, const char *what)
{
    if (res != CUDA_SUCCESS) {
        fprintf(stderr, "%s: %s\n", what, rules_error(res));
    }
    return res == CUDA_SUCCESS;
}
#define DO(call) good(call, #call)

static bool get_functions(struct world *w, int gpu)
{
    static const char *const names[KERNELS] = {"bw_gate_hold", "bw_fill",       "bw_poison",
                                               "bw_check",     "bw_copy_sweep", "bw_corrupt"};

    for (int i = 0; i < KERNELS; i++) {
        CUkernel kernel;

        if (!DO(cu.LibraryGetKernel(&kernel, w->library, names[i]))) {
            return false;
        }
        if (i == CORRUPT) { /* stays to be loaded by its first launch: see rules_held */
            w->f[gpu][i] = (CUfunction)kernel;
        } else if (!DO(cu.KernelGetFunction(&w->f[gpu][i], kernel))) {
            return false;
        }
    }
    return true;
}

static bool open_gpu(struct world *w, int gpu)
{
    return DO(cu.DeviceGet(&w->dev[gpu], gpu)) &&
           DO(cu.DevicePrimaryCtxRetain(&w->ctx[gpu], w->dev[gpu])) &&
           DO(cu.CtxSetCurrent(w->ctx[gpu])) &&
           DO(cu.StreamCreate(&w->stream[gpu], CU_STREAM_NON_BLOCKING)) &&
           DO(cu.StreamCreate(&w->other[gpu], CU_STREAM_NON_BLOCKING)) &&
           DO(cu.MemAlloc(&w->memory[gpu], 4 * MIB)) && get_functions(w, gpu);
}

bool rules_open(struct world *w)
{
    int can[2] = {0, 0};
    bool ok = DO(cu.Init(0)) && DO(cu.DeviceGetCount(&w->gpus)) &&
              DO(cu.LibraryLoadData(&w->library, bw_kernels_image, NULL, NULL, 0, NULL, NULL, 0));

    w->gpus = w->gpus < GPUS ? w->gpus : GPUS;
    for (int i = 0; i < w->gpus && ok; i++) {
        ok = open_gpu(w, i);
    }
    if (ok && w->gpus == 2) {
        ok = DO(cu.DeviceCanAccessPeer(&can[0], w->dev[0], w->dev[1])) &&
             DO(cu.DeviceCanAccessPeer(&can[1], w->dev[1], w->dev[0]));
        w->peers = can[0] && can[1];
    }
    ok = ok && rules_use(w, 0) &&
         DO(cu.MemHostAlloc((void **)&w->page, 64 * KIB, CU_MEMHOSTALLOC_PORTABLE));
    if (ok) {
        memset(w->page, 0, 64 * KIB);
    }
    return ok;
}

void rules_close(struct world *w)
{
    if (w->page != NULL && rules_use(w, 0)) {
        cu.MemFreeHost(w->page);
    }
    for (int i = 0; i < w->gpus && w->ctx[i] != NULL; i++) {
        rules_use(w, i);
        cu.StreamDestroy(w->stream[i]);
        cu.StreamDestroy(w->other[i]);
        cu.MemFree(w->memory[i]);
        cu.DevicePrimaryCtxRelease(w->dev[i]);
    }
    if (w->library != NULL) {
        cu.LibraryUnload(w->library);
    }
}

bool rules_use(struct world *w, int gpu)
{
    return DO(cu.CtxSetCurrent(w->ctx[gpu]));
}

bool rules_launch(struct world *w, int gpu, enum kernel kernel, unsigned grid, unsigned block,
                  CUstream stream, void **args)
{
    return DO(cu.LaunchKernel(w->f[gpu][kernel], grid, 1, 1, block, 1, 1, 0, stream, args, NULL));
}

bool rules_hold(struct world *w, int gpu, CUstream stream, unsigned timeout_ms)
{
    const uint32_t *flag = w->page;
    uint32_t *report = w->page + REPORT;
    uint64_t timeout_ns = (uint64_t)timeout_ms * 1000000;

    *(volatile uint32_t *)report = 0;
    w->epoch++;
    return rules_launch(w, gpu, HOLD, 1, 1, stream,
                        (void *[]){&flag, &w->epoch, &timeout_ns, &report});
}

void rules_let_go(struct world *w)
{
    __atomic_store_n(w->page, w->epoch, __ATOMIC_RELEASE);
}

uint32_t rules_hold_state(const struct world *w)
{
    return __atomic_load_n(w->page + REPORT, __ATOMIC_ACQUIRE);
}

bool rules_fill(struct world *w, int gpu, CUdeviceptr at, uint64_t bytes, uint32_t seed)
{
    return rules_launch(w, gpu, FILL, 8, 128, w->other[gpu], (void *[]){&at, &bytes, &seed}) &&
           DO(cu.StreamSynchronize(w->other[gpu]));
}

uint64_t rules_wrong(struct world *w, int gpu, CUdeviceptr at, uint64_t bytes, uint32_t seed,
                     uint64_t *first)
{
    /* struct bw_check_result: count, first, then words that start as 0 */
    volatile uint64_t *result = (volatile uint64_t *)(void *)(w->page + RESULT);
    CUdeviceptr on_gpu = (CUdeviceptr)(uintptr_t)result;

    result[0] = result[2] = result[3] = result[4] = 0;
    result[1] = ~0ull;
    if (!rules_launch(w, gpu, CHECK, 8, 128, w->other[gpu],
                      (void *[]){&at, &bytes, &seed, &on_gpu}) ||
        !DO(cu.StreamSynchronize(w->other[gpu]))) {
        return ~0ull;
    }
    *first = result[1];
    return result[0];
}
