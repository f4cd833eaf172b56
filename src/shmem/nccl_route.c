/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch and combine by NCCL: tokens are packed into a piece for each rank,
 * the pieces are sent and received as one group; what comes back is added up.
 * Rows that stay on their rank never go to NCCL. A receive area holds the rows
 * of each rank in one piece already, so that a dispatch is not unpacked, and a
 * combine not packed.
 */
#include "nccl.h"

#include "bwtool/log.h"

#include <stdint.h>

static uint64_t pitch_of(const struct shmem_case *c)
{
    return (uint64_t)c->vectors * 16;
}

static uint32_t base_of(const struct shmem_case *c, int from, int to)
{
    return c->route.base[from * c->ranks + to];
}

/* Bytes before the piece of rank `p` on rank `r`. */
static uint64_t piece_of(const struct shmem_case *c, int r, int p)
{
    uint64_t rows = 0;

    for (int q = 0; q < p; q++) {
        rows += q == r ? 0 : bw_route_rows(&c->route, r, q);
    }
    return rows * pitch_of(c);
}

uint64_t nccl_stage_bytes(const struct shmem_case *c)
{
    uint64_t most = 0;

    for (int r = 0; r < c->ranks && shmem_is_routed(c->row->op); r++) {
        const uint64_t bytes = piece_of(c, r, c->ranks);

        most = bytes > most ? bytes : most;
    }
    return most;
}

static enum bw_status launch(const struct nccl_program *program, int r)
{
    const struct shmem_case *c = program->c;
    const struct shmem_rank *rank = &c->rank[r];
    const bool packs = c->row->op == SHMEM_DISPATCH;
    const struct bw_operator *row =
        bw_operator_way(c->row->op, packs ? ALGORITHM_PUSH : ALGORITHM_PULL);
    struct bw_shmem_args s = {
        .rank = (uint32_t)r,
        .ranks = (uint32_t)c->ranks,
        .vectors = c->vectors,
        .total = c->total,
        .dtype = (uint32_t)c->dtype,
        .in = rank->in,
        .out = rank->out,
    };
    struct bw_route_args a;
    void *args[] = {&a};

    for (int p = 0; p < c->ranks; p++) {
        s.window[p] = program->job->stage[r] + piece_of(c, r, p) - base_of(c, r, p) * pitch_of(c);
    }
    a = shmem_route_args(c, r, &s);
    return bw_kernel_launch(rank->gpu, packs ? KERNEL_route_pack : KERNEL_route_unpack,
                            bw_operator_ctas(row, c->total, (unsigned)rank->gpu->sm_count),
                            BW_SHMEM_THREADS, program->lanes[r]->stream, args);
}

enum bw_status nccl_route_launch(const struct nccl_program *program, bool is_before)
{
    enum bw_status st = BW_OK;

    if (!shmem_is_routed(program->c->row->op) ||
        is_before != (program->c->row->op == SHMEM_DISPATCH)) {
        return BW_OK;
    }
    for (int r = 0; r < program->lane_count; r++) {
        TRY(bw_gpu_use(program->c->rank[r].gpu));
        TRY(launch(program, r));
    }
out:
    return st;
}

int nccl_route_exchange(const struct nccl_program *program, int r, int type)
{
    const struct shmem_case *c = program->c;
    const struct shmem_rank *rank = &c->rank[r];
    const bool is_dispatch = c->row->op == SHMEM_DISPATCH;
    const uint64_t row_elements = pitch_of(c) / bw_dtype_bytes(c->dtype);
    struct bw_nccl_comm *comm = program->job->comms[r];
    CUstream stream = program->lanes[r]->stream;
    int res = BW_NCCL_OK;

    for (int p = 0; p < c->ranks && res == BW_NCCL_OK; p++) {
        /* Of this rank's tokens at p, in a piece; of p's tokens here, in the area of rows. */
        const CUdeviceptr piece = program->job->stage[r] + piece_of(c, r, p);
        const CUdeviceptr area =
            (is_dispatch ? rank->out : rank->in) + base_of(c, p, r) * pitch_of(c);
        const uint64_t ours = p == r ? 0 : bw_route_rows(&c->route, r, p) * row_elements;
        const uint64_t theirs = p == r ? 0 : bw_route_rows(&c->route, p, r) * row_elements;
        const CUdeviceptr from = is_dispatch ? piece : area;
        const CUdeviceptr to = is_dispatch ? area : piece;
        const uint64_t sent = is_dispatch ? ours : theirs;
        const uint64_t received = is_dispatch ? theirs : ours;

        if (sent > 0) {
            res = nccl.Send((const void *)(uintptr_t)from, sent, type, p, comm, stream);
        }
        if (received > 0 && res == BW_NCCL_OK) {
            res = nccl.Recv((void *)(uintptr_t)to, received, type, p, comm, stream);
        }
    }
    return res;
}
