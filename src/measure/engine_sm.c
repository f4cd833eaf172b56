/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work by the GPU's multiprocessors: one kernel does all copies of a sample,
 * sweeping the whole buffer each time. Their bulk copies (TMA) are other
 * kernels, and nothing else.
 */
#include "gpu_lane.h"
#include "read_check.h"
#include "sm_queue.h"

#include "params.h"
#include "session.h"

#include "bwtool/log.h"

#include <string.h>

/* True if the kernel's own clock says how long it took. */
static bool has_own_time(const struct bw_lane *lane)
{
    return lane->step->op == OP_CHASE || lane->lane_plan->is_split;
}

static bool has_reports(const struct bw_lane *lane)
{
    return has_own_time(lane) || lane->step->op == OP_READ;
}

/* What the kernels' reports start from: all zero, but for where a chase begins. */
static void begin_reports(struct bw_lane *lane, const struct bw_round *round)
{
    memset(lane->work.host, 0, (size_t)round->samples * BW_SLIP_BYTES);
    for (unsigned i = 0; lane->step->op == OP_CHASE && i < round->samples; i++) {
        struct bw_chase_report *report = bw_gpu_lane_report(lane, i).host;

        report->last = lane->paths[0].src;
    }
}

/* Twice a round: the warm-up leaves its own. */
static enum bw_status send_reports(struct bw_lane *lane, const struct bw_round *round)
{
    return has_reports(lane)
               ? bw_slip_send(&lane->work, (size_t)round->samples * BW_SLIP_BYTES, lane->stream)
               : BW_OK;
}

static enum bw_status warm(struct bw_lane *lane)
{
    static const struct bw_round one = {.samples = 1};
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(lane->gpu));
    begin_reports(lane, &one);
    TRY(send_reports(lane, &one));
    TRY(bw_sm_queue(lane, &one, 2, 0));
    TRY(bw_gpu_lane_drain(lane));
out:
    return st;
}

static enum bw_status enqueue(struct bw_lane *lane, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(lane->gpu));
    begin_reports(lane, round);
    TRY(send_reports(lane, round));
    if (lane->lane_plan->is_load) {
        TRY(bw_gpu_lane_begin(lane, round));
        TRY(bw_sm_queue(lane, round, bw_lane_load_copies(round), 0));
        return bw_gpu_lane_mark(lane, 0);
    }
    TRY(bw_sm_queue(lane, round, round->warm, 0));
    TRY(send_reports(lane, round));
    TRY(bw_gpu_lane_begin(lane, round));
    for (unsigned i = 0; i < round->samples; i++) {
        TRY(bw_sm_queue(lane, round, round->copies, i));
        TRY(bw_gpu_lane_mark(lane, i));
    }
    if (has_reports(lane)) {
        TRY(bw_slip_fetch(&lane->work, (size_t)round->samples * BW_SLIP_BYTES, lane->stream));
    }
out:
    return st;
}

static double chase_ns(const struct bw_lane *lane, unsigned i)
{
    const struct bw_chase_report *report = bw_gpu_lane_report(lane, i).host;

    /* Signed: of a list too short for the timer's steps it may be below 0, and no value then. */
    return (double)(int64_t)report->ns;
}

/* The named direction's own time; the kernel ends only when the other one has stopped, too. */
static double split_ns(struct bw_lane *lane, unsigned i)
{
    const struct bw_split_state *state = bw_gpu_lane_report(lane, i).host;
    const uint64_t begin_ns = ~state->not_begin_ns;

    lane->reverse_bytes += (double)state->reverse_bytes;
    lane->reverse_ns += (double)(state->reverse_end_ns - begin_ns);
    return (double)(state->forward_end_ns - begin_ns);
}

static enum bw_status elapsed(struct bw_lane *lane, const struct bw_round *round, double *marks_ns)
{
    enum bw_status st = BW_OK;
    double sum = 0;

    if (!has_reports(lane)) {
        return bw_gpu_lane_elapsed(lane, round, marks_ns);
    }
    TRY(bw_stream_wait(lane->stream, 1000ULL * 1000 * 1000, "fetching a kernel's report"));
    if (!has_own_time(lane)) {
        return bw_gpu_lane_elapsed(lane, round, marks_ns);
    }
    for (unsigned i = 0; i < round->samples; i++) {
        sum += lane->step->op == OP_CHASE ? chase_ns(lane, i) : split_ns(lane, i);
        marks_ns[i] = sum;
    }
out:
    return st;
}

/* A chase that has gone round once is back where it began. */
static enum bw_status chase_verdict(const struct bw_lane *lane, const struct bw_round *round)
{
    const struct bw_path *path = &lane->paths[0];
    const struct bw_check_result *check = path->check.host;
    const uint64_t nodes = lane->bytes / BW_CHASE_STRIDE;

    for (unsigned i = 0; i < round->samples; i++) {
        const struct bw_chase_report *report = bw_gpu_lane_report(lane, i).host;

        if (report->loads != nodes || report->last != path->src) {
            bw_error("%s: GPU %d followed %llu links of %llu and ended at 0x%llx, not at 0x%llx",
                     lane->plan->tc->name, lane->gpu->ordinal, (unsigned long long)report->loads,
                     (unsigned long long)nodes, (unsigned long long)report->last,
                     (unsigned long long)path->src);
            return BW_ERR_VERIFY;
        }
    }
    if (check->count != 0) {
        bw_error("%s: GPU %d: verification failed: %llu bytes of the list that was followed are "
                 "wrong, the first at offset %llu",
                 lane->plan->tc->name, lane->gpu->ordinal, (unsigned long long)check->count,
                 (unsigned long long)check->first);
        return BW_ERR_VERIFY;
    }
    return BW_OK;
}

static enum bw_status fill(struct bw_lane *lane, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    TRY(bw_gpu_lane_fill(lane, round));
    if (lane->step->op == OP_READ) {
        TRY(bw_read_spoil(lane));
    }
out:
    return st;
}

static enum bw_status verify(struct bw_lane *lane, const struct bw_round *round)
{
    switch (lane->step->op) {
    case OP_CHASE:
        return bw_gpu_lane_verify_list(lane);
    case OP_READ:
        return bw_read_verify(lane, round);
    default:
        return bw_gpu_lane_verify(lane, round);
    }
}

static enum bw_status verdict(struct bw_lane *lane, const struct bw_round *round)
{
    switch (lane->step->op) {
    case OP_CHASE:
        return chase_verdict(lane, round);
    case OP_READ:
        return bw_read_verdict(lane, round);
    default:
        return bw_gpu_lane_verdict(lane, round);
    }
}

const struct bw_engine_ops bw_engine_sm = {
    .copies_per_entry = 1024,
    .prepare = bw_gpu_lane_prepare,
    .warm = warm,
    .fill = fill,
    .enqueue = enqueue,
    .wait = bw_gpu_lane_wait,
    .load_time = bw_gpu_lane_load_time,
    .elapsed = elapsed,
    .verify = verify,
    .verdict = verdict,
    .finish = bw_gpu_lane_finish,
};
