/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/gpu.h"

#include "bwtool/log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local int current = -1;

int bw_gpu_current(void)
{
    return current;
}

enum bw_status bw_gpu_use(const struct bw_gpu *gpu)
{
    current = gpu->ordinal;
    return CU(cu.CtxSetCurrent(gpu->ctx));
}

/* What one thread does for one GPU. */
struct job {
    pthread_t thread;
    bool is_running;
    enum bw_status (*work)(struct bw_gpus *gpus, struct bw_gpu *gpu);
    struct bw_gpus *gpus;
    struct bw_gpu *gpu;
    enum bw_status st;
};

static void *run(void *argument)
{
    struct job *job = argument;

    job->st = job->work(job->gpus, job->gpu);
    return NULL;
}

/* Do `work` for all GPUs at once, a thread each; where there is no thread, here. The worst status.
 */
static enum bw_status for_all(struct bw_gpus *gpus,
                              enum bw_status (*work)(struct bw_gpus *, struct bw_gpu *))
{
    const size_t count = (size_t)gpus->count;
    struct job *jobs = calloc(count, sizeof(*jobs));
    enum bw_status worst = BW_OK;

    if (jobs == NULL) {
        return bw_errno("making contexts on %zu GPUs", count);
    }
    for (size_t i = 0; i < count; i++) {
        jobs[i].work = work;
        jobs[i].gpus = gpus;
        jobs[i].gpu = &gpus->gpus[i];
        jobs[i].is_running = i + 1 < count && !gpus->gpus[i].is_left_out &&
                             pthread_create(&jobs[i].thread, NULL, run, &jobs[i]) == 0;
    }
    for (size_t i = 0; i < count; i++) {
        if (!jobs[i].is_running && !gpus->gpus[i].is_left_out) {
            run(&jobs[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].is_running) {
            pthread_join(jobs[i].thread, NULL);
        }
        worst = jobs[i].st > worst ? jobs[i].st : worst;
    }
    free(jobs);
    return worst;
}

/*
 * A handle is not enough: the code of each kernel has to be on the GPU before
 * the first gate, because a launch that loads it waits for the held stream.
 */
static enum bw_status make_resident(const struct bw_gpus *gpus, struct bw_gpu *gpu)
{
    enum bw_status st = BW_OK;

    for (int i = 0; i < BW_KERNEL_COUNT; i++) {
        CUkernel kernel = NULL;
        int registers = 0;

        TRY(CU(cu.LibraryGetKernel(&kernel, gpus->library, bw_kernel_name((enum bw_kernel)i))));
        TRY(CU(cu.KernelGetFunction(&gpu->functions[i], kernel)));
        if (cu.FuncLoad != NULL) {
            TRY(CU(cu.FuncLoad(gpu->functions[i])));
        } else {
            TRY(CU(cu.FuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, gpu->functions[i])));
        }
    }
out:
    return st;
}

static enum bw_status open_context(struct bw_gpus *gpus, struct bw_gpu *gpu)
{
    enum bw_status st = BW_OK;

    current = gpu->ordinal;
    TRY(CU(cu.DevicePrimaryCtxRetain(&gpu->ctx, gpu->dev)));
    TRY(bw_gpu_use(gpu));
    TRY(make_resident(gpus, gpu));
out:
    return st;
}

/* The GPU's own row of gpus->peer: threads do not meet there. */
static enum bw_status enable_peers(struct bw_gpus *gpus, struct bw_gpu *gpu)
{
    const size_t row = (size_t)gpu->ordinal * (size_t)gpus->count;
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(gpu));
    for (int i = 0; i < gpus->count; i++) {
        CUresult res = CUDA_SUCCESS;

        if (i == gpu->ordinal || gpus->gpus[i].is_left_out || !gpus->peer[row + (size_t)i]) {
            continue;
        }
        res = cu.CtxEnablePeerAccess(gpus->gpus[i].ctx, 0);
        if (res == CUDA_SUCCESS || res == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED) {
            continue;
        }
        if (res == CUDA_ERROR_TOO_MANY_PEERS || res == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED) {
            bw_warn("gpu %d gets no access to the memory of gpu %d: [%s]", gpu->ordinal, i,
                    bw_cu_error_name(res));
            gpus->peer[row + (size_t)i] = false;
            gpus->peer_native_atomics[row + (size_t)i] = false;
            continue;
        }
        TRY(bw_cu(res, "cuCtxEnablePeerAccess", __FILE__, __LINE__));
    }
out:
    return st;
}

static enum bw_status load_library(struct bw_gpus *gpus)
{
    const CUresult res =
        cu.LibraryLoadData(&gpus->library, bw_kernels_image, NULL, NULL, 0, NULL, NULL, 0);

    if (res != CUDA_SUCCESS && gpus->driver_version < CUDA_VERSION) {
        bw_note("the kernels were built by CUDA %d.%d, the driver is for CUDA %d.%d: a newer "
                "driver, or a build with an older toolkit, may help",
                CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10, gpus->driver_version / 1000,
                gpus->driver_version % 1000 / 10);
    }
    return bw_cu(res, "cuLibraryLoadData(kernels)", __FILE__, __LINE__);
}

enum bw_status bw_gpus_open_contexts(struct bw_gpus *gpus)
{
    enum bw_status st = BW_OK;

    TRY(load_library(gpus));
    TRY(for_all(gpus, open_context));
    TRY(for_all(gpus, enable_peers));
    for (int i = gpus->count - 1; i >= 0; i--) {
        TRY(gpus->gpus[i].is_left_out ? BW_OK : bw_gpu_use(&gpus->gpus[i]));
    }
out:
    return st;
}

void bw_gpus_close(struct bw_gpus *gpus)
{
    /* With a lost context these fail, or wait for ever for a stream that hung. */
    const int count = gpus->gpus != NULL && !bw_cu_context_lost() ? gpus->count : 0;

    if (count > 0 && gpus->library != NULL) {
        CU_WARN(cu.LibraryUnload(gpus->library));
    }
    for (int i = 0; i < count; i++) {
        if (gpus->gpus[i].ctx != NULL) {
            current = i;
            CU_WARN(cu.CtxSetCurrent(NULL));
            CU_WARN(cu.DevicePrimaryCtxRelease(gpus->gpus[i].dev));
        }
    }
    current = -1;
    free(gpus->gpus);
    free(gpus->peer);
    free(gpus->peer_native_atomics);
    memset(gpus, 0, sizeof(*gpus));
    bw_cu_close();
}
