/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symmetric memory: a window of each rank that the GPUs of all ranks reach,
 * laid out alike. In one process it is ordinary device memory with peer access;
 * over ranks, what they share (../measure/ranks.h). Of a multicast algorithm
 * only signals are there; input and output are in memory that has one address
 * for all ranks (../measure/multicast_area.h).
 */
#include "shmem.h"

#include "../measure/multicast_area.h"
#include "../measure/pool.h"
#include "../measure/ranks.h"
#include "../measure/session.h"

#include "bwtool/log.h"

#include <string.h>

/* Signals and data share no page, whatever pages a GPU has. */
static const uint64_t page_bytes = 2u << 20;

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* B: peers, or the switch, read the input; else it is the output that is symmetric. */
static bool is_staged_before(const struct shmem_case *c)
{
    return c->row->algorithm == ALGORITHM_PULL || c->row->algorithm == ALGORITHM_MULTICAST;
}

bool shmem_in_is_symmetric(const struct shmem_case *c)
{
    return c->placement == PLACEMENT_R || (c->placement == PLACEMENT_B && is_staged_before(c));
}

bool shmem_out_is_symmetric(const struct shmem_case *c)
{
    return c->placement == PLACEMENT_R || (c->placement == PLACEMENT_B && !is_staged_before(c));
}

bool shmem_is_here(const struct shmem_case *c, int r)
{
    return c->rank[r].gpu != NULL;
}

enum bw_status shmem_agreed_all(const struct shmem_case *c, enum bw_status mine, const char *phase)
{
    struct bw_session *session = c->session;

    return bw_world_agree_all(session->ranks != NULL ? session->world : &session->alone, mine,
                              phase);
}

/* Where other ranks wait, too, it is less; the slowest link moves a tenth of a GB/s. */
uint64_t shmem_patience_ns(const struct shmem_case *c)
{
    const uint64_t seconds = c->session->ranks != NULL ? 15 : 120;

    return seconds * 1000 * 1000 * 1000 +
           10 * (uint64_t)c->fresh_rounds * (c->in_bytes + c->out_bytes);
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
    at->area_bytes = 0;
    at->in = round_up(at->signal_bytes, page_bytes);
    if (c->row->algorithm == ALGORITHM_MULTICAST) {
        at->bytes = at->scratch = at->tables = at->in;
        at->in = 0;
        at->out = round_up(c->in_bytes, page_bytes);
        at->area_bytes = at->out + round_up(c->out_bytes, page_bytes);
        return;
    }
    at->out = at->in + (shmem_in_is_symmetric(c) ? round_up(c->in_bytes, page_bytes) : 0);
    at->scratch = at->out + (shmem_out_is_symmetric(c) ? round_up(c->out_bytes, page_bytes) : 0);
    at->tables = at->scratch + round_up(scratch_bytes(c), page_bytes);
    at->bytes = at->tables + round_up(shmem_route_shared_bytes(c), page_bytes);
}

uint64_t shmem_window_bytes(struct shmem_case *c)
{
    lay_out(c);
    return c->at.bytes;
}

uint64_t shmem_area_bytes(struct shmem_case *c)
{
    lay_out(c);
    return c->at.area_bytes;
}

static enum bw_status take(struct shmem_case *c, int r, uint64_t bytes, CUdeviceptr *ptr)
{
    return bw_pool_take(c->session->pool, false, c->rank[r].gpu->ordinal, bytes, ptr);
}

static enum bw_status open_rank(struct shmem_case *c, int r)
{
    struct shmem_rank *rank = &c->rank[r];
    CUdeviceptr symmetric = 0;
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(rank->gpu));
    TRY(CU(cu.StreamCreate(&rank->stream, CU_STREAM_NON_BLOCKING)));
    rank->check = bw_session_slip(c->session, rank->gpu->ordinal, (unsigned)r, 0);
    rank->timed_out = bw_session_slip(c->session, rank->gpu->ordinal, (unsigned)r, 1);
    rank->delay = bw_session_slip(c->session, rank->gpu->ordinal, (unsigned)r, 2);
    if (c->session->ranks == NULL) {
        TRY(take(c, r, c->at.bytes, &rank->window));
    }
    if (c->placement != PLACEMENT_R) {
        TRY(take(c, r, c->in_bytes, &rank->user_in));
        TRY(take(c, r, c->out_bytes, &rank->user_out));
    }
    symmetric = c->at.area_bytes > 0 ? rank->area : rank->window;
    rank->in = shmem_in_is_symmetric(c) ? symmetric + c->at.in : rank->user_in;
    rank->out = shmem_out_is_symmetric(c) ? symmetric + c->at.out : rank->user_out;
    if (shmem_is_routed(c->row->op)) {
        TRY(shmem_route_upload(c, r));
    }
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

/* Which of the ranks are this process's, and where the windows of the others are. */
static enum bw_status find_ranks(struct shmem_case *c)
{
    struct bw_session *session = c->session;
    enum bw_status st = BW_OK;

    for (int r = 0; r < c->ranks; r++) {
        if (c->at.area_bytes > 0) {
            TRY(bw_multicast_area_window(session->area, r, c->at.area_bytes, &c->multicast,
                                         &c->rank[r].area));
        }
        if (session->ranks == NULL) {
            c->rank[r].gpu = &session->gpus.gpus[r];
            continue;
        }
        TRY(bw_ranks_window(session->ranks, r, c->at.bytes, &c->rank[r].window));
        if (r == session->world->rank) {
            c->rank[r].gpu = &session->gpus.gpus[session->own];
        }
    }
out:
    return st;
}

static enum bw_status open_here(struct shmem_case *c)
{
    enum bw_status st = BW_OK;

    lay_out(c);
    TRY(find_ranks(c));
    bw_pool_begin(c->session->pool);
    for (int r = 0; r < c->ranks; r++) {
        TRY(shmem_is_here(c, r) ? open_rank(c, r) : BW_OK);
    }
    for (int r = 0; r < c->ranks; r++) {
        if (shmem_is_here(c, r)) {
            TRY(bw_gpu_use(c->rank[r].gpu));
            TRY(bw_stream_wait(c->rank[r].stream, shmem_patience_ns(c),
                               "preparing symmetric memory"));
        }
    }
out:
    return st;
}

/* All of it, before any rank signals another. */
enum bw_status shmem_windows_open_all(struct shmem_case *c)
{
    return shmem_agree_all(c, open_here(c), "preparing symmetric memory");
}

/* What a failure has left under way ends before the memory may serve another case. */
static void close_rank(struct shmem_case *c, int r)
{
    struct shmem_rank *rank = &c->rank[r];

    if (rank->stream != NULL && !bw_cu_context_lost() && bw_gpu_use(rank->gpu) == BW_OK &&
        bw_stream_wait(rank->stream, shmem_patience_ns(c), "an operator's last work") == BW_OK) {
        CU_WARN(cu.StreamDestroy(rank->stream));
    }
    rank->stream = NULL;
}

/* The memory stays in the pool, or with the ranks. */
void shmem_windows_close_all(struct shmem_case *c)
{
    for (int r = 0; r < c->ranks; r++) {
        close_rank(c, r);
    }
    (void)shmem_agree_all(c, BW_OK, "giving symmetric memory back");
}
