/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every byte of every output is compared, on its own GPU, with what the
 * operator's definition says, from the same function of rank, place and seed
 * that made the inputs (shmem_params.h). Sums are of whole numbers that the
 * dtype holds exactly, in any order: the bound of their error is zero.
 */
#include "shmem.h"

#include "../measure/session.h"

#include "shmem_params.h"

#include "bwtool/log.h"

#include <stdio.h>

static struct bw_shmem_check params_of(const struct shmem_case *c, int r, uint32_t seed)
{
    struct bw_shmem_check check = {
        .result = c->rank[r].check.device,
        .message_bytes = c->message_bytes,
        .pitch_bytes = (c->message_bytes + 15) / 16 * 16,
        .layout = (uint32_t)c->layout,
        .dtype = (uint32_t)c->dtype,
        .is_reduced = c->is_sum,
        .rank = (uint32_t)r,
        .ranks = (uint32_t)c->ranks,
        .root = (uint32_t)c->root,
        .seed = seed,
    };

    if (c->row->op == SHMEM_PUT_SIGNAL) {
        check.root = (uint32_t)(1 - r); /* to and fro */
    } else if (c->row->op == SHMEM_GET) {
        check.root = 1;
    }
    return check;
}

bool shmem_is_checked(const struct shmem_case *c, int r)
{
    switch (c->row->op) {
    case SHMEM_PUT:
        return r == 1;
    case SHMEM_GET:
        return r == 0;
    case SHMEM_PUT_SIGNAL:
        return r <= 1;
    default:
        return true;
    }
}

static enum bw_status run(const struct shmem_case *c, int r, enum bw_kernel kernel,
                          struct bw_shmem_check *check, CUdeviceptr memory, uint64_t bytes,
                          CUstream stream)
{
    const struct bw_gpu *gpu = c->rank[r].gpu;
    unsigned grid = 0;
    unsigned block = 0;
    void *args[] = {check};
    enum bw_status st = BW_OK;

    check->memory = memory;
    bw_kernel_geometry(gpu, KERNEL_check, bytes, &grid, &block);
    TRY(bw_gpu_use(gpu));
    TRY(bw_kernel_launch(gpu, kernel, grid, block, stream, args));
out:
    return st;
}

uint32_t shmem_stale_seed(const struct shmem_case *c, enum shmem_program_kind kind, uint32_t seed)
{
    const bool is_copied_in =
        kind == PROGRAM_E2E && shmem_has_staging(c) && shmem_in_is_symmetric(c);

    return is_copied_in ? ~seed : seed;
}

enum bw_status shmem_fill(struct shmem_case *c, int r, enum shmem_program_kind kind, uint32_t seed,
                          CUstream stream)
{
    const struct shmem_rank *rank = &c->rank[r];
    struct bw_shmem_check stale = params_of(c, r, shmem_stale_seed(c, kind, seed));
    struct bw_shmem_check check = params_of(c, r, seed);
    enum bw_status st = BW_OK;

    if (shmem_is_routed(c->row->op)) {
        return shmem_route_fill(c, r, kind, seed, stream);
    }
    TRY(run(c, r, KERNEL_shmem_fill, &stale, rank->in, c->in_bytes, stream));
    if (rank->user_in != 0 && rank->user_in != rank->in) {
        TRY(run(c, r, KERNEL_shmem_fill, &check, rank->user_in, c->in_bytes, stream));
    }
out:
    return st;
}

enum bw_status shmem_spoil(struct shmem_case *c, int r, uint32_t seed, CUstream stream)
{
    const struct shmem_rank *rank = &c->rank[r];
    struct bw_shmem_check check = params_of(c, r, seed);
    enum bw_status st = BW_OK;

    if (!shmem_is_checked(c, r)) {
        return BW_OK;
    }
    if (shmem_is_routed(c->row->op)) {
        return shmem_route_spoil(c, r, seed, stream);
    }
    TRY(run(c, r, KERNEL_shmem_spoil, &check, rank->out, c->out_bytes, stream));
    if (rank->user_out != 0 && rank->user_out != rank->out) {
        TRY(run(c, r, KERNEL_shmem_spoil, &check, rank->user_out, c->out_bytes, stream));
    }
out:
    return st;
}

/* By whoever puts, in its stream: the other rank's may be elsewhere, and knows of no gate. */
enum bw_status shmem_spoil_put(struct shmem_case *c, uint32_t seed, CUstream stream)
{
    struct bw_shmem_check check = params_of(c, 1, seed);

    return run(c, 0, KERNEL_shmem_spoil, &check, c->rank[1].window + c->at.out, c->out_bytes,
               stream);
}

enum bw_status shmem_check_begin(struct shmem_case *c, int r, CUstream stream)
{
    struct bw_check_result *result = c->rank[r].check.host;
    enum bw_status st = BW_OK;

