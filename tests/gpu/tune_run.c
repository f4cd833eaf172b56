/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

#include "bwtool/log.h"
#include "params.h"

#include <stdint.h>
#include <string.h>

extern const unsigned char tune_image[];

enum { TARGET_MS = 8 };

enum bw_status tune_open(struct tuner *tuner, size_t bytes)
{
    enum bw_status st = BW_OK;
    const struct bw_gpu *gpu = NULL;

    tuner->bytes = bytes;
    TRY(bw_gpus_open(&tuner->gpus));
    TRY(bw_gpus_open_contexts(&tuner->gpus));
    gpu = &tuner->gpus.gpus[0];
    TRY(bw_buffer_open_device(&tuner->own[0], gpu, bytes));
    TRY(bw_buffer_open_device(&tuner->own[1], gpu, bytes));
    if (tuner->gpus.count > 1 && tuner->gpus.peer[1]) {
        TRY(bw_buffer_open_device(&tuner->peer, &tuner->gpus.gpus[1], bytes));
    }
    TRY(bw_gpu_use(gpu));
    TRY(bw_buffer_open_host(&tuner->host, gpu, bytes, 4));
    TRY(bw_buffer_open_host(&tuner->result, gpu, 4096, 1));
    TRY(CU(cu.StreamCreate(&tuner->stream, CU_STREAM_NON_BLOCKING)));
    TRY(CU(cu.EventCreate(&tuner->begin, CU_EVENT_DEFAULT)));
    TRY(CU(cu.EventCreate(&tuner->end, CU_EVENT_DEFAULT)));
    TRY(CU(cu.LibraryLoadData(&tuner->library, tune_image, NULL, NULL, 0, NULL, NULL, 0)));
    TRY(tune_list(tuner));
out:
    return st;
}

void tune_close(struct tuner *tuner)
{
    struct bw_buffer *buffers[] = {&tuner->own[0], &tuner->own[1], &tuner->peer, &tuner->host,
                                   &tuner->result};

    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
        bw_buffer_close(buffers[i], &tuner->gpus);
    }
    if (tuner->begin != NULL) {
        CU_WARN(cu.EventDestroy(tuner->begin));
    }
    if (tuner->end != NULL) {
        CU_WARN(cu.EventDestroy(tuner->end));
    }
    if (tuner->stream != NULL) {
        CU_WARN(cu.StreamDestroy(tuner->stream));
    }
    if (tuner->library != NULL) {
        CU_WARN(cu.LibraryUnload(tuner->library));
    }
    bw_gpus_close(&tuner->gpus);
}

size_t tune_paths(const struct tuner *tuner, struct path *paths)
{
    const CUdeviceptr own = tuner->own[0].ptr, peer = tuner->peer.ptr;
    size_t n = 0;

    paths[n++] = (struct path){"local", tuner->own[1].ptr, own};
    if (peer != 0) {
        paths[n++] = (struct path){"write to the peer", peer, own};
        paths[n++] = (struct path){"read from the peer", own, peer};
    }
    paths[n++] = (struct path){"host to device", own, tuner->host.ptr};
    paths[n++] = (struct path){"device to host", tuner->host.ptr, own};
    return n;
}

/* False if the GPU has no room for such a launch. */
static enum bw_status copy(struct tuner *tuner, const struct path *path, const struct variant *v,
                           uint64_t passes, bool *fits)
{
    CUdeviceptr dst = path->dst, src = path->src;
    uint64_t bytes = tuner->bytes;
    void *args[] = {&dst, &src, &bytes, &passes};
    CUresult res = CUDA_SUCCESS;

    *fits = true;
    if (v->is_engine) {
        for (uint64_t i = 0; i < passes && res == CUDA_SUCCESS; i++) {
            res = cu.MemcpyAsync(dst, src, bytes, tuner->stream);
        }
    } else {
        const uint64_t grid = v->has_blocks_a_pass ? v->grid * passes : v->grid;

        if (grid > INT32_MAX) {
            *fits = false;
            return BW_OK;
        }
        res = cu.LaunchKernel(v->function, (unsigned)grid, 1, 1, v->block, 1, 1, v->shared_bytes,
                              tuner->stream, args, NULL);
    }
    if (res == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES || res == CUDA_ERROR_INVALID_VALUE) {
        *fits = false;
        return BW_OK;
    }
    return bw_cu(res, v->name, __FILE__, __LINE__);
}

static enum bw_status time_passes(struct tuner *tuner, const struct path *path,
                                  const struct variant *v, uint64_t passes, float *ms, bool *fits)
{
    enum bw_status st = BW_OK;

    TRY(CU(cu.EventRecord(tuner->begin, tuner->stream)));
    TRY(copy(tuner, path, v, passes, fits));
    TRY(CU(cu.EventRecord(tuner->end, tuner->stream)));
    TRY(CU(cu.StreamSynchronize(tuner->stream)));
    TRY(CU(cu.EventElapsedTime(ms, tuner->begin, tuner->end)));
out:
    return st;
}

enum bw_status tune_measure(struct tuner *tuner, const struct path *path, const struct variant *v,
                            double *gb_per_s)
{
    enum bw_status st = BW_OK;
    uint64_t passes = 1;
    float ms = 0;
    bool fits = false;

    TRY(time_passes(tuner, path, v, passes, &ms, &fits));
    passes = fits && ms > 0 && ms < TARGET_MS ? (uint64_t)(TARGET_MS / ms) + 1 : 1;
    if (fits) {
        TRY(time_passes(tuner, path, v, passes, &ms, &fits));
    }
    *gb_per_s = fits && ms > 0 ? (double)tuner->bytes * (double)passes / ((double)ms * 1e6) : 0;
out:
    return st;
}

enum bw_status tune_verify(struct tuner *tuner, const struct path *path, const struct variant *v)
{
    const struct bw_gpu *gpu = &tuner->gpus.gpus[0];
    struct bw_check_result *result = (void *)(uintptr_t)tuner->result.ptr;
    CUdeviceptr src = path->src, dst = path->dst;
    uint64_t bytes = tuner->bytes;
    uint32_t seed = ++tuner->verified;
    void *fill[] = {&src, &bytes, &seed}, *poison[] = {&dst, &bytes, &seed};
    void *check[] = {&dst, &bytes, &seed, &tuner->result.ptr};
    enum bw_status st = BW_OK;
    unsigned grid = 0, block = 0;
    bool fits = false;

    *result = (struct bw_check_result){.first = ~(uint64_t)0};
    bw_kernel_geometry(gpu, KERNEL_fill, bytes, &grid, &block);
    TRY(bw_kernel_launch(gpu, KERNEL_fill, grid, block, tuner->stream, fill));
    TRY(bw_kernel_launch(gpu, KERNEL_poison, grid, block, tuner->stream, poison));
    TRY(copy(tuner, path, v, 2, &fits));
    TRY(bw_kernel_launch(gpu, KERNEL_check, grid, block, tuner->stream, check));
    TRY(CU(cu.StreamSynchronize(tuner->stream)));
    if (fits && result->count != 0) {
        tuner->wrong++;
        bw_error("%s, %s: %llu bytes are wrong, the first at %llu", v->name, path->name,
                 (unsigned long long)result->count, (unsigned long long)result->first);
    }
out:
    return st;
}
