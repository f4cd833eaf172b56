/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symmetric memory: a window of each rank that the GPUs of all ranks reach,
 * laid out alike. In one process it is ordinary device memory with peer access.
 */
#include "shmem.h"

#include "../measure/pool.h"
#include "../measure/session.h"

#include "bwtool/log.h"

#include <string.h>

/* Signals and data share no page, whatever pages a GPU has. */
static const uint64_t page_bytes = 2u << 20;

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

bool shmem_in_is_symmetric(const struct shmem_case *c)
{
    return c->placement == PLACEMENT_R ||
           (c->placement == PLACEMENT_B && c->row->algorithm == ALGORITHM_PULL);
}

bool shmem_out_is_symmetric(const struct shmem_case *c)
{
    return c->placement == PLACEMENT_R ||
           (c->placement == PLACEMENT_B && c->row->algorithm != ALGORITHM_PULL);
}

static uint64_t scratch_bytes(const struct shmem_case *c)
{
    return (uint64_t)c->row->slots * (uint64_t)(c->ranks - 1) * c->slot_vectors * 16;
}

static void lay_out(struct shmem_case *c)
{
    struct shmem_layout *at = &c->at;

    at->signals = 0;
    at->signal_bytes =
        (uint64_t)BW_SIGNAL_KINDS * BW_SHMEM_CTAS_MAX * (uint64_t)c->ranks * BW_SHMEM_SIGNAL_BYTES;
    at->in = round_up(at->signal_bytes, page_bytes);
    at->out = at->in + (shmem_in_is_symmetric(c) ? round_up(c->in_bytes, page_bytes) : 0);
    at->scratch = at->out + (shmem_out_is_symmetric(c) ? round_up(c->out_bytes, page_bytes) : 0);
    at->bytes = at->scratch + round_up(scratch_bytes(c), page_bytes);
}

static enum bw_status take(struct shmem_case *c, int r, uint64_t bytes, CUdeviceptr *ptr)
{
    return bw_pool_take(c->session->pool, false, c->rank[r].gpu->ordinal, bytes, ptr);
}

static enum bw_status open_rank(struct shmem_case *c, int r)
{
    struct shmem_rank *rank = &c->rank[r];
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(rank->gpu));
    TRY(CU(cu.StreamCreate(&rank->stream, CU_STREAM_NON_BLOCKING)));
    rank->check = bw_session_slip(c->session, rank->gpu->ordinal, (unsigned)r, 0);
    rank->timed_out = bw_session_slip(c->session, rank->gpu->ordinal, (unsigned)r, 1);
    rank->delay = bw_session_slip(c->session, rank->gpu->ordinal, (unsigned)r, 2);
    TRY(take(c, r, c->at.bytes, &rank->window));
    if (c->placement != PLACEMENT_R) {
        TRY(take(c, r, c->in_bytes, &rank->user_in));
        TRY(take(c, r, c->out_bytes, &rank->user_out));
    }
    rank->in = shmem_in_is_symmetric(c) ? rank->window + c->at.in : rank->user_in;
    rank->out = shmem_out_is_symmetric(c) ? rank->window + c->at.out : rank->user_out;
    /* Nothing was signalled yet; all words of the scratch are "not there yet". */
    TRY(CU(cu.MemsetD8Async(rank->window, 0, c->at.signal_bytes, rank->stream)));
    TRY(CU(cu.MemsetD8Async(rank->timed_out.device, 0, BW_SLIP_BYTES, rank->stream)));
    if (scratch_bytes(c) > 0) {
        const unsigned char fill = c->row->slots == 3 ? 0xff : 0;

        TRY(CU(
            cu.MemsetD8Async(rank->window + c->at.scratch, fill, scratch_bytes(c), rank->stream)));
    }
out:
    return st;
}

enum bw_status shmem_windows_open(struct shmem_case *c)
{
    const uint64_t patience_ns = 60ULL * 1000 * 1000 * 1000;
    enum bw_status st = BW_OK;

    lay_out(c);
    bw_pool_begin(c->session->pool);
    for (int r = 0; r < c->ranks; r++) {
        c->rank[r].gpu = &c->session->gpus.gpus[r];
        TRY(open_rank(c, r));
    }
    /* All of it, before any rank signals another. */
    for (int r = 0; r < c->ranks; r++) {
        TRY(bw_gpu_use(c->rank[r].gpu));
        TRY(bw_stream_wait(c->rank[r].stream, patience_ns, "preparing symmetric memory"));
    }
out:
    return st;
}

/* The memory stays in the pool. */
void shmem_windows_close(struct shmem_case *c)
{
    for (int r = 0; r < c->ranks; r++) {
        struct shmem_rank *rank = &c->rank[r];

        if (rank->stream != NULL && !bw_cu_context_lost() && bw_gpu_use(rank->gpu) == BW_OK) {
            CU_WARN(cu.StreamDestroy(rank->stream));
        }
        rank->stream = NULL;
    }
}
