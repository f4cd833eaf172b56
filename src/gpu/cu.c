/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/cu.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct cu_api cu;

static atomic_bool context_lost;

#define STRING_(x) #x
#define STRING(x)  STRING_(x) /* expands cuMemAlloc to "cuMemAlloc_v2", as cuda.h has it */

static const struct {
    const char *symbol; /* in the version that this cuda.h declares  */
    const char *plain;  /* as it was called at first                 */
    size_t offset;
    bool is_required;
} entries[] = {
#define R(f) {STRING(cu##f), "cu" #f, offsetof(struct cu_api, f), true},
#define O(f) {STRING(cu##f), "cu" #f, offsetof(struct cu_api, f), false},
    CU_API(R, O)
#undef R
#undef O
};

/*
 * Two have newer versions with the same parameters, which not every toolkit
 * declares and not every driver has: the newer is taken where there is one
 * (only that one gives a MIG instance its own UUID), else the other.
 */
static const char *const versions[][2] = {{"cuEventElapsedTime_v2", "cuEventElapsedTime"},
                                          {"cuDeviceGetUuid_v2", "cuDeviceGetUuid"}};

static void *find(void *lib, const char *symbol, const char *plain)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        if (strcmp(plain, versions[i][1]) == 0) {
            void *newer = dlsym(lib, versions[i][0]);

            return newer != NULL ? newer : dlsym(lib, plain);
        }
    }
    return dlsym(lib, symbol);
}

/* What the driver says of itself; -1 if it cannot even say that. */
static int version_of(void *lib)
{
    CUresult (*get)(int *) = NULL;
    void *symbol = dlsym(lib, "cuDriverGetVersion");
    int version = -1;

    memcpy(&get, &symbol, sizeof(get));
    return get != NULL && get(&version) == CUDA_SUCCESS ? version : -1;
}

static enum bw_status say_too_old(int version, const char *lacks)
{
    const int needed = CUDA_VERSION / 1000 * 1000 > BW_CU_DRIVER_MIN ? CUDA_VERSION / 1000 * 1000
                                                                     : BW_CU_DRIVER_MIN;

    bw_error("the NVIDIA driver is too old: it is for CUDA %d.%d%s%s, and this build needs one "
             "for CUDA %d.%d or newer",
             version / 1000, version % 1000 / 10, lacks != NULL ? " and has no " : "",
             lacks != NULL ? lacks : "", needed / 1000, needed % 1000 / 10);
    return BW_ERR_NO_GPU;
}

/* Fill `api` from its library. */
static enum bw_status fill(struct cu_api *api)
{
    const int version = version_of(api->lib);

    /* A stub library says nothing or 0; cuInit will tell what it is. */
    if (version > 0 && version < BW_CU_DRIVER_MIN) {
        return say_too_old(version, NULL);
    }
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        void *symbol = find(api->lib, entries[i].symbol, entries[i].plain);

        if (symbol == NULL && entries[i].is_required) {
            if (version > 0) {
                return say_too_old(version, entries[i].symbol);
            }
            bw_error("libcuda.so.1 is no usable NVIDIA driver: it has no %s", entries[i].symbol);
            return BW_ERR_NO_GPU;
        }
        memcpy((char *)api + entries[i].offset, &symbol, sizeof(symbol));
    }
    return BW_OK;
}

enum bw_status bw_cu_open(void)
{
    struct cu_api api = {0};
    enum bw_status st = BW_OK;

    if (cu.lib != NULL) {
        return BW_OK;
    }
    api.lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (api.lib == NULL) {
        bw_error("no NVIDIA driver: %s", dlerror());
        return BW_ERR_NO_GPU;
    }
    st = fill(&api);
    if (st != BW_OK) {
        dlclose(api.lib);
        return st;
    }
    cu = api;
    atomic_store(&context_lost, false);
    return BW_OK;
}

void bw_cu_close(void)
{
    /* No dlclose: the driver's own threads may still be running in it. */
    cu = (struct cu_api){0};
}

const char *bw_cu_error_name(CUresult res)
{
    static _Thread_local char number[32];
    const char *name = NULL;

    if (cu.GetErrorName != NULL && cu.GetErrorName(res, &name) == CUDA_SUCCESS && name != NULL) {
        return name;
    }
    snprintf(number, sizeof(number), "error %d", (int)res);
    return number;
}

/* All later calls fail, too, in every context of the process. */
static bool is_sticky(CUresult res)
{
    switch (res) {
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_EXTERNAL_DEVICE:
        return true;
    default:
        return false;
    }
}

bool bw_cu_context_lost(void)
{
    return atomic_load(&context_lost);
}

void bw_cu_give_up(void)
{
    atomic_store(&context_lost, true);
}

/* "[CUDA_ERROR_X] description in CALL (file:line, gpu N)": clients look for the bracket. */
static void tell(enum bw_log_level level, CUresult res, const char *what, const char *file,
                 int line)
{
    const char *base = strrchr(file, '/');
    const char *text = NULL;
    char where[24] = "";

    if (cu.GetErrorString == NULL || cu.GetErrorString(res, &text) != CUDA_SUCCESS) {
        text = NULL;
    }
    if (bw_gpu_current() >= 0) {
        snprintf(where, sizeof(where), ", gpu %d", bw_gpu_current());
    }
    bw_log(level, "[%s] %s in %s (%s:%d%s)", bw_cu_error_name(res),
           text != NULL ? text : "no description", what, base != NULL ? base + 1 : file, line,
           where);
}

enum bw_status bw_cu(CUresult res, const char *what, const char *file, int line)
{
    if (res == CUDA_SUCCESS) {
        return BW_OK;
    }
    if (is_sticky(res)) {
        /* Every later call gets the same answer: it is said once. */
        if (!atomic_exchange(&context_lost, true)) {
            tell(LOG_ERROR, res, what, file, line);
        }
        return BW_ERR_LOST;
    }
    tell(LOG_ERROR, res, what, file, line);
    return res == CUDA_ERROR_OUT_OF_MEMORY ? BW_ERR_MEMORY : BW_ERR_CUDA;
}

void bw_cu_warn(CUresult res, const char *what, const char *file, int line)
{
    if (res == CUDA_SUCCESS || bw_cu_context_lost()) {
        return;
    }
    /* A lost GPU is an error, whichever call finds it */
    tell(is_sticky(res) ? LOG_ERROR : LOG_WARNING, res, what, file, line);
    if (is_sticky(res)) {
        atomic_store(&context_lost, true);
    }
}
