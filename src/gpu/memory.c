/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/memory.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "host_map.h"

#include <string.h>

static double ms_since(uint64_t start_ns)
{
    return (double)(bw_clock_ns() - start_ns) / 1e6;
}

/* Out of memory is said with the amounts, anything else as it is. */
static enum bw_status device_refused(CUresult res, const struct bw_gpu *gpu, size_t bytes)
{
    size_t free_bytes = 0, total = 0;

    if (res != CUDA_ERROR_OUT_OF_MEMORY || cu.MemGetInfo(&free_bytes, &total) != CUDA_SUCCESS) {
        return bw_cu(res, "cuMemAlloc", __FILE__, __LINE__);
    }
    bw_error("[%s] gpu %d: %zu bytes of its memory asked for, %zu of %zu are free",
             bw_cu_error_name(res), gpu->ordinal, bytes, free_bytes, total);
    return BW_ERR_MEMORY;
}

enum bw_status bw_buffer_open_device(struct bw_buffer *buffer, const struct bw_gpu *gpu,
                                     size_t bytes)
{
    const uint64_t start = bw_clock_ns();
    enum bw_status st = BW_OK;
    CUresult res = CUDA_SUCCESS;
    CUdeviceptr ptr = 0;

    memset(buffer, 0, sizeof(*buffer));
    buffer->gpu = gpu->ordinal;
    TRY(bw_gpu_use(gpu));
    res = cu.MemAlloc(&ptr, bytes);
    if (res != CUDA_SUCCESS) {
        return device_refused(res, gpu, bytes);
    }
    buffer->ptr = ptr;
    buffer->bytes = bytes;
    buffer->open_ms = ms_since(start);
out:
    return st;
}

enum bw_status bw_buffer_open_created(struct bw_buffer *buffer, const struct bw_gpus *gpus, int gpu,
                                      size_t bytes)
{
    const uint64_t start = bw_clock_ns();
    enum bw_status st = BW_OK;
    size_t unit = 0;

    memset(buffer, 0, sizeof(*buffer));
    buffer->gpu = gpu;
    if (!bw_share_is_there()) {
        bw_error("the driver has no cuMemCreate, which --created-memory needs (CUDA 12)");
        return BW_ERR_CUDA;
    }
    TRY(bw_share_granularity(&gpus->gpus[gpu], SHARE_FD, &unit));
    st = bw_share_create(&buffer->share, &gpus->gpus[gpu], SHARE_FD,
                         (bytes + unit - 1) / unit * unit);
    for (int i = 0; i < gpus->count && st == BW_OK; i++) {
        if (i != gpu && gpus->peer[i * gpus->count + gpu]) {
            st = bw_share_allow(&buffer->share, &gpus->gpus[i]);
        }
    }
    if (st != BW_OK) {
        bw_share_close(&buffer->share);
        return st;
    }
    buffer->ptr = buffer->share.ptr;
    buffer->bytes = buffer->share.bytes;
    buffer->open_ms = ms_since(start);
out:
    return st;
}

/*
 * Page-lock what is mapped already. False, and nothing logged, if the driver
 * cannot do that here (some virtual machines, some file systems), or would
 * give it another address.
 */
static bool pin(struct bw_buffer *buffer, void *data, size_t bytes)
{
    CUdeviceptr ptr = 0;

    if (cu.MemHostRegister(data, bytes,
                           CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) !=
        CUDA_SUCCESS) {
        return false;
    }
    if (cu.MemHostGetDevicePointer(&ptr, data, 0) != CUDA_SUCCESS ||
        ptr != (CUdeviceptr)(uintptr_t)data) {
        CU_WARN(cu.MemHostUnregister(data));
        return false;
    }
    buffer->ptr = ptr;
    buffer->is_registered = true;
    return true;
}

/* The driver's own page-locked memory: slower to get, but always to be had. */
static enum bw_status open_by_driver(struct bw_buffer *buffer, size_t bytes)
{
    enum bw_status st = BW_OK;
    void *data = NULL;

    TRY(CU(cu.MemHostAlloc(&data, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)));
    buffer->ptr = (CUdeviceptr)(uintptr_t)data;
out:
    return st;
}

enum bw_status bw_buffer_open_host(struct bw_buffer *buffer, const struct bw_gpu *near,
                                   size_t bytes, unsigned threads)
{
    const uint64_t start = bw_clock_ns();
    enum bw_status st = BW_OK;
    struct bw_host_map map = {0};

    memset(buffer, 0, sizeof(*buffer));
    buffer->gpu = near->ordinal;
    buffer->is_host = true;
    TRY(bw_host_map_open(&map, bytes, threads));
    if (pin(buffer, map.data, bytes)) {
        buffer->is_huge = map.is_huge;
        buffer->map = map.map;
        buffer->map_bytes = map.map_bytes;
        memset(&map, 0, sizeof(map));
    } else {
        bw_host_map_close(&map);
        TRY(open_by_driver(buffer, bytes));
    }
    buffer->bytes = bytes;
    buffer->open_ms = ms_since(start);
out:
    bw_host_map_close(&map);
    return st;
}

static void close_host(struct bw_buffer *buffer)
{
    void *data = (void *)(uintptr_t)buffer->ptr;

    if (buffer->is_registered) {
        CU_WARN(cu.MemHostUnregister(data));
    } else if (data != NULL) {
        CU_WARN(cu.MemFreeHost(data));
    }
    if (buffer->map != NULL) {
        struct bw_host_map map = {.map = buffer->map, .map_bytes = buffer->map_bytes};

        bw_host_map_close(&map);
    }
}

void bw_buffer_close(struct bw_buffer *buffer, const struct bw_gpus *gpus)
{
    /* Of a lost context nothing can be freed; a stream that hung may still use it. */
    if (buffer->ptr != 0 && gpus->gpus != NULL && !bw_cu_context_lost()) {
        CU_WARN(cu.CtxSetCurrent(gpus->gpus[buffer->gpu].ctx));
        if (buffer->is_host) {
            close_host(buffer);
        } else if (buffer->share.has_handle) {
            bw_share_close(&buffer->share);
        } else {
            CU_WARN(cu.MemFree(buffer->ptr));
        }
    }
    memset(buffer, 0, sizeof(*buffer));
}
