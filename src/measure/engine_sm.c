/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work by the GPU's multiprocessors: one kernel does all copies of a sample,
 * sweeping the whole buffer each time.
 */
#include "gpu_lane.h"

#include "params.h"
#include "session.h"

#include "bwtool/log.h"

#include <string.h>

/* True if the bytes cross a link between GPUs. */
static bool crosses_peers(const struct bw_lane *lane)
{
    const struct bw_end src = lane->paths[0].src_end;
    const struct bw_end dst = lane->paths[0].dst_end;

    return src.mem != MEM_HOST && dst.mem != MEM_HOST && src.id != dst.id;
}

/* Chosen by measurement: docs/MEASUREMENTS.md has what was tried. */
static enum bw_kernel copy_kernel(const struct bw_lane *lane)
{
    if (lane->bytes < BW_KERNEL_LARGE_BYTES) {
        return KERNEL_copy_sweep;
    }
    return crosses_peers(lane) ? KERNEL_copy_stride8 : KERNEL_copy_stride;
}

static enum bw_status launch(struct bw_lane *lane, enum bw_kernel kernel, void **args)
{
    unsigned grid = 0;
    unsigned block = 0;

    bw_kernel_geometry(lane->gpu, kernel, lane->bytes, &grid, &block);
    return bw_kernel_launch(lane->gpu, kernel, grid, block, lane->stream, args);
}

static enum bw_status queue_copies(struct bw_lane *lane, unsigned long long copies)
{
    struct bw_path *path = &lane->paths[0];
    uint64_t passes = copies;
    void *args[] = {&path->dst, &path->src, &lane->bytes, &passes};

    return launch(lane, copy_kernel(lane), args);
}

/* The i-th report of the lane's kernels: one a sample. */
static struct bw_slip report_of(const struct bw_lane *lane, unsigned i)
{
    const size_t offset = (size_t)i * BW_SLIP_BYTES;

    return (struct bw_slip){lane->work.device + offset, (char *)lane->work.host + offset};
}

static enum bw_status queue_split(struct bw_lane *lane, unsigned long long copies, unsigned i)
{
    struct bw_path *forward = &lane->paths[0];
    struct bw_path *back = &lane->paths[1];
    struct bw_slip state = report_of(lane, i);
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
    struct bw_slip report = report_of(lane, i);
    const uint32_t turns = (uint32_t)(lane->gpu->sm_count > 0 ? lane->gpu->sm_count : 1);
    const uint64_t nodes = lane->bytes / BW_CHASE_STRIDE;
    enum bw_status st = BW_OK;

    for (uint32_t turn = 0; turn < turns; turn++) {
        uint64_t loads = nodes * (turn + 1) / turns - nodes * turn / turns;
        void *args[] = {&loads, &turn, &report.device};

        TRY(bw_kernel_launch(lane->gpu, KERNEL_chase, turns, 1, lane->stream, args));
    }
out:
    return st;
}

static enum bw_status queue_sample(struct bw_lane *lane, unsigned long long copies, unsigned i)
{
    if (copies == 0) {
        return BW_OK;
    }
    if (lane->step->op == OP_CHASE) {
        return queue_chase(lane, i);
    }
    return lane->lane_plan->is_split ? queue_split(lane, copies, i) : queue_copies(lane, copies);
}

static bool has_reports(const struct bw_lane *lane)
{
    return lane->step->op == OP_CHASE || lane->lane_plan->is_split;
}

/* What the kernels' reports start from: all zero, but for where a chase begins. */
static void begin_reports(struct bw_lane *lane, const struct bw_round *round)
{
    memset(lane->work.host, 0, (size_t)round->samples * BW_SLIP_BYTES);
    for (unsigned i = 0; lane->step->op == OP_CHASE && i < round->samples; i++) {
        struct bw_chase_report *report = report_of(lane, i).host;

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
    TRY(queue_sample(lane, 2, 0));
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
        TRY(queue_sample(lane, bw_lane_load_copies(round), 0));
        return bw_gpu_lane_mark(lane, 0);
    }
    TRY(queue_sample(lane, round->warm, 0));
    TRY(send_reports(lane, round));
    TRY(bw_gpu_lane_begin(lane, round));
    for (unsigned i = 0; i < round->samples; i++) {
        TRY(queue_sample(lane, round->copies, i));
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
    const struct bw_chase_report *report = report_of(lane, i).host;

    return (double)report->ns;
}

/* The named direction's own time; the kernel ends only when the other one has stopped, too. */
static double split_ns(struct bw_lane *lane, unsigned i)
{
    const struct bw_split_state *state = report_of(lane, i).host;
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
        const struct bw_chase_report *report = report_of(lane, i).host;

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

static enum bw_status verify(struct bw_lane *lane, const struct bw_round *round)
{
    return lane->step->op == OP_CHASE ? bw_gpu_lane_verify_list(lane)
                                      : bw_gpu_lane_verify(lane, round);
}

static enum bw_status verdict(struct bw_lane *lane, const struct bw_round *round)
{
    return lane->step->op == OP_CHASE ? chase_verdict(lane, round)
                                      : bw_gpu_lane_verdict(lane, round);
}

const struct bw_engine_ops bw_engine_sm = {
    .copies_per_entry = 1024,
    .prepare = bw_gpu_lane_prepare,
    .warm = warm,
    .fill = bw_gpu_lane_fill,
    .enqueue = enqueue,
    .wait = bw_gpu_lane_wait,
    .load_time = bw_gpu_lane_load_time,
    .elapsed = elapsed,
    .verify = verify,
    .verdict = verdict,
    .finish = bw_gpu_lane_finish,
};
