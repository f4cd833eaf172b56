/* SPDX-License-Identifier: Apache-2.0 */
/* The one loop that measures: all timing rules meet here. */
#include "crew.h"
#include "gate.h"
#include "gpu_lane.h"
#include "multicast_area.h"
#include "pool.h"
#include "ranks.h"
#include "sampler.h"
#include "session.h"
#include "warm.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/phase.h"
#include "bwtool/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct bw_engine_ops *const engines[] = {
    [ENGINE_CE] = &bw_engine_ce,
    [ENGINE_SM] = &bw_engine_sm,
    [ENGINE_TMA] = &bw_engine_sm, /* other kernels, and nothing else */
    [ENGINE_CPU] = &bw_engine_cpu,
};

static enum bw_status prepare(struct bw_crew *crew, struct bw_lane *lane)
{
    crew->waiver = lane->ops->waiver == NULL ? NULL : lane->ops->waiver(lane);
    return crew->waiver != NULL ? BW_WAIVED : lane->ops->prepare(lane);
}

enum bw_status bw_crew_open(struct bw_crew *crew, struct bw_session *session,
                            const struct bw_plan *plan, const struct bw_launch *launch,
                            const struct bw_sampling *sampling, struct bw_hint *hint)
{
    enum bw_status st = BW_OK;

    *crew = (struct bw_crew){
        .session = session, .plan = plan, .launch = launch, .sampling = sampling, .hint = hint};
    crew->is_shared = bw_testcase_is_multinode(plan->tc);
    crew->world = crew->is_shared ? session->world : &session->alone;
    crew->lanes = calloc(launch->lane_count, sizeof(*crew->lanes));
    crew->series = calloc(launch->lane_count, sizeof(*crew->series));
    crew->marks_ns = calloc(launch->lane_count * BW_ROUND_SAMPLES_MAX, sizeof(*crew->marks_ns));
    crew->wire =
        calloc(BW_STATUS_COUNT + launch->lane_count * BW_ROUND_SAMPLES_MAX, sizeof(*crew->wire));
    if (crew->lanes == NULL || crew->series == NULL || crew->marks_ns == NULL ||
        crew->wire == NULL) {
        return bw_errno("no memory for %zu lanes", launch->lane_count);
    }
    if (session->pool != NULL) {
        bw_pool_begin(session->pool);
    }
    if (crew->is_shared) {
        bw_ranks_begin(session->ranks, session->world->ranks);
        bw_multicast_area_begin(session->area);
    }
    for (size_t i = 0; i < launch->lane_count; i++) {
        const struct bw_lane_plan *lane_plan = &plan->lanes[launch->lane + i];

        crew->lanes[i] = (struct bw_lane){
            .ops = lane_plan->ops != NULL ? lane_plan->ops : engines[lane_plan->engine],
            .session = session,
            .sampling = sampling,
            .plan = plan,
            .lane_plan = lane_plan,
            .step = &plan->steps[lane_plan->step],
            .number = (unsigned)i,
        };
        TRY(prepare(crew, &crew->lanes[i]));
    }
    TRY(bw_crew_warm_up(crew));
out:
    return st;
}

void bw_crew_close(struct bw_crew *crew)
{
    for (size_t i = 0; crew->lanes != NULL && i < crew->launch->lane_count; i++) {
        if (crew->lanes[i].ops != NULL) {
            crew->lanes[i].ops->finish(&crew->lanes[i]);
        }
        if (crew->series != NULL) {
            bw_series_free(&crew->series[i]);
        }
    }
    bw_series_free(&crew->whole);
    free(crew->lanes);
    free(crew->series);
    free(crew->marks_ns);
    free(crew->wire);
    free(crew->waiver);
    *crew = (struct bw_crew){0};
}

static size_t lane_count(const struct bw_crew *crew)
{
    return crew->launch->lane_count;
}

static enum bw_status fill(struct bw_crew *crew, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < lane_count(crew); i++) {
        TRY(crew->lanes[i].ops->fill(&crew->lanes[i], round));
    }
    TRY(bw_session_settle(crew->session));
out:
    return st;
}

