/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL as lanes of the measuring loop: one a GPU. A group of calls is of all
 * GPUs at once, so that the last lane queues for all of them; what a gate holds
 * is bounded, because NCCL waits where too much is queued.
 */
#include "nccl.h"

#include "../measure/gate.h"
#include "../measure/gpu_lane.h"
#include "../measure/session.h"

#include "bwtool/log.h"

#include <stdlib.h>

/*
 * Entries of a queue that a call takes at most: its kernel, and the events
 * that NCCL puts around it. So 45 iterations wait behind a gate, of which a
 * sample has 40; a graph is launched as one.
 */
enum { ENTRIES_OF_CALL = 7 };

/* What the loop is told that it measures. */
static const struct bw_testcase timed = {
    .name = "NCCL",
    .shape = SHAPE_FAN,
    .row = MEM_DEVICE,
    .col = MEM_DEVICE,
    .engine = ENGINE_SM,
    .op = OP_OPERATOR,
};

static struct nccl_program *program_of(const struct bw_lane *lane)
{
    return lane->lane_plan->program;
}

static bool is_last(const struct bw_lane *lane)
{
    return lane->lane_plan->issuer == program_of(lane)->lane_count - 1;
}

static enum bw_status use(const struct nccl_program *program, int r)
{
    return bw_gpu_use(program->lanes[r]->gpu);
}

static enum bw_status prepare(struct bw_lane *lane)
{
    struct nccl_program *program = program_of(lane);
    const int r = lane->lane_plan->issuer;

    program->lanes[r] = lane;
    lane->gpu = program->c->rank[r].gpu;
    lane->bytes = program->c->message_bytes;
    lane->unit = 1;
    lane->entries_per_copy = program->mode == BASELINE_GRAPH ? 1 : ENTRIES_OF_CALL;
    return bw_gpu_lane_open_stream(lane);
}

/* Until all GPUs have done what no gate holds. */
static enum bw_status wait_all(const struct nccl_program *program, const char *what)
{
    const uint64_t patience_ns = 60ULL * 1000 * 1000 * 1000;
    enum bw_status st = BW_OK;

    for (int r = 0; r < program->lane_count; r++) {
        TRY(use(program, r));
        TRY(bw_stream_wait(program->lanes[r]->stream, patience_ns, what));
    }
out:
    program->job->is_broken |= st != BW_OK;
    return st;
}

/* The first calls connect the GPUs and wait for each other: never behind a gate. */
static enum bw_status connect(struct nccl_program *program)
{
    enum bw_status st = BW_OK;

    for (int i = 0; i < SHMEM_WARM; i++) {
        TRY(nccl_call(program));
    }
    TRY(wait_all(program, "NCCL's first calls"));
    program->is_connected = true;
out:
    return st;
}

static void drop_graphs(struct nccl_program *program)
{
    for (int r = 0; r < program->lane_count; r++) {
        if (program->graphs[r] != NULL && !bw_cu_context_lost() && use(program, r) == BW_OK) {
            CU_WARN(cu.GraphExecDestroy(program->graphs[r]));
        }
        program->graphs[r] = NULL;
    }
    program->captured = 0;
}

/* End all captures that have begun, whatever came between, and make graphs of them. */
static enum bw_status end_captures(struct nccl_program *program, int begun, enum bw_status so_far)
{
    enum bw_status worst = so_far;

    for (int r = 0; r < begun; r++) {
        CUgraph graph = NULL;
        enum bw_status st = use(program, r);

        st = st == BW_OK ? CU(cu.StreamEndCapture(program->lanes[r]->stream, &graph)) : st;
        if (st == BW_OK && worst == BW_OK) {
            st = CU(cu.GraphInstantiate(&program->graphs[r], graph, 0));
        }
        if (graph != NULL) {
            CU_WARN(cu.GraphDestroy(graph));
        }
        worst = st > worst ? st : worst;
    }
    return worst;
}

/* A graph for each GPU, of so many iterations; before the gate is shut. */
static enum bw_status capture(struct nccl_program *program, unsigned long long iterations)
{
    enum bw_status st = BW_OK;
    int begun = 0;

