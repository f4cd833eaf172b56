/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by the GPU's copy engines: cuMemcpyAsync, one call a copy. */
#include "gpu_lane.h"

static enum bw_status queue_copies(struct bw_lane *lane, unsigned long long copies)
{
    const struct bw_path *path = &lane->paths[0];
    enum bw_status st = BW_OK;

    for (unsigned long long i = 0; i < copies; i++) {
        TRY(CU(cu.MemcpyAsync(path->dst, path->src, lane->bytes, lane->stream)));
    }
out:
    return st;
}

static enum bw_status warm(struct bw_lane *lane)
{
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(lane->gpu));
    TRY(queue_copies(lane, 2));
    TRY(bw_gpu_lane_drain(lane));
out:
    return st;
}

static enum bw_status enqueue(struct bw_lane *lane, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(lane->gpu));
    if (lane->lane_plan->is_load) {
        TRY(bw_gpu_lane_begin(lane, round));
        TRY(queue_copies(lane, bw_lane_load_copies(round)));
        return bw_gpu_lane_mark(lane, 0);
    }
    TRY(queue_copies(lane, round->warm));
    TRY(bw_gpu_lane_begin(lane, round));
    for (unsigned i = 0; i < round->samples; i++) {
        TRY(queue_copies(lane, round->copies));
        TRY(bw_gpu_lane_mark(lane, i));
    }
out:
    return st;
}

const struct bw_engine_ops bw_engine_ce = {
    .copies_per_entry = 1,
    .prepare = bw_gpu_lane_prepare,
    .warm = warm,
    .fill = bw_gpu_lane_fill,
    .enqueue = enqueue,
    .wait = bw_gpu_lane_wait,
    .load_time = bw_gpu_lane_load_time,
    .elapsed = bw_gpu_lane_elapsed,
    .verify = bw_gpu_lane_verify,
    .verdict = bw_gpu_lane_verdict,
    .finish = bw_gpu_lane_finish,
};
