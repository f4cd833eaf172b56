/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work by the GPU's multiprocessors: one kernel does all copies of a sample,
 * sweeping the whole buffer each time. Their bulk copies (TMA) are other
 * kernels, and nothing else.
 */
#include "gpu_lane.h"
#include "read_check.h"

#include "params.h"
#include "session.h"

#include "bwtool/log.h"

#include <limits.h>
#include <string.h>

static bool is_tma(const struct bw_lane *lane)
{
    return lane->lane_plan->engine == ENGINE_TMA;
}

enum way { WAY_LOCAL, WAY_PEERS, WAY_HOST };

static enum way way_of(const struct bw_lane *lane)
{
    const struct bw_end src = lane->paths[0].src_end;
    const struct bw_end dst = lane->paths[0].dst_end;

    if (src.mem == MEM_HOST || dst.mem == MEM_HOST) {
        return WAY_HOST;
    }
    return src.id == dst.id ? WAY_LOCAL : WAY_PEERS;
}

/* Chosen by measurement: docs/MEASUREMENTS.md has what was tried. */
static enum bw_kernel copy_kernel(const struct bw_lane *lane)
{
    if (lane->paths[0].dst_end.mem == MEM_MULTICAST) {
        return lane->sampling->multicast_width < 16 ? KERNEL_multicast_copy4
                                                    : KERNEL_multicast_copy;
    }
    static const enum bw_kernel large[] = {
        [WAY_LOCAL] = KERNEL_copy_runs,
        [WAY_PEERS] = KERNEL_copy_stride8,
        [WAY_HOST] = KERNEL_copy_stride,
    };

    if (is_tma(lane)) {
        return KERNEL_copy_tma;
    }
    return lane->bytes < BW_KERNEL_LARGE_BYTES ? KERNEL_copy_sweep : large[way_of(lane)];
}

static enum bw_status launch(struct bw_lane *lane, enum bw_kernel kernel, void **args)
{
    unsigned grid = 0;
    unsigned block = 0;

    bw_kernel_geometry(lane->gpu, kernel, lane->bytes, &grid, &block);
    return bw_kernel_launch(lane->gpu, kernel, grid, block, lane->stream, args);
}

/* Blocks for every pass, in as few launches as a grid's limit allows. */
static enum bw_status queue_runs(struct bw_lane *lane, unsigned long long copies)
{
    struct bw_path *path = &lane->paths[0];
    unsigned grid = 0;
    unsigned block = 0;
    enum bw_status st = BW_OK;

    bw_kernel_geometry(lane->gpu, KERNEL_copy_runs, lane->bytes, &grid, &block);
    while (copies > 0) {
        const unsigned long long most = grid < INT_MAX ? INT_MAX / grid : 1;
        uint64_t passes = copies < most ? copies : most;
        void *args[] = {&path->dst, &path->src, &lane->bytes, &passes};

        TRY(bw_kernel_launch(lane->gpu, KERNEL_copy_runs, (unsigned)(grid * passes), block,
                             lane->stream, args));
        copies -= passes;
    }
out:
    return st;
}

static enum bw_status queue_copies(struct bw_lane *lane, unsigned long long copies)
{
    const enum bw_kernel kernel = copy_kernel(lane);
    struct bw_path *path = &lane->paths[0];
    uint64_t passes = copies;
    void *args[] = {&path->dst, &path->src, &lane->bytes, &passes};

    return kernel == KERNEL_copy_runs ? queue_runs(lane, copies) : launch(lane, kernel, args);
}

static enum bw_status queue_read(struct bw_lane *lane, unsigned long long copies, unsigned i)
{
    struct bw_slip sum = bw_gpu_lane_report(lane, i);
    uint64_t passes = copies;
    void *args[] = {&lane->paths[0].src, &lane->bytes, &passes, &sum.device};

    return launch(lane, KERNEL_read, args);
}

static enum bw_status queue_write(struct bw_lane *lane, const struct bw_round *round,
                                  unsigned long long copies)
{
    uint32_t seed = bw_gpu_lane_seed(lane, round, 0);
    uint64_t passes = copies;
    void *args[] = {&lane->paths[0].dst, &lane->bytes, &passes, &seed};

    return launch(lane, KERNEL_write, args);
}

static enum bw_status queue_split(struct bw_lane *lane, unsigned long long copies, unsigned i)
{
    struct bw_path *forward = &lane->paths[0];
    struct bw_path *back = &lane->paths[1];
    struct bw_slip state = bw_gpu_lane_report(lane, i);
    uint64_t passes = copies;
    void *args[] = {&forward->dst, &forward->src, &back->dst,   &back->src,
                    &lane->bytes,  &passes,       &state.device};

    return launch(lane,
                  forward->src_end.mem == MEM_HOST ? KERNEL_copy_split_in : KERNEL_copy_split_out,
                  args);
}

/*
 * Each load needs the one before: one pass over the list, whatever the number
 * of copies. Every multiprocessor follows its part of it, one after the other,
 * because they are not equally far from a link.
 */
static enum bw_status queue_chase(struct bw_lane *lane, unsigned i)
{
    struct bw_slip report = bw_gpu_lane_report(lane, i);
    const uint32_t turns = (uint32_t)(lane->gpu->sm_count > 0 ? lane->gpu->sm_count : 1);
    const uint64_t nodes = lane->bytes / BW_CHASE_STRIDE;
    enum bw_status st = BW_OK;

    for (uint32_t turn = 0; turn < turns; turn++) {
        uint64_t loads = nodes * (turn + 1) / turns - nodes * turn / turns;
        void *args[] = {&loads, &turn, &report.device};

        TRY(bw_kernel_launch(lane->gpu, is_tma(lane) ? KERNEL_chase_tma : KERNEL_chase, turns, 1,
                             lane->stream, args));
    }
out:
    return st;
}

static enum bw_status queue_sample(struct bw_lane *lane, const struct bw_round *round,
                                   unsigned long long copies, unsigned i)
{
    if (copies == 0) {
        return BW_OK;
    }
    switch (lane->step->op) {
    case OP_CHASE:
        return queue_chase(lane, i);
    case OP_READ:
        return queue_read(lane, copies, i);
    case OP_WRITE:
        return queue_write(lane, round, copies);
    default:
        break;
    }
    return lane->lane_plan->is_split ? queue_split(lane, copies, i) : queue_copies(lane, copies);
}

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
    TRY(queue_sample(lane, &one, 2, 0));
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
        TRY(queue_sample(lane, round, bw_lane_load_copies(round), 0));
        return bw_gpu_lane_mark(lane, 0);
    }
    TRY(queue_sample(lane, round, round->warm, 0));
    TRY(send_reports(lane, round));
    TRY(bw_gpu_lane_begin(lane, round));
    for (unsigned i = 0; i < round->samples; i++) {
        TRY(queue_sample(lane, round, round->copies, i));
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
