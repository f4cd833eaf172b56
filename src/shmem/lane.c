/* SPDX-License-Identifier: Apache-2.0 */
/* A program of an operator as a lane of the measuring loop: one lane a rank. */
#include "profile.h"

#include "../measure/gate.h"
#include "../measure/gpu_lane.h"
#include "../measure/session.h"

#include "bwtool/log.h"

static struct shmem_program *program_of(const struct bw_lane *lane)
{
    return lane->lane_plan->program;
}

static int rank_of(const struct bw_lane *lane)
{
    return lane->lane_plan->issuer;
}

static bool is_checked(const struct bw_lane *lane)
{
    const struct shmem_program *program = program_of(lane);

    return program->kind != PROGRAM_STAGING && program->c->row->op != SHMEM_BARRIER;
}

static enum bw_status prepare(struct bw_lane *lane)
{
    struct shmem_program *program = program_of(lane);
    const int r = rank_of(lane);
    enum bw_status st = BW_OK;

    lane->bytes = program->c->message_bytes;
    lane->unit = 1;
    lane->entries_per_copy = shmem_entries(program->c, program->kind);
    lane->is_elsewhere = !shmem_is_here(program->c, r);
    if (lane->is_elsewhere) {
        return BW_OK;
    }
    lane->gpu = program->c->rank[r].gpu;
    TRY(bw_gpu_lane_open_stream(lane));
    TRY(shmem_side_open(&program->side[r], program->c, r));
out:
    return st;
}

/* Any work will do: an operator by itself would wait for ranks that are not warmed yet. */
static enum bw_status warm(struct bw_lane *lane)
{
    const uint64_t patience_ns = 60ULL * 1000 * 1000 * 1000;
    CUstream stream = bw_session_stream(lane->session, lane->gpu->ordinal);
    enum bw_status st = BW_OK;

    TRY(shmem_fill(program_of(lane)->c, rank_of(lane), program_of(lane)->kind, 0, stream));
    TRY(bw_stream_wait(stream, patience_ns, "warming up"));
out:
    return st;
}

/*
 * Of those ranks that a lane speaks for, the next one after `r` that this
 * process drives: its own, and the first lane's also those that only look on.
 * At first r is -1; so is the answer if there are no more.
 */
static int next_rank(const struct bw_lane *lane, int r)
{
    const struct shmem_case *c = program_of(lane)->c;
    const int own = rank_of(lane);

    do {
        r = r < own ? own : own != 0 ? c->ranks : r < shmem_issuers(c) ? shmem_issuers(c) : r + 1;
    } while (r < c->ranks && !shmem_is_here(c, r));
    return r < c->ranks ? r : -1;
}

static enum bw_status fill(struct bw_lane *lane, const struct bw_round *round)
{
    struct shmem_case *c = program_of(lane)->c;
    enum bw_status st = BW_OK;

    for (int r = next_rank(lane, -1); r >= 0 && is_checked(lane); r = next_rank(lane, r)) {
        CUstream stream = bw_session_stream(lane->session, c->rank[r].gpu->ordinal);

        TRY(shmem_fill(c, r, program_of(lane)->kind, round->seed, stream));
        if (r != rank_of(lane)) { /* whose lane does it behind the warm-up */
            TRY(shmem_spoil(c, r, round->seed, stream));
        }
    }
out:
    return st;
}

static enum bw_status queue_iterations(struct bw_lane *lane, unsigned long long count)
{
    struct shmem_program *program = program_of(lane);
    const int r = rank_of(lane);
    enum bw_status st = BW_OK;

    for (unsigned long long i = 0; i < count; i++) {
        TRY(shmem_queue(program->c, r, program->kind, lane->stream, &program->side[r]));
    }
out:
    return st;
}

static enum bw_status enqueue(struct bw_lane *lane, const struct bw_round *round)
{
    struct shmem_program *program = program_of(lane);
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(lane->gpu));
    shmem_profile_record(program->c, rank_of(lane), false);
    TRY(queue_iterations(lane, shmem_warm(program->c, program->kind)));
    shmem_profile_record(program->c, rank_of(lane), true);
    /* After the warm-up: what it brought must not pass for what is measured. */
    if (is_checked(lane)) {
        TRY(program->c->row->op == SHMEM_PUT
                ? shmem_spoil_put(program->c, round->seed, lane->stream)
                : shmem_spoil(program->c, rank_of(lane), round->seed, lane->stream));
    }
    TRY(bw_gate_hold(lane->session->gate, lane->gpu, lane->stream));
    TRY(CU(cu.EventRecord(lane->events[0], lane->stream)));
    for (unsigned i = 0; i < round->samples; i++) {
        TRY(queue_iterations(lane, round->copies));
        TRY(bw_gpu_lane_mark(lane, i));
    }
out:
    return st;
}

/* A hidden test hook: what is compared must be seen to be wrong. */
static enum bw_status corrupt(struct bw_lane *lane, int r, CUstream stream)
{
    struct shmem_program *program = program_of(lane);
    const bool is_copied = program->kind == PROGRAM_E2E && shmem_has_staging(program->c);
    CUdeviceptr out = is_copied ? program->c->rank[r].user_out : program->c->rank[r].out;
    uint64_t word = lane->sampling->corrupt_word % ((program->c->message_bytes + 3) / 4);
    void *args[] = {&out, &word};

    if (lane->sampling->corrupt_word == UINT64_MAX) {
        return BW_OK;
    }
    return bw_kernel_launch(program->c->rank[r].gpu, KERNEL_corrupt, 1, 1, stream, args);
}

static enum bw_status verify_rank(struct bw_lane *lane, const struct bw_round *round, int r)
{
    struct shmem_program *program = program_of(lane);
    struct shmem_case *c = program->c;
    CUstream stream = bw_session_stream(lane->session, c->rank[r].gpu->ordinal);
    enum bw_status st = BW_OK;

    TRY(shmem_check_begin(c, r, stream));
    if (!lane->sampling->skip_verification && is_checked(lane) && shmem_is_checked(c, r)) {
        TRY(corrupt(lane, r, stream));
        TRY(shmem_check(c, r, program->kind, round->seed, stream));
    }
    TRY(shmem_check_fetch(c, r, stream));
out:
    return st;
}

static enum bw_status verify(struct bw_lane *lane, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    for (int r = next_rank(lane, -1); r >= 0; r = next_rank(lane, r)) {
        TRY(verify_rank(lane, round, r));
    }
out:
    return st;
}

static enum bw_status verdict(struct bw_lane *lane, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    (void)round;
    for (int r = next_rank(lane, -1); r >= 0; r = next_rank(lane, r)) {
        TRY(shmem_check_verdict(program_of(lane)->c, r, "after the timed loop"));
    }
out:
    return st;
}

/* Also after a failure: what waits for another rank comes to its end before the memory is given
 * away. */
static void finish(struct bw_lane *lane)
{
    if (lane->lane_plan != NULL && lane->gpu != NULL) {
        const int r = rank_of(lane);
        const struct shmem_case *c = program_of(lane)->c;

        if (lane->stream != NULL && !bw_cu_context_lost() && bw_gpu_use(lane->gpu) == BW_OK) {
            (void)bw_stream_wait(lane->stream, shmem_patience_ns(c), "an operator's last work");
        }
        shmem_side_close(&program_of(lane)->side[r], c, r);
    }
    bw_gpu_lane_finish(lane);
}

const struct bw_engine_ops bw_engine_shmem = {
    .copies_per_entry = 1,
    .has_waits = true,
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
