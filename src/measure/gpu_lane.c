/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_lane.h"

#include "gate.h"
#include "multicast_area.h"
#include "params.h"
#include "pool.h"
#include "ranks.h"
#include "session.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

enum bw_status bw_gpu_lane_begin(struct bw_lane *lane, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    /* After the warm-up: what it has copied must not pass for what is measured. */
    TRY(bw_gpu_lane_poison(lane, round));
    TRY(bw_gate_hold(lane->session->gate, lane->gpu, lane->stream));
    TRY(CU(cu.EventRecord(lane->events[0], lane->stream)));
    lane->begun_ns = bw_clock_ns();
out:
    return st;
}

enum bw_status bw_gpu_lane_mark(struct bw_lane *lane, unsigned i)
{
    if (i == 0) {
        lane->submitted_ns = bw_clock_ns();
    }
    return CU(cu.EventRecord(lane->events[i + 1], lane->stream));
}

unsigned long long bw_lane_load_copies(const struct bw_round *round)
{
    const double copies = (double)round->copies * round->samples * round->load_factor;

    return (unsigned long long)ceil(copies) + 1;
}

/* Half a minute (less where other ranks wait, too), and as long as the bytes need at a tenth of the
 * slowest link there is. */
static uint64_t patience_ns(const struct bw_lane *lane, const struct bw_round *round)
{
    const double bytes = (double)lane->bytes * (double)round->copies;

    const uint64_t seconds = bw_testcase_is_multinode(lane->plan->tc) ? 15 : 30;

    return seconds * 1000 * 1000 * 1000 + (uint64_t)fmin(bytes / 0.1, 1e18);
}

static double between(uint64_t begin_ns, uint64_t end_ns)
{
    return end_ns > begin_ns ? (double)(end_ns - begin_ns) : 0;
}

/* What the host saw too late of the begin, it saw of the end: the sum is right. */
static enum bw_status tell_life(struct bw_lane *lane)
{
    const double run_ns = between(lane->released_ns, lane->seen_ended_ns);
    struct bw_life life = {
        .submit_ns = between(lane->begun_ns, lane->submitted_ns),
        .held_ns = between(lane->submitted_ns, lane->released_ns),
        .queue_ns = between(lane->released_ns, lane->seen_begun_ns),
    };
    enum bw_status st = BW_OK;
    float ms = 0;

    TRY(CU(cu.EventElapsedTime(&ms, lane->events[0], lane->events[1])));
    life.engine_ns = (double)ms * 1e6;
    life.queue_ns = fmin(life.queue_ns, fmax(run_ns - life.engine_ns, 0));
    life.completion_ns = fmax(run_ns - life.engine_ns - life.queue_ns, 0);
    lane->life = life;
out:
    return st;
}

enum bw_status bw_gpu_lane_wait(struct bw_lane *lane, const struct bw_round *round)
{
    const uint64_t patience = patience_ns(lane, round);
    uint64_t deadline_ns = bw_clock_ns() + patience;
    unsigned done = 0;
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(lane->gpu));
    for (unsigned looks = 0; done <= round->samples; looks++) {
        const CUresult res = lane->lane_plan->is_load ? cu.StreamQuery(lane->stream)
                                                      : cu.EventQuery(lane->events[done]);

        if (res == CUDA_SUCCESS) {
            const uint64_t now_ns = bw_clock_ns();

            lane->seen_begun_ns = done == 0 ? now_ns : lane->seen_begun_ns;
            lane->seen_ended_ns = done == 1 ? now_ns : lane->seen_ended_ns;
            done = lane->lane_plan->is_load ? round->samples + 1 : done + 1;
            deadline_ns = now_ns + patience;
            looks = 0;
            continue;
        }
        if (res != CUDA_ERROR_NOT_READY) {
            return CU(res);
        }
        if (bw_clock_ns() > deadline_ns) {
            bw_error("GPU %d: %s: the work of a sample did not end within %.0f s",
                     lane->gpu->ordinal, lane->plan->tc->name, (double)patience * 1e-9);
            bw_cu_give_up();
            return BW_ERR_TIMEOUT;
        }
        if (looks > 16) {
            bw_clock_sleep_us(looks < 64 ? 10 : 50);
        }
    }
    TRY(lane->lane_plan->is_load ? BW_OK : tell_life(lane));
out:
    return st;
}

enum bw_status bw_gpu_lane_drain(struct bw_lane *lane)
{
    static const struct bw_round two = {.samples = 1, .copies = 2};

    return bw_stream_wait(lane->stream, patience_ns(lane, &two), "warming up");
}

enum bw_status bw_gpu_lane_load_time(struct bw_lane *lane, double *load_ns)
{
    float ms = 0;
    enum bw_status st = BW_OK;

    TRY(CU(cu.EventElapsedTime(&ms, lane->events[0], lane->events[1])));
    *load_ns = (double)ms * 1e6;
out:
    return st;
}

enum bw_status bw_gpu_lane_elapsed(struct bw_lane *lane, const struct bw_round *round,
                                   double *marks_ns)
{
    enum bw_status st = BW_OK;

    for (unsigned i = 0; i < round->samples; i++) {
        float ms = 0;

        TRY(CU(cu.EventElapsedTime(&ms, lane->events[0], lane->events[i + 1])));
        marks_ns[i] = (double)ms * 1e6;
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