    *result = (struct bw_check_result){.first = UINT64_MAX};
    TRY(bw_gpu_use(c->rank[r].gpu));
    TRY(bw_slip_send(&c->rank[r].check, sizeof(*result), stream));
out:
    return st;
}

enum bw_status shmem_check(struct shmem_case *c, int r, enum shmem_program_kind kind, uint32_t seed,
                           CUstream stream)
{
    const struct shmem_rank *rank = &c->rank[r];
    const bool is_copied = kind == PROGRAM_E2E && shmem_has_staging(c);
    const CUdeviceptr out = is_copied ? rank->user_out : rank->out;
    struct bw_shmem_check check = params_of(c, r, seed);

    if (!shmem_is_checked(c, r)) {
        return BW_OK;
    }
    if (shmem_is_routed(c->row->op)) {
        return shmem_route_check(c, r, out, seed, stream);
    }
    return run(c, r, KERNEL_shmem_check_output, &check, out, c->out_bytes, stream);
}

enum bw_status shmem_check_fetch(struct shmem_case *c, int r, CUstream stream)
{
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(c->rank[r].gpu));
    TRY(bw_slip_fetch(&c->rank[r].check, sizeof(struct bw_check_result), stream));
    TRY(bw_slip_fetch(&c->rank[r].timed_out, sizeof(uint32_t), stream));
out:
    return st;
}

enum bw_status shmem_check_verdict(const struct shmem_case *c, int r, const char *when)
{
    const struct bw_check_result *result = c->rank[r].check.host;
    const uint32_t *timed_out = c->rank[r].timed_out.host;

    if (*timed_out != 0) {
        bw_error("%s (%s), rank %d, GPU %d: a wait for another rank's signal or words gave up %s",
                 c->row->tc.name, bw_placement_name(c->placement), r, c->rank[r].gpu->ordinal,
                 when);
        return BW_ERR_TIMEOUT;
    }
    if (shmem_is_checked(c, r) && result->count != 0) {
        const uint64_t pitch = (c->message_bytes + 15) / 16 * 16;

        bw_error("%s (%s, %s), rank %d, GPU %d: verification failed %s: %llu bytes are wrong, the "
                 "first at offset %llu of message %llu",
                 c->row->tc.name, bw_placement_name(c->placement), bw_dtype_name(c->dtype), r,
                 c->rank[r].gpu->ordinal, when, (unsigned long long)result->count,
                 (unsigned long long)(result->first % pitch),
                 (unsigned long long)(result->first / pitch));
        return BW_ERR_VERIFY;
    }
    return BW_OK;
}

/* Some 20 us late: a gate that nobody opens. */
static enum bw_status queue_delay(const struct shmem_case *c, int r)
{
    const struct shmem_rank *rank = &c->rank[r];
    CUdeviceptr flag = rank->timed_out.device; /* 0, unless all is lost anyway */
    CUdeviceptr report = rank->delay.device;
    uint32_t epoch = 1u << 30;
    uint64_t late_ns = 20000;
    void *args[] = {&flag, &epoch, &late_ns, &report};

    return bw_kernel_launch(rank->gpu, KERNEL_gate_hold, 1, 1, rank->stream, args);
}

/*
 * A barrier proves itself by what it orders: each rank reads what all others
 * wrote before it, and a second one keeps them from writing again too early.
 */
static enum bw_status queue_ordered(struct shmem_case *c, int r, CUstream stream)
{
    enum bw_status st = BW_OK;

    TRY(shmem_queue(c, r, PROGRAM_E2E, stream, NULL));
    for (int p = 0; p < c->ranks; p++) {
        TRY(CU(cu.MemcpyAsync(c->rank[r].out + (uint64_t)p * c->in_bytes,
                              c->rank[p].window + c->at.in, c->in_bytes, stream)));
    }
    TRY(shmem_queue(c, r, PROGRAM_E2E, stream, NULL));
out:
    return st;
}

static enum bw_status queue_once(struct shmem_case *c, int r, const struct shmem_side *side)
{
    if (r >= shmem_issuers(c)) {
        return BW_OK;
    }
    return c->row->op == SHMEM_BARRIER ? queue_ordered(c, r, c->rank[r].stream)
                                       : shmem_queue(c, r, PROGRAM_E2E, c->rank[r].stream, side);
}

