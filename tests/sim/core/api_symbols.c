/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Finding entry points, and the names that programs built long ago ask for. */

/* What came with a later driver than the oldest one that anybody declares. */
static const struct {
    const char *prefix;
    int since;
} young[] = {
    {"cuMulticast", 12010},      {"cuLibrary", 12000},      {"cuKernel", 12000},
    {"cuFuncLoad", 12040},       {"cuFuncIsLoaded", 12040}, {"cuLaunchKernelEx", 11060},
    {"cuGetProcAddress", 11030}, {"cuMemCreate", 10020},
};

/*
 * The newest form of an entry point, as real drivers give it; those younger
 * than the declared driver are not there. (dlsym() finds them all the same:
 * that is what the second library is for, see exports_old.map.)
 */
static CUresult find_entry(const char *symbol, void **func, int version)
{
    static const char *const suffixes[] = {"_v4", "_v3", "_v2", ""};
    const int newest = version < sim.machine.driver ? version : (int)sim.machine.driver;
    char name[96];
    Dl_info self;
    void *library;

    *func = NULL;
    if (dladdr((void *)(uintptr_t)&sim_enter, &self) == 0 ||
        (library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) == NULL) {
        return CUDA_ERROR_UNKNOWN;
    }
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(*suffixes) && *func == NULL; i++) {
        snprintf(name, sizeof(name), "%s%s", symbol, suffixes[i]);
        *func = dlsym(library, name);
    }
    dlclose(library);
    for (size_t i = 0; i < sizeof(young) / sizeof(*young); i++) {
        if (strncmp(symbol, young[i].prefix, strlen(young[i].prefix)) == 0 &&
            newest < young[i].since) {
            *func = NULL;
        }
    }
    return *func != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **func, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *result)
{
    ENTER(cuGetProcAddress, NEED_NOTHING)
    const CUresult res = find_entry(symbol, func, version);

    (void)flags;
    if (result != NULL) {
        *result =
            *func != NULL ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    }
    return res;
}

#undef cuGetProcAddress
SIM_EXPORT CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **func, int version,
                                             cuuint64_t flags);
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **func, int version, cuuint64_t flags)
{
    ENTER(cuGetProcAddress, NEED_NOTHING)
    (void)flags;
    return find_entry(symbol, func, version);
}

#undef cuEventElapsedTime
SIM_EXPORT CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent begin, CUevent end);
CUresult CUDAAPI cuEventElapsedTime(float *ms, CUevent begin, CUevent end)
{
    return cuEventElapsedTime_v2(ms, begin, end);
}