static enum bw_status enqueue(struct bw_crew *crew, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < lane_count(crew); i++) {
        crew->lanes[i].submitted_ns = 0;
    }
    for (size_t i = 0; i < lane_count(crew); i++) {
        if (!crew->lanes[i].is_elsewhere) {
            TRY(crew->lanes[i].ops->enqueue(&crew->lanes[i], round));
        }
    }
    if (crew->session->gate != NULL) {
        TRY(bw_gate_await(crew->session->gate));
    }
out:
    return st;
}

static void release(struct bw_crew *crew)
{
    const uint64_t now_ns = bw_clock_ns();

    if (crew->session->gate != NULL) {
        bw_gate_release(crew->session->gate);
    }
    for (size_t i = 0; i < lane_count(crew); i++) {
        crew->lanes[i].released_ns = now_ns;
        if (crew->lanes[i].ops->release != NULL) {
            crew->lanes[i].ops->release(&crew->lanes[i]);
        }
    }
}

/* Wait for the lanes that are load, or for those that are not; for all of them, whatever fails. */
static enum bw_status wait_for(struct bw_crew *crew, const struct bw_round *round, bool load)
{
    enum bw_status worst = BW_OK;

    for (size_t i = 0; i < lane_count(crew); i++) {
        struct bw_lane *lane = &crew->lanes[i];

        if (lane->lane_plan->is_load == load && !lane->is_elsewhere) {
            const enum bw_status st = lane->ops->wait(lane, round);

            worst = st > worst ? st : worst;
        }
    }
    return worst;
}

static enum bw_status await(struct bw_crew *crew, const struct bw_round *round)
{
    enum bw_status st = wait_for(crew, round, false);
    const enum bw_status waited = wait_for(crew, round, true);

    st = waited > st ? waited : st;
    if (st == BW_OK && crew->session->gate != NULL) {
        st = bw_gate_verdict(crew->session->gate);
    }
    return st;
}

/* What is still under way must not meet what comes next. */
static void drain(struct bw_crew *crew)
{
    for (size_t i = 0; i < lane_count(crew); i++) {
        if (crew->lanes[i].stream != NULL && !bw_cu_context_lost()) {
            (void)bw_gpu_lane_drain(&crew->lanes[i]);
        }
    }
}

static enum bw_status verify(struct bw_crew *crew, const struct bw_round *round)
{
    const bool compares = !crew->sampling->skip_verification;
    bool is_any = false;
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < lane_count(crew); i++) {
        if (compares || crew->lanes[i].ops->has_waits) {
            is_any = true;
            TRY(crew->lanes[i].ops->verify(&crew->lanes[i], round));
        }
    }
    TRY(is_any ? bw_session_settle(crew->session) : BW_OK);
    for (size_t i = 0; i < lane_count(crew); i++) {
        if (compares || crew->lanes[i].ops->has_waits) {
            TRY(crew->lanes[i].ops->verdict(&crew->lanes[i], round));
        }
    }
out:
    return st;
}

static enum bw_status agree(const struct bw_crew *crew, enum bw_status mine, const char *phase)
{
    return bw_world_agree_all(crew->world, mine, phase);
}

static enum bw_status shut(struct bw_crew *crew)
{
    if (crew->session->gate == NULL) {
        return BW_OK;
    }
    if (crew->is_shared) {
        return bw_gate_shut_shared(crew->session->gate);
    }
    bw_gate_shut(crew->session->gate);
    return BW_OK;
}

/* Before the ranks tell each other of the round: nothing of this may fail in one of them later. */
static enum bw_status make_room(struct bw_crew *crew, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < lane_count(crew); i++) {
        TRY(bw_series_reserve(&crew->series[i], round->samples));
    }
    TRY(bw_series_reserve(&crew->whole, round->samples));
out:
    return st;
}

/*
 * All that one gate does. The gate is open again when this returns, on every
 * path. Between two of the ranks' agreements no rank returns.
 */
static enum bw_status run_round(struct bw_crew *crew, const struct bw_round *round)
{
    const enum bw_phase before = bw_phase_enter(PHASE_FILL);
    enum bw_status st = make_room(crew, round);
    enum bw_status waited = BW_OK;

