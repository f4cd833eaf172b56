/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_KERNELS_H
#define BW_KERNELS_H

#include "status.h"

#include "frame_params.h"

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * All kernels of the tool, embedded in the binary as one fat image, known by
 * name: KERNEL_fill is bw_fill in kernels/. Their parameters are described
 * where they are defined; structures shared with them are in params.h.
 */

/* clang-format off */
/* Those with frames (kernels/shmem_frames.h): each has a twin in the second image. */
#define BW_OPERATOR_KERNELS(K)                                                          \
    K(shmem_push_all_gather) K(shmem_push_all_to_all) K(shmem_push_broadcast)           \
    K(shmem_pull_all_gather) K(shmem_pull_all_to_all)                                   \
    K(shmem_pull_reduce_scatter) K(shmem_pull_all_reduce)                               \
    K(shmem_tma_all_gather) K(shmem_tma_all_to_all) K(shmem_tma_broadcast)              \
    K(shmem_tiles_all_gather) K(shmem_tiles_all_to_all) K(shmem_tiles_broadcast)        \
    K(shmem_tiles_reduce_scatter) K(shmem_tiles_all_reduce)                             \
    K(shmem_two_shot_all_reduce)                                                        \
    K(shmem_ll_all_gather) K(shmem_ll_all_to_all) K(shmem_ll_broadcast)                 \
    K(shmem_ll_reduce_scatter) K(shmem_ll_all_reduce)                                   \
    K(shmem_poison_reduce_scatter) K(shmem_poison_all_reduce)                           \
    K(shmem_poison4_reduce_scatter) K(shmem_poison4_all_reduce)                         \
    K(shmem_multicast_all_gather) K(shmem_multicast_broadcast)                          \
    K(shmem_multicast_reduce_scatter) K(shmem_multicast_all_reduce)                     \
    K(shmem_barrier) K(shmem_pingpong)                                                  \
    K(shmem_push_dispatch) K(shmem_pull_dispatch) K(shmem_tiles_dispatch)               \
    K(shmem_pull_combine) K(shmem_tiles_combine) K(shmem_tma_dispatch)

#define BW_KERNELS(K)                                                                   \
    K(gate_hold) K(gate_relay) K(clock_ping) K(clock_pong)                              \
    K(fill) K(poison) K(check)                                                          \
    K(copy_sweep) K(copy_stride) K(copy_stride8) K(copy_runs) K(copy_tma)               \
    K(copy_split_in) K(copy_split_out)                                                  \
    K(read) K(read_sum) K(write)                                                        \
    K(chase_build) K(chase) K(chase_tma) K(chase_check)                                 \
    K(corrupt) K(multicast_copy) K(multicast_copy4) K(multicast_poison)                 \
    BW_OPERATOR_KERNELS(K)                                                              \
    K(shmem_sync) K(shmem_fill) K(shmem_spoil) K(shmem_check_output)                    \
    K(route_fill) K(route_spoil) K(route_check_output) K(route_pack) K(route_unpack)
/* clang-format on */

enum bw_kernel {
#define K(name) KERNEL_##name,
    BW_KERNELS(K)
#undef K
        BW_KERNEL_COUNT
};

struct bw_gpu;

/* The bulk-copy kernels (copy_tma, chase_tma) do nothing on a GPU for which this is false. */
bool bw_kernel_has_bulk(const struct bw_gpu *gpu);

/* The kernels with frames, for --profile; twins are known by the kernel that they are of. */
struct bw_twins {
    CUlibrary library;
    CUfunction functions[BW_KERNEL_COUNT]; /* NULL: that one has no twin */
    CUfunction tick;                       /* bw_frame_tick_find */
    struct bw_frame_tick found;            /* what that has found */
};

/*
 * Load the second image and make it resident on `gpu`, whose context must be
 * current, before any gate. May take some 100 ms, or seconds where the driver
 * has to compile it. Close it on failure, too. BW_ERR_CUDA, logged: the image
 * has no code for this GPU.
 */
enum bw_status bw_twins_open(struct bw_twins *twins, const struct bw_gpu *gpu);
/* Zeroed is fine. */
void bw_twins_close(struct bw_twins *twins);

/* "bw_fill" and so on. */
const char *bw_kernel_name(enum bw_kernel kernel);

/* Queue a kernel with one-dimensional grid and block; `args` as cuLaunchKernel wants them. */
enum bw_status bw_kernel_launch(const struct bw_gpu *gpu, enum bw_kernel kernel, unsigned grid,
                                unsigned block, CUstream stream, void **args);
/* The same of a function, of that kernel or of its twin. */
enum bw_status bw_function_launch(CUfunction function, enum bw_kernel kernel, unsigned grid,
                                  unsigned block, CUstream stream, void **args);

/*
 * The grid and block that suit a kernel on `bytes` (for the chase's list: its
 * bytes): copies fill the GPU once and loop, small buffers get no more blocks
 * than have work. copy_runs gets the blocks of one pass: for several passes in
 * one launch, so many times as many. Which copy kernel suits a path is the
 * caller's choice: copy_sweep below BW_KERNEL_LARGE_BYTES; above it what was
 * measured to be the fastest.
 */
void bw_kernel_geometry(const struct bw_gpu *gpu, enum bw_kernel kernel, uint64_t bytes,
                        unsigned *grid, unsigned *block);

#define BW_KERNEL_LARGE_BYTES ((uint64_t)32 << 20)

/* The embedded image and its size in bytes. */
extern const unsigned char bw_kernels_image[];
extern const unsigned int bw_kernels_image_bytes;
/* The second one: the twins. */
extern const unsigned char bw_profile_image[];
extern const unsigned int bw_profile_image_bytes;

#endif
