/* SPDX-License-Identifier: Apache-2.0 */
/* What a GPU's lane works on: its buffers and the pattern in them, its stream and events. */
#include "gpu_lane.h"

#include "multicast_area.h"
#include "params.h"
#include "pool.h"
#include "ranks.h"
#include "session.h"

#include "bwtool/log.h"

#include <stdlib.h>

/* What is copied back gets another pattern than what is copied forward. */
uint32_t bw_gpu_lane_seed(const struct bw_lane *lane, const struct bw_round *round, unsigned path)
{
    return round->seed + 2 * lane->number + path;
}

/* This process's GPU by whose work the memory of an end is written and compared; -1: none. */
int bw_gpu_lane_owner(const struct bw_lane *lane, struct bw_end end)
{
    if (end.mem == MEM_MULTICAST) {
        return lane->session->own; /* of each rank, a part */
    }
    if (bw_testcase_is_multinode(lane->plan->tc)) {
        return end.id == lane->session->world->rank ? lane->session->own : -1;
    }
    return end.id;
}

/* Host memory is near to the GPU that its end names; what ranks share, all take in step. */
static enum bw_status take(struct bw_lane *lane, struct bw_end end, CUdeviceptr *ptr)
{
    const int owner = bw_gpu_lane_owner(lane, end);
    enum bw_status st = BW_OK;

    if (end.mem == MEM_SHARED) {
        return bw_ranks_take(lane->session->ranks, end.id, ptr);
    }
    if (owner < 0) {
        return BW_OK;
    }
    TRY(bw_gpu_use(&lane->session->gpus.gpus[owner]));
    if (end.mem == MEM_HOST && lane->sampling->bind) {
        /* Pages come from where the thread is bound: for this buffer, near to its GPU. */
        TRY(bw_session_bind(lane->session, owner));
    }
    TRY(bw_pool_take(lane->session->pool, end.mem == MEM_HOST, owner, lane->bytes, ptr));
    if (end.mem == MEM_HOST && lane->sampling->bind) {
        TRY(bw_session_bind(lane->session, (lane->lane_plan - lane->number)->issuer));
    }
out:
    return st;
}

/* A destination may have another address for those who write it than for those who own it. */
static enum bw_status take_dst(struct bw_lane *lane, struct bw_path *path)
{
    enum bw_status st = BW_OK;

    if (path->dst_end.mem == MEM_MULTICAST) {
        return bw_multicast_area_take(lane->session, &path->dst, &path->seen);
    }
    TRY(take(lane, path->dst_end, &path->dst));
    path->seen = path->dst;
out:
    return st;
}

/* Where what a comparison finds is told; nowhere, if it is another rank's to compare. */
static struct bw_slip check_slip(const struct bw_lane *lane, struct bw_end end, unsigned kind)
{
    const int owner = bw_gpu_lane_owner(lane, end);

    return owner < 0 ? (struct bw_slip){0}
                     : bw_session_slip(lane->session, owner, lane->number, kind);
}

/* Runs on the GPU that owns the memory, so that what is written and compared is what is there. */
enum bw_status bw_gpu_lane_at_owner(const struct bw_lane *lane, struct bw_end end,
                                    enum bw_kernel kernel, void **args)
{
    const int number = bw_gpu_lane_owner(lane, end);
    const struct bw_gpu *owner = NULL;
    unsigned grid = 0;
    unsigned block = 0;
    enum bw_status st = BW_OK;

    if (number < 0) {
        return BW_OK;
    }
    owner = &lane->session->gpus.gpus[number];
    bw_kernel_geometry(owner, kernel, lane->bytes, &grid, &block);
    TRY(bw_gpu_use(owner));
    TRY(bw_kernel_launch(owner, kernel, grid, block, bw_session_stream(lane->session, number),
                         args));
out:
    return st;
}

struct bw_slip bw_gpu_lane_report(const struct bw_lane *lane, unsigned i)
{
    const size_t offset = (size_t)i * BW_SLIP_BYTES;

    return (struct bw_slip){lane->work.device + offset, (char *)lane->work.host + offset};
}

/* The chase's list: written once, by one kernel of the memory's owner. */
enum bw_status bw_gpu_lane_build_list(struct bw_lane *lane)
{
    uint32_t stride = BW_CHASE_STRIDE;
    uint32_t nodes = (uint32_t)(lane->bytes / stride);
    void *args[] = {&lane->paths[0].src, &nodes, &stride};

    return bw_gpu_lane_at_owner(lane, lane->paths[0].src_end, KERNEL_chase_build, args);
}

static enum bw_status take_buffers(struct bw_lane *lane)
{
    struct bw_path *path = &lane->paths[0];
    enum bw_status st = BW_OK;

