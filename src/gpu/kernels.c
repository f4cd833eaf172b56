/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/kernels.h"

#include "bwtool/gpu.h"

#include <stdio.h>

static const char *const names[BW_KERNEL_COUNT] = {
#define NAME(name) [KERNEL_##name] = "bw_" #name,
    BW_KERNELS(NAME)
#undef NAME
};

const char *bw_kernel_name(enum bw_kernel kernel)
{
    return names[kernel];
}

enum bw_status bw_kernel_launch(const struct bw_gpu *gpu, enum bw_kernel kernel, unsigned grid,
                                unsigned block, CUstream stream, void **args)
{
    return bw_function_launch(gpu->functions[kernel], kernel, grid, block, stream, args);
}

enum bw_status bw_function_launch(CUfunction function, enum bw_kernel kernel, unsigned grid,
                                  unsigned block, CUstream stream, void **args)
{
    const CUresult res = cu.LaunchKernel(function, grid, 1, 1, block, 1, 1, 0, stream, args, NULL);
    char what[64];

    if (res == CUDA_SUCCESS) {
        return BW_OK;
    }
    snprintf(what, sizeof(what), "cuLaunchKernel(%s)", names[kernel]);
    return bw_cu(res, what, __FILE__, __LINE__);
}

/* One vector is 16 bytes, one node of the chase's list BW_CHASE_STRIDE. */
static const struct {
    unsigned block;
    unsigned blocks_per_sm;  /* at most; 0: a single thread */
    unsigned bytes_a_thread; /* below so many, a thread is not worth while */
    unsigned blocks_max;     /* 0: as many as that                         */
} shapes[BW_KERNEL_COUNT] = {
    [KERNEL_gate_hold] = {1, 0, 0, 0},
    [KERNEL_gate_relay] = {1, 0, 0, 0},
    [KERNEL_clock_ping] = {1, 0, 0, 0},
    [KERNEL_clock_pong] = {1, 0, 0, 0},
    [KERNEL_multicast_copy] = {512, 4, 16, 0},
    [KERNEL_multicast_copy4] = {512, 4, 4, 0},
    [KERNEL_multicast_poison] = {512, 4, 4, 0},
    [KERNEL_fill] = {512, 4, 16, 0},
    [KERNEL_poison] = {512, 4, 16, 0},
    [KERNEL_check] = {512, 4, 16, 0},
    [KERNEL_copy_sweep] = {512, 2, 16, 0},
    [KERNEL_copy_stride] = {512, 1, 16, 0},
    [KERNEL_copy_stride8] = {1024, 2, 16, 0},
    [KERNEL_copy_runs] = {512, 1u << 20, 256, 0}, /* not resident at once: a run a block */
    /* Half of the threads copy each way; more writers keep the reads waiting (measured). */
    [KERNEL_copy_split_in] = {512, 1, 8, 0},
    [KERNEL_copy_split_out] = {512, 1, 8, 32},
    [KERNEL_copy_tma] = {32, 4, 256, 0}, /* a chunk a block                   */
    [KERNEL_read] = {512, 4, 16, 0},
    [KERNEL_read_sum] = {512, 4, 16, 0},
    [KERNEL_write] = {512, 4, 16, 0},
    [KERNEL_chase_build] = {256, 1, 128, 0},
    [KERNEL_chase] = {1, 0, 0, 0},
    [KERNEL_chase_tma] = {1, 0, 0, 0},
    [KERNEL_chase_check] = {256, 1, 128, 0},
    [KERNEL_corrupt] = {1, 0, 0, 0},
};

bool bw_kernel_has_bulk(const struct bw_gpu *gpu)
{
    return gpu->capability_major >= 9;
}

void bw_kernel_geometry(const struct bw_gpu *gpu, enum bw_kernel kernel, uint64_t bytes,
                        unsigned *grid, unsigned *block)
{
    const unsigned per_sm = shapes[kernel].blocks_per_sm;
    uint64_t most = (uint64_t)per_sm * (unsigned)(gpu->sm_count > 0 ? gpu->sm_count : 1);
    const uint64_t block_bytes = (uint64_t)shapes[kernel].block * shapes[kernel].bytes_a_thread;
    uint64_t blocks = 1;

    if (shapes[kernel].blocks_max != 0 && most > shapes[kernel].blocks_max) {
        most = shapes[kernel].blocks_max;
    }
    if (per_sm > 0) {
        blocks = bytes / block_bytes + (bytes % block_bytes != 0);
        blocks = blocks > most ? most : blocks;
        blocks = blocks < 1 ? 1 : blocks;
    }
    *grid = (unsigned)blocks;
    *block = shapes[kernel].block;
}