    drop_graphs(program);
    for (; begun < program->lane_count && st == BW_OK; begun += st == BW_OK) {
        st = use(program, begun);
        st = st == BW_OK ? CU(cu.StreamBeginCapture(program->lanes[begun]->stream,
                                                    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
                         : st;
    }
    for (unsigned long long i = 0; i < iterations && st == BW_OK; i++) {
        st = nccl_call(program);
    }
    st = end_captures(program, begun, st);
    program->captured = st == BW_OK ? iterations : 0;
    return st;
}

/* Where one GPU's cannot be launched, those before it wait for it for ever. */
static enum bw_status launch_graphs(const struct nccl_program *program)
{
    enum bw_status st = BW_OK;

    for (int r = 0; r < program->lane_count; r++) {
        TRY(use(program, r));
        TRY(CU(cu.GraphLaunch(program->graphs[r], program->lanes[r]->stream)));
    }
out:
    program->job->is_broken |= st != BW_OK;
    return st;
}

static enum bw_status queue_iterations(const struct nccl_program *program,
                                       unsigned long long iterations)
{
    enum bw_status st = BW_OK;

    if (program->mode == BASELINE_GRAPH) {
        return launch_graphs(program);
    }
    for (unsigned long long i = 0; i < iterations; i++) {
        TRY(nccl_call(program));
    }
out:
    return st;
}

/* What must not happen behind a gate; the first launch of a graph brings it to the GPU. */
static enum bw_status make_ready(struct nccl_program *program, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    if (!program->is_connected) {
        TRY(connect(program));
    }
    if (program->mode != BASELINE_GRAPH || program->captured == round->copies) {
        return BW_OK;
    }
    TRY(capture(program, round->copies));
    TRY(queue_iterations(program, round->copies));
    TRY(wait_all(program, "a graph's first launch"));
out:
    return st;
}

static enum bw_status warm(struct bw_lane *lane)
{
    return is_last(lane) ? connect(program_of(lane)) : BW_OK;
}

/* All ranks' inputs, also of those that only look on. */
static enum bw_status fill(struct bw_lane *lane, const struct bw_round *round)
{
    struct nccl_program *program = program_of(lane);
    struct shmem_case *c = program->c;
    enum bw_status st = BW_OK;

    if (!is_last(lane)) {
        return BW_OK;
    }
    TRY(make_ready(program, round));
    for (int r = 0; r < program->lane_count && program->is_checked; r++) {
        TRY(shmem_fill(c, r, PROGRAM_KERNEL, round->seed,
                       bw_session_stream(lane->session, c->rank[r].gpu->ordinal)));
    }
out:
    return st;
}

static enum bw_status spoil_and_hold(struct nccl_program *program, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    for (int r = 0; r < program->lane_count; r++) {
        struct bw_lane *lane = program->lanes[r];

        TRY(use(program, r));
        if (program->is_checked) {
            TRY(shmem_spoil(program->c, r, round->seed, lane->stream));
        }
        TRY(bw_gate_hold(lane->session->gate, lane->gpu, lane->stream));
        TRY(CU(cu.EventRecord(lane->events[0], lane->stream)));
    }
out:
    return st;
}

static enum bw_status enqueue(struct bw_lane *lane, const struct bw_round *round)
{
    struct nccl_program *program = program_of(lane);
    enum bw_status st = BW_OK;

    if (!is_last(lane)) {
        return BW_OK;
    }
    TRY(queue_iterations(program, shmem_warm(program->c, PROGRAM_KERNEL)));
    TRY(spoil_and_hold(program, round));
    for (unsigned i = 0; i < round->samples; i++) {
        TRY(queue_iterations(program, round->copies));
        for (int r = 0; r < program->lane_count; r++) {
            TRY(use(program, r));
            TRY(bw_gpu_lane_mark(program->lanes[r], i));
        }
    }
out:
    return st;
}

static enum bw_status verify(struct bw_lane *lane, const struct bw_round *round)
{
    struct nccl_program *program = program_of(lane);
    struct shmem_case *c = program->c;
    const int r = lane->lane_plan->issuer;
    CUstream stream = bw_session_stream(lane->session, lane->gpu->ordinal);
    enum bw_status st = BW_OK;

    if (!program->is_checked) {
        return BW_OK;
    }
    TRY(shmem_check_begin(c, r, stream));
    TRY(shmem_check(c, r, PROGRAM_KERNEL, round->seed, stream));
    TRY(shmem_check_fetch(c, r, stream));
out:
    return st;
}

static enum bw_status verdict(struct bw_lane *lane, const struct bw_round *round)
{
    const struct nccl_program *program = program_of(lane);

    (void)round;
    return program->is_checked
               ? shmem_check_verdict(program->c, lane->lane_plan->issuer, "in NCCL's output")
               : BW_OK;
}

static void finish(struct bw_lane *lane)
{
    if (lane->lane_plan != NULL && lane->gpu != NULL && lane->lane_plan->issuer == 0) {
        drop_graphs(program_of(lane)); /* the first to finish: all streams are still there */
    }
    bw_gpu_lane_finish(lane);
}

const struct bw_engine_ops bw_engine_nccl = {
    .copies_per_entry = 1,
    .prepare = prepare,
    .warm = warm,
    .fill = fill,
    .enqueue = enqueue,
    .wait = bw_gpu_lane_wait,
    .load_time = bw_gpu_lane_load_time,
    .elapsed = bw_gpu_lane_elapsed,
    .verify = verify,
    .verdict = verdict,
    .finish = finish,
};

enum bw_status nccl_plan_build(struct bw_plan *plan, struct nccl_program *program)
{
    const size_t lanes = (size_t)program->lane_count;

    *plan = (struct bw_plan){.tc = &timed, .rows = 1, .cols = 1, .launch_count = 1};
    plan->launches = calloc(1, sizeof(*plan->launches));
    plan->lanes = calloc(lanes, sizeof(*plan->lanes));
    plan->steps = calloc(lanes, sizeof(*plan->steps));
    if (plan->launches == NULL || plan->lanes == NULL || plan->steps == NULL) {
        bw_plan_free(plan);
        return bw_errno("no memory for the plan of NCCL");
    }
    plan->launches[0].lane_count = lanes;
    plan->lane_count = plan->step_count = lanes;
    for (size_t r = 0; r < lanes; r++) {
        const struct bw_end own = {MEM_DEVICE, (int)r};

        plan->steps[r] = (struct bw_step){OP_OPERATOR, own, own};
        plan->lanes[r] = (struct bw_lane_plan){.engine = ENGINE_SM,
                                               .ops = &bw_engine_nccl,
                                               .program = program,
                                               .issuer = (int)r,
                                               .scale = 1,
                                               .step = r,
                                               .step_count = 1};
    }
    return BW_OK;
}
