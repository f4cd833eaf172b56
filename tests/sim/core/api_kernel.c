/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

/* Kernels: how they are found, and their launch. */

/*
 * Images are not looked into, beyond their first word: the kernels are those
 * of table.cc, found by name. Libraries and modules are therefore all alike,
 * and a kernel is the same thing as its function in any context.
 */
static const char library, empty; /* `empty`: of an image that is none */

static CUresult check_image(const void *image)
{
    static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba};

    return image != NULL && (memcmp(image, fatbin, 4) == 0 || memcmp(image, "\177ELF", 4) == 0 ||
                             memcmp(image, "//", 2) == 0)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_IMAGE;
}

static const struct sim_kernel *kernel_find(const char *name)
{
    for (const struct sim_kernel *k = sim_kernels; k->name != NULL; k++) {
        if (strcmp(k->name, name) == 0) {
            return k;
        }
    }
    return NULL;
}

/* NULL if the handle is none. */
static const struct sim_kernel *kernel_check(CUfunction handle)
{
    const struct sim_kernel *kernel = sim_kernels;

    while (kernel->name != NULL && (uintptr_t)kernel != (uintptr_t)handle) {
        kernel++;
    }
    return kernel->name == NULL ? NULL : kernel;
}

CUresult CUDAAPI cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit,
                                   void **jit_values, unsigned jit_count, CUlibraryOption *options,
                                   void **values, unsigned count)
{
    ENTER(cuLibraryLoadData, NEED_INIT)
    (void)jit, (void)jit_values, (void)jit_count, (void)options, (void)values, (void)count;
    /* Loading is lazy: what is wrong with the image shows when a kernel is wanted */
    *out = (CUlibrary)(uintptr_t)(check_image(code) == CUDA_SUCCESS ? &library : &empty);
    return code == NULL ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryUnload(CUlibrary handle)
{
    ENTER(cuLibraryUnload, NEED_INIT)
    return (uintptr_t)handle == (uintptr_t)&library || (uintptr_t)handle == (uintptr_t)&empty
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuLibraryGetKernel(CUkernel *kernel, CUlibrary handle, const char *name)
{
    ENTER(cuLibraryGetKernel, NEED_INIT)
    *kernel = (CUkernel)(uintptr_t)kernel_find(name);
    return (uintptr_t)handle == (uintptr_t)&empty     ? CUDA_ERROR_INVALID_IMAGE
           : (uintptr_t)handle != (uintptr_t)&library ? CUDA_ERROR_INVALID_HANDLE
           : *kernel == NULL                          ? CUDA_ERROR_NOT_FOUND
                                                      : CUDA_SUCCESS;
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    ENTER(cuKernelGetFunction, NEED_CTX)
    const struct sim_kernel *found = kernel_check((CUfunction)(uintptr_t)kernel);

    *function = (CUfunction)(uintptr_t)found;
    if (found == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    sim_ctx_current()->resident[found - sim_kernels] = true;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLibraryGetKernelCount(unsigned *count, CUlibrary handle)
{
    ENTER(cuLibraryGetKernelCount, NEED_INIT)
    for (*count = 0; sim_kernels[*count].name != NULL; ++*count) {
    }
    return (uintptr_t)handle == (uintptr_t)&empty     ? CUDA_ERROR_INVALID_IMAGE
           : (uintptr_t)handle == (uintptr_t)&library ? CUDA_SUCCESS
                                                      : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
    ENTER(cuFuncIsLoaded, NEED_CTX)
    const struct sim_kernel *kernel = kernel_check(function);

    if (kernel == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    *state = sim_ctx_current()->resident[kernel - sim_kernels] ? CU_FUNCTION_LOADING_STATE_LOADED
                                                               : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncLoad(CUfunction function)
{
    ENTER(cuFuncLoad, NEED_CTX)
    const struct sim_kernel *kernel = kernel_check(function);

    if (kernel == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    sim_ctx_current()->resident[kernel - sim_kernels] = true;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
    ENTER(cuFuncGetAttribute, NEED_CTX)
    if (kernel_check(function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = 1024;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = 32;
        return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = 227 << 10;
        return CUDA_SUCCESS;
    default:
        *value = 0;
        return attribute >= 0 && attribute < CU_FUNC_ATTRIBUTE_MAX ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value)
{
    ENTER(cuFuncSetAttribute, NEED_CTX)
    if (kernel_check(function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    return attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES &&
                   (value < 0 || value > SIM_DYNAMIC_SHARED_MAX)
               ? CUDA_ERROR_INVALID_VALUE
               : CUDA_SUCCESS;
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function,
                                                             int block, size_t shared_bytes)
{
    ENTER(cuOccupancyMaxActiveBlocksPerMultiprocessor, NEED_CTX)
    if (kernel_check(function) == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (block <= 0 || block > 1024 || shared_bytes > SIM_DYNAMIC_SHARED_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    *blocks = 2048 / ((block + 31) / 32 * 32);
    if (shared_bytes > 0 && *blocks > (int)((size_t)(228 << 10) / (shared_bytes + 1024))) {
        *blocks = (int)((size_t)(228 << 10) / (shared_bytes + 1024));
    }
    *blocks = *blocks > 32 ? 32 : *blocks;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image)
{
    ENTER(cuModuleLoadData, NEED_CTX)
    *module = (CUmodule)(uintptr_t)&library;
    return check_image(image);
}

CUresult CUDAAPI cuModuleUnload(CUmodule module)
{
    ENTER(cuModuleUnload, NEED_CTX)
    return (uintptr_t)module == (uintptr_t)&library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult CUDAAPI cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    ENTER(cuModuleGetFunction, NEED_CTX)
    const struct sim_kernel *kernel = kernel_find(name);

    if (kernel != NULL) {
        sim_ctx_current()->resident[kernel - sim_kernels] = true;
    }
    *function = (CUfunction)(uintptr_t)kernel;
    return (uintptr_t)module != (uintptr_t)&library ? CUDA_ERROR_INVALID_HANDLE
           : *function == NULL                      ? CUDA_ERROR_NOT_FOUND
                                                    : CUDA_SUCCESS;
}

/* The first launch in a context loads the kernel, which waits for what is under way there. */
static CUresult make_resident(struct sim_ctx *ctx, const struct sim_kernel *kernel)
{
    bool *resident = &ctx->resident[kernel - sim_kernels];
    const CUresult res = *resident ? CUDA_SUCCESS : sim_wait(sim_ctx_idle, ctx);

    *resident |= res == CUDA_SUCCESS;
    return res;
}

static CUresult launch(CUfunction function, struct sim_dim grid, struct sim_dim block,
                       unsigned shared_bytes, CUstream handle, void **params)
{
    struct sim_stream *stream = sim_stream_find(handle);
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;
    const struct sim_kernel *kernel = kernel_check(function);
    struct sim_op *op;
    CUresult res;

    if (stream == NULL || kernel == NULL) {
        return CUDA_ERROR_INVALID_HANDLE;
    }
    if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > INT32_MAX || grid.y > 65535 ||
        grid.z > 65535 || threads == 0 || threads > 1024 || params == NULL ||
        shared_bytes > SIM_DYNAMIC_SHARED_MAX) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    res = make_resident(stream->ctx, kernel);
    if (res != CUDA_SUCCESS) {
        return res;
    }
    op = sim_op_build(OP_KERNEL, stream);
    if (op == NULL || (op->args = kernel->pack(params)) == NULL) {
        free(op);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    op->kernel = kernel;
    op->grid = grid;
    op->block = block;
    kernel->cost(op->args, &op->work);
    return sim_op_push(op);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                unsigned grid_z, unsigned block_x, unsigned block_y,
                                unsigned block_z, unsigned shared_bytes, CUstream stream,
                                void **params, void **extra)
{
    ENTER(cuLaunchKernel, NEED_CTX)
    return extra != NULL
               ? CUDA_ERROR_INVALID_VALUE
               : launch(function, (struct sim_dim){grid_x, grid_y, grid_z},
                        (struct sim_dim){block_x, block_y, block_z}, shared_bytes, stream, params);
}

/* Launch attributes change when and where a kernel runs, not what it does: they are let pass. */
CUresult CUDAAPI cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
                                  void **extra)
{
    ENTER(cuLaunchKernelEx, NEED_CTX)
    return config == NULL || extra != NULL
               ? CUDA_ERROR_INVALID_VALUE
               : launch(function,
                        (struct sim_dim){config->gridDimX, config->gridDimY, config->gridDimZ},
                        (struct sim_dim){config->blockDimX, config->blockDimY, config->blockDimZ},
                        config->sharedMemBytes, config->hStream, params);
}
