/* SPDX-License-Identifier: Apache-2.0 */
#include "sm_queue.h"

#include "gpu_lane.h"

#include "params.h"

#include <limits.h>

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

enum bw_status bw_sm_queue(struct bw_lane *lane, const struct bw_round *round,
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
