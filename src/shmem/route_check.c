/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns of dispatch and combine: every byte of every row is compared with
 * the token that the route says it is of, or with the sum of the rows that went
 * back, in the order of their ranks; rows that nothing comes to must stay.
 */
#include "shmem.h"

#include "bwtool/log.h"

static struct bw_route_check check_of(const struct shmem_case *c, int r, uint32_t seed,
                                      bool is_output)
{
    const struct shmem_route_tables *tables = &c->rank[r].route;
    const uint64_t pitch = (uint64_t)c->vectors * 16;

    return (struct bw_route_check){
        .result = c->rank[r].check.device,
        .row_bytes = c->message_bytes,
        .pitch_bytes = pitch,
        .rows = (is_output ? shmem_out_bytes(c, r) : shmem_in_bytes(c, r)) / pitch,
        .room = (is_output ? c->out_bytes : c->in_bytes) / pitch,
        .origin = tables->origin,
        .dst = tables->user_dst,
        .slot = tables->user_slot,
        .tokens = c->route.shape.tokens,
        .width = c->route.width,
        .dtype = (uint32_t)c->dtype,
        .is_sum = c->is_sum,
        .rank = (uint32_t)r,
        .seed = seed,
    };
}

static enum bw_status run(const struct shmem_case *c, int r, enum bw_kernel kernel,
                          struct bw_route_check *check, CUdeviceptr memory, CUstream stream)
{
    const struct bw_gpu *gpu = c->rank[r].gpu;
    unsigned grid = 0;
    unsigned block = 0;
    void *args[] = {check};
    enum bw_status st = BW_OK;

    check->memory = memory;
    bw_kernel_geometry(gpu, KERNEL_check, check->room * check->pitch_bytes, &grid, &block);
    TRY(bw_gpu_use(gpu));
    TRY(bw_kernel_launch(gpu, kernel, grid, block, stream, args));
out:
    return st;
}

enum bw_status shmem_route_fill(const struct shmem_case *c, int r, enum shmem_program_kind kind,
                                uint32_t seed, CUstream stream)
{
    const struct shmem_rank *rank = &c->rank[r];
    struct bw_route_check stale = check_of(c, r, shmem_stale_seed(c, kind, seed), false);
    struct bw_route_check check = check_of(c, r, seed, false);
    enum bw_status st = BW_OK;

    TRY(run(c, r, KERNEL_route_fill, &stale, rank->in, stream));
    if (rank->user_in != 0 && rank->user_in != rank->in) {
        TRY(run(c, r, KERNEL_route_fill, &check, rank->user_in, stream));
    }
out:
    return st;
}

enum bw_status shmem_route_spoil(const struct shmem_case *c, int r, uint32_t seed, CUstream stream)
{
    const struct shmem_rank *rank = &c->rank[r];
    struct bw_route_check check = check_of(c, r, seed, true);
    enum bw_status st = BW_OK;

    TRY(run(c, r, KERNEL_route_spoil, &check, rank->out, stream));
    if (rank->user_out != 0 && rank->user_out != rank->out) {
        TRY(run(c, r, KERNEL_route_spoil, &check, rank->user_out, stream));
    }
out:
    return st;
}

enum bw_status shmem_route_check(const struct shmem_case *c, int r, CUdeviceptr out, uint32_t seed,
                                 CUstream stream)
{
    struct bw_route_check check = check_of(c, r, seed, true);

    return run(c, r, KERNEL_route_check_output, &check, out, stream);
}