    st = st == BW_OK ? fill(crew, round) : st;
    TRY(agree(crew, st, "filling buffers"));
    (void)bw_phase_enter(PHASE_QUEUE);
    st = shut(crew);
    st = st == BW_OK ? enqueue(crew, round) : st;
    st = agree(crew, st, "queueing copies");
    (void)bw_phase_enter(PHASE_SAMPLES);
    release(crew); /* also after a failure: what was queued must come to an end */
    bw_state_look(crew->session->state); /* now: it costs no time, and links are under load */
    waited = await(crew, round);
    if (st != BW_OK) { /* some was not queued, with the event that it ends by */
        drain(crew);
    }
    st = st == BW_OK ? waited : st;
    st = st == BW_OK ? bw_crew_read_times(crew, round) : st;
    TRY(bw_crew_share_times(crew, round, st));
    (void)bw_phase_enter(PHASE_VERIFY);
    TRY(agree(crew, verify(crew, round), "comparing what arrived"));
out:
    (void)bw_phase_enter(before);
    return st;
}

static void add_samples(struct bw_crew *crew, const struct bw_round *round, bool is_whole)
{
    for (size_t i = 0; i < lane_count(crew); i++) {
        if (!crew->lanes[i].lane_plan->is_load) {
            bw_series_add(&crew->series[i], &crew->marks_ns[i * BW_ROUND_SAMPLES_MAX],
                          round->samples, is_whole);
        }
    }
    bw_series_add(&crew->whole, crew->whole_ns, round->samples, is_whole);
}

static void discard(struct bw_crew *crew)
{
    for (size_t i = 0; i < lane_count(crew); i++) {
        bw_series_reset(&crew->series[i]);
        crew->lanes[i].reverse_bytes = 0;
        crew->lanes[i].reverse_ns = 0;
    }
    bw_series_reset(&crew->whole);
}

static double precision_of(const struct bw_series *series)
{
    const struct bw_stats stats = bw_series_stats(series);

    return bw_stats_precision(&stats);
}

/* Of the least precise of what the cell's value is made of. */
static double crew_precision(const struct bw_crew *crew)
{
    double worst = 0;

    if (bw_testcase_reduce(crew->plan->tc) == REDUCE_TOTAL) {
        return precision_of(&crew->whole);
    }
    for (size_t i = 0; i < lane_count(crew); i++) {
        if (!crew->lanes[i].lane_plan->is_load) {
            worst = fmax(worst, precision_of(&crew->series[i]));
        }
    }
    return worst;
}

static double measured_ns(const struct bw_crew *crew)
{
    double sum = 0;

    for (size_t i = 0; i < crew->whole.count; i++) {
        sum += crew->whole.ns[i];
    }
    return sum;
}

static void take(struct bw_crew *crew, struct bw_sampler *sampler, const struct bw_round *round)
{
    double copy_ns = 0;
    enum bw_take what = TAKE_WHOLE;

    bw_crew_find_whole(crew, round);
    copy_ns = crew->whole_ns[round->samples - 1] / round->samples / (double)round->copies;
    what = bw_sampler_take(sampler, round, copy_ns, bw_crew_load_ratio(crew, round));
    if (what == TAKE_DISCARD) {
        discard(crew);
        return;
    }
    if (what == TAKE_DOUBT) {
        crew->doubt = "the load on the link ended before what it should load";
    }
    add_samples(crew, round, what != TAKE_PART);
    if (bw_sampler_is_due(sampler)) {
        const double precision = crew_precision(crew);

        crew->is_precise = precision <= crew->sampling->precision;
        bw_sampler_judge(sampler, precision, measured_ns(crew));
    }
}

enum bw_status bw_crew_measure(struct bw_crew *crew)
{
    struct bw_sampler sampler;
    struct bw_round round;
    enum bw_status st = BW_OK;

    bw_sampler_begin(&sampler, crew->sampling, &crew->lanes[0], crew->hint);
    if (crew->is_shared) {
        sampler.seed = crew->session->seed += 0x632be59bu; /* what one writes, another compares */
    }
    while (bw_sampler_next(&sampler, &round)) {
        TRY(run_round(crew, &round));
        bw_crew_note_busy(crew);
        take(crew, &sampler, &round);
    }
    crew->copies = sampler.copies;
out:
    return st;
}
