/* SPDX-License-Identifier: Apache-2.0 */
/* Work by pinned threads of a NUMA node: the job's own barrier is the gate. */
#include "lane.h"

#include "bwtool/clock.h"
#include "bwtool/cpu.h"

#include <math.h>

/* Bound on passes that are not timed. */
static const uint64_t warm_patience_ns = 120ULL * 1000 * 1000 * 1000;

static struct bw_cpu_spec spec_of(const struct bw_lane *lane)
{
    static const enum bw_cpu_op ops[] = {
        [OP_COPY] = CPU_COPY,
        [OP_READ] = CPU_READ,
        [OP_WRITE] = CPU_WRITE,
        [OP_CHASE] = CPU_CHASE,
    };
    const struct bw_step *step = lane->step;
    /* The row's CPUs work; a copy is from memory of their own node. */
    const bool issuer_is_src = lane->lane_plan->issuer == step->src.id;
    const int memory = issuer_is_src ? step->dst.id : step->src.id;

    return (struct bw_cpu_spec){
        .op = ops[step->op],
        .cpu_node = lane->lane_plan->issuer,
        .src_node = step->op == OP_COPY ? step->src.id : memory,
        .dst_node = step->op == OP_COPY ? step->dst.id : memory,
        .bytes = step->op == OP_CHASE ? 0 : lane->sampling->buffer_bytes,
    };
}

static char *waiver(const struct bw_lane *lane)
{
    const struct bw_cpu_spec spec = spec_of(lane);

    return bw_cpu_waiver(lane->session->topology, &spec);
}

static enum bw_status prepare(struct bw_lane *lane)
{
    const struct bw_cpu_spec spec = spec_of(lane);
    enum bw_status st = BW_OK;

    TRY(bw_cpu_job_open(&lane->job, lane->session->topology, &spec));
    lane->bytes = bw_cpu_job_bytes(lane->job);
    lane->unit = bw_cpu_job_unit(lane->job);
    lane->entries_per_copy = 1;
out:
    return st;
}

static enum bw_status fill(struct bw_lane *lane, const struct bw_round *round)
{
    return bw_cpu_job_fill(lane->job, round->seed);
}

static enum bw_status enqueue(struct bw_lane *lane, const struct bw_round *round)
{
    double warm_ns = 0;
    enum bw_status st = BW_OK;

    if (round->warm != 0) {
        TRY(bw_cpu_job_start(lane->job, round->warm, 1));
        bw_cpu_job_release(lane->job);
        TRY(bw_cpu_job_wait(lane->job, bw_clock_ns() + warm_patience_ns, &warm_ns));
    }
    TRY(bw_cpu_job_poison(lane->job, round->seed));
    TRY(bw_cpu_job_start(lane->job, round->copies, round->samples));
    lane->is_started = true;
out:
    return st;
}

static void release(struct bw_lane *lane)
{
    if (lane->is_started) {
        bw_cpu_job_release(lane->job);
    }
}

static enum bw_status wait(struct bw_lane *lane, const struct bw_round *round)
{
    /* Half a minute, and as long as a tenth of a GB/s or 10 us a load would take. */
    const double unit_ns = lane->step->op == OP_CHASE ? 10e3 : 10;
    const double ns = (double)lane->unit * unit_ns * (double)round->copies * (double)round->samples;

    if (!lane->is_started) {
        return BW_OK;
    }
    lane->is_started = false;
    return bw_cpu_job_wait(lane->job, bw_clock_ns() + 30000000000ULL + (uint64_t)fmin(ns, 1e18),
                           lane->sample_ns);
}

static enum bw_status elapsed(struct bw_lane *lane, const struct bw_round *round, double *marks_ns)
{
    double sum = 0;

    for (unsigned i = 0; i < round->samples; i++) {
        sum += lane->sample_ns[i];
        marks_ns[i] = sum;
    }
    return BW_OK;
}

static enum bw_status verify(struct bw_lane *lane, const struct bw_round *round)
{
    (void)round;
    if (lane->sampling->corrupt_word != UINT64_MAX) {
        bw_cpu_job_corrupt(lane->job, lane->sampling->corrupt_word);
    }
    return BW_OK;
}

/* Logged by the job. */
static enum bw_status verdict(struct bw_lane *lane, const struct bw_round *round)
{
    struct bw_cpu_check check;

    return bw_cpu_job_check(lane->job, round->seed, &check);
}

static void finish(struct bw_lane *lane)
{
    bw_cpu_job_close(lane->job);
    *lane = (struct bw_lane){.ops = lane->ops};
}

const struct bw_engine_ops bw_engine_cpu = {
    .copies_per_entry = 1ULL << 40,
    .waiver = waiver,
    .prepare = prepare,
    .fill = fill,
    .enqueue = enqueue,
    .release = release,
    .wait = wait,
    .elapsed = elapsed,
    .verify = verify,
    .verdict = verdict,
    .finish = finish,
};