    *path = (struct bw_path){.src_end = lane->step->src, .dst_end = lane->step->dst};
    if (lane->step->op == OP_CHASE) {
        const bool by_src = lane->lane_plan->issuer == path->src_end.id;

        /* The list is at the end that does not issue; beside host memory, there. */
        path->src_end = path->src_end.mem == MEM_HOST || !by_src ? path->src_end : path->dst_end;
        TRY(take(lane, path->src_end, &path->src));
        path->check = check_slip(lane, path->src_end, 0);
        return bw_gpu_lane_build_list(lane);
    }
    if (lane->step->op != OP_WRITE) {
        TRY(take(lane, path->src_end, &path->src));
    }
    if (lane->step->op != OP_READ) {
        TRY(take_dst(lane, path));
    }
    path->check = check_slip(lane, path->dst_end, 0);
    lane->path_count = 1;
    if (lane->lane_plan->is_split) {
        path = &lane->paths[1];
        *path = (struct bw_path){.src_end = lane->step->dst, .dst_end = lane->step->src};
        TRY(take(lane, path->src_end, &path->src));
        TRY(take_dst(lane, path));
        path->check = check_slip(lane, path->dst_end, 1);
        lane->path_count = 2;
    }
out:
    return st;
}

enum bw_status bw_gpu_lane_open_stream(struct bw_lane *lane)
{
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(lane->gpu));
    TRY(CU(cu.StreamCreate(&lane->stream, CU_STREAM_NON_BLOCKING)));
    lane->events = calloc(BW_ROUND_SAMPLES_MAX + 1, sizeof(CUevent));
    if (lane->events == NULL) {
        return bw_errno("no memory for events");
    }
    for (; lane->event_count < BW_ROUND_SAMPLES_MAX + 1; lane->event_count++) {
        TRY(CU(cu.EventCreate(&lane->events[lane->event_count], CU_EVENT_DEFAULT)));
    }
out:
    return st;
}

enum bw_status bw_gpu_lane_prepare(struct bw_lane *lane)
{
    const struct bw_session *session = lane->session;
    const bool is_shared = bw_testcase_is_multinode(lane->plan->tc);
    enum bw_status st = BW_OK;

    lane->is_elsewhere = is_shared && lane->lane_plan->issuer != session->world->rank;
    if (!lane->is_elsewhere) {
        lane->gpu = &session->gpus.gpus[is_shared ? session->own : lane->lane_plan->issuer];
    }
    lane->bytes = lane->step->op == OP_CHASE ? BW_CHASE_BYTES : lane->sampling->buffer_bytes;
    lane->entries_per_copy =
        lane->step->op == OP_CHASE && lane->gpu != NULL ? (unsigned)lane->gpu->sm_count + 1 : 1;
    lane->unit = lane->step->op == OP_CHASE ? lane->bytes / BW_CHASE_STRIDE : lane->bytes;
    TRY(take_buffers(lane));
    if (lane->gpu == NULL) {
        return BW_OK; /* elsewhere */
    }
    lane->work = bw_session_slip(lane->session, lane->gpu->ordinal, lane->number, 2);
    TRY(bw_gpu_lane_open_stream(lane));
out:
    return st;
}

enum bw_status bw_gpu_lane_fill(struct bw_lane *lane, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    for (unsigned i = 0; i < lane->path_count && lane->step->op != OP_WRITE; i++) {
        uint32_t seed = bw_gpu_lane_seed(lane, round, i);
        void *args[] = {&lane->paths[i].src, &lane->bytes, &seed};

        TRY(bw_gpu_lane_at_owner(lane, lane->paths[i].src_end, KERNEL_fill, args));
    }
out:
    return st;
}

enum bw_status bw_gpu_lane_poison(struct bw_lane *lane, const struct bw_round *round)
{
    unsigned grid = 0;
    unsigned block = 0;
    enum bw_status st = BW_OK;

    for (unsigned i = 0; i < lane->path_count && lane->step->op != OP_READ; i++) {
        const enum bw_kernel kernel =
            lane->paths[i].dst_end.mem == MEM_MULTICAST ? KERNEL_multicast_poison : KERNEL_poison;
        uint32_t seed = bw_gpu_lane_seed(lane, round, i);
        void *args[] = {&lane->paths[i].dst, &lane->bytes, &seed};

        bw_kernel_geometry(lane->gpu, kernel, lane->bytes, &grid, &block);
        TRY(bw_kernel_launch(lane->gpu, kernel, grid, block, lane->stream, args));
    }
out:
    return st;
}

void bw_gpu_lane_finish(struct bw_lane *lane)
{
    if (lane->gpu != NULL && !bw_cu_context_lost() && bw_gpu_use(lane->gpu) == BW_OK) {
        for (unsigned i = 0; i < lane->event_count; i++) {
            CU_WARN(cu.EventDestroy(lane->events[i]));
        }
        if (lane->stream != NULL) {
            CU_WARN(cu.StreamDestroy(lane->stream));
        }
    }
    free(lane->events);
    *lane = (struct bw_lane){.ops = lane->ops};
}