static enum bw_status queue_fresh(struct shmem_case *c, int r, uint32_t seed,
                                  const struct shmem_side *side)
{
    struct shmem_rank *rank = &c->rank[r];
    enum bw_status st = BW_OK;

    TRY(shmem_check_begin(c, r, rank->stream));
    TRY(shmem_spoil(c, r, seed, rank->stream));
    for (uint32_t k = 0; k < c->fresh_rounds; k++) {
        TRY(shmem_fill(c, r, PROGRAM_E2E, seed + k, rank->stream));
        if (k % (uint32_t)c->ranks == (uint32_t)r) {
            TRY(queue_delay(c, r));
        }
        TRY(queue_once(c, r, side));
        TRY(shmem_check(c, r, PROGRAM_E2E, seed + k, rank->stream));
    }
    TRY(shmem_check_fetch(c, r, rank->stream));
out:
    return st;
}

static enum bw_status wait_here(const struct shmem_case *c)
{
    enum bw_status st = BW_OK;

    for (int r = 0; r < c->ranks; r++) {
        if (shmem_is_here(c, r)) {
            TRY(bw_gpu_use(c->rank[r].gpu));
            TRY(bw_stream_wait(c->rank[r].stream, shmem_patience_ns(c), "checking an operator"));
        }
    }
out:
    return st;
}

/* Where one side does not wait for the other before it writes, the host comes between. */
static bool is_paced(const struct shmem_case *c)
{
    return c->row->op == SHMEM_PUT || c->row->op == SHMEM_GET || c->row->op == SHMEM_PUT_SIGNAL;
}

static enum bw_status do_here(struct shmem_case *c,
                              enum bw_status (*step)(struct shmem_case *c, int r, uint32_t seed),
                              uint32_t seed)
{
    enum bw_status st = BW_OK;

    for (int r = 0; r < c->ranks; r++) {
        TRY(shmem_is_here(c, r) ? step(c, r, seed) : BW_OK);
    }
    TRY(wait_here(c));
out:
    return st;
}

static enum bw_status step_prepare(struct shmem_case *c, int r, uint32_t seed)
{
    enum bw_status st = BW_OK;

    TRY(shmem_check_begin(c, r, c->rank[r].stream));
    TRY(shmem_spoil(c, r, seed, c->rank[r].stream));
    TRY(shmem_fill(c, r, PROGRAM_E2E, seed, c->rank[r].stream));
out:
    return st;
}

static enum bw_status step_operate(struct shmem_case *c, int r, uint32_t seed)
{
    enum bw_status st = BW_OK;

    (void)seed;
    TRY(bw_gpu_use(c->rank[r].gpu));
    TRY(queue_once(c, r, NULL));
out:
    return st;
}

static enum bw_status step_compare(struct shmem_case *c, int r, uint32_t seed)
{
    enum bw_status st = BW_OK;

    TRY(shmem_check(c, r, PROGRAM_E2E, seed, c->rank[r].stream));
    TRY(shmem_check_fetch(c, r, c->rank[r].stream));
out:
    return st;
}

static enum bw_status verdict_here(const struct shmem_case *c)
{
    enum bw_status st = BW_OK;

    for (int r = 0; r < c->ranks; r++) {
        TRY(shmem_is_here(c, r) ? shmem_check_verdict(c, r, "with a fresh pattern in each round")
                                : BW_OK);
    }
out:
    return st;
}

enum bw_status shmem_check_paced_all(struct shmem_case *c, uint32_t seed)
{
    enum bw_status st = BW_OK;

    for (uint32_t k = 0; k < c->fresh_rounds; k++) {
        TRY(shmem_agree_all(c, do_here(c, step_prepare, seed + k), "filling what is checked"));
        TRY(shmem_agree_all(c, do_here(c, step_operate, seed + k), "the operator that is checked"));
        st = do_here(c, step_compare, seed + k);
        st = st == BW_OK ? verdict_here(c) : st;
        TRY(shmem_agree_all(c, st, "checking an operator"));
    }
out:
    return st;
}

/* All ranks' rounds are queued before any is waited for. */
static enum bw_status check_at_once(struct shmem_case *c, uint32_t seed, struct shmem_side *side)
{
    enum bw_status st = BW_OK;

    for (int r = 0; r < c->ranks; r++) {
        TRY(shmem_is_here(c, r) ? shmem_side_open(&side[r], c, r) : BW_OK);
    }
    for (int r = 0; r < c->ranks; r++) {
        TRY(shmem_is_here(c, r) ? queue_fresh(c, r, seed, &side[r]) : BW_OK);
    }
    TRY(wait_here(c));
    TRY(verdict_here(c));
out:
    return st;
}

enum bw_status shmem_check_fresh_all(struct shmem_case *c, uint32_t seed)
{
    struct shmem_side side[BW_SHMEM_RANKS_MAX] = {{0}};
    enum bw_status st = BW_OK;

    if (is_paced(c)) {
        return shmem_check_paced_all(c, seed);
    }
    st = shmem_agree_all(c, check_at_once(c, seed, side), "checking an operator");
    for (int r = 0; r < c->ranks; r++) {
        shmem_side_close(&side[r], c, r);
    }
    return st;
}
