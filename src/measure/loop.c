/* SPDX-License-Identifier: Apache-2.0 */
/* The one loop that measures: all timing rules meet here. */
#include "crew.h"
#include "gate.h"
#include "pool.h"
#include "sampler.h"
#include "session.h"

#include "bwtool/log.h"

#include <stdlib.h>
#include <string.h>

static const struct bw_engine_ops *const engines[] = {
    [ENGINE_CE] = &bw_engine_ce,
    [ENGINE_SM] = &bw_engine_sm,
    [ENGINE_TMA] = NULL,
    [ENGINE_CPU] = &bw_engine_cpu,
};

static enum bw_status prepare(struct bw_crew *crew, struct bw_lane *lane)
{
    crew->waiver = lane->ops->waiver == NULL ? NULL : lane->ops->waiver(lane);
    return crew->waiver != NULL ? BW_WAIVED : lane->ops->prepare(lane);
}

enum bw_status bw_crew_open(struct bw_crew *crew, struct bw_session *session,
                            const struct bw_plan *plan, const struct bw_launch *launch,
                            const struct bw_sampling *sampling)
{
    enum bw_status st = BW_OK;

    *crew =
        (struct bw_crew){.session = session, .plan = plan, .launch = launch, .sampling = sampling};
    crew->lanes = calloc(launch->lane_count, sizeof(*crew->lanes));
    crew->series = calloc(launch->lane_count, sizeof(*crew->series));
    if (crew->lanes == NULL || crew->series == NULL) {
        return bw_errno("no memory for %zu lanes", launch->lane_count);
    }
    if (session->pool != NULL) {
        bw_pool_begin(session->pool);
    }
    for (size_t i = 0; i < launch->lane_count; i++) {
        const struct bw_lane_plan *lane_plan = &plan->lanes[launch->lane + i];

        crew->lanes[i] = (struct bw_lane){
            .ops = engines[lane_plan->engine],
            .session = session,
            .sampling = sampling,
            .plan = plan,
            .lane_plan = lane_plan,
            .step = &plan->steps[lane_plan->step],
            .number = (unsigned)i,
        };
        TRY(prepare(crew, &crew->lanes[i]));
    }
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
        TRY(crew->lanes[i].ops->enqueue(&crew->lanes[i], round));
    }
    if (crew->session->gate != NULL) {
        TRY(bw_gate_await(crew->session->gate));
    }
out:
    return st;
}

static void release(struct bw_crew *crew)
{
    if (crew->session->gate != NULL) {
        bw_gate_release(crew->session->gate);
    }
    for (size_t i = 0; i < lane_count(crew); i++) {
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

        if (lane->lane_plan->is_load == load) {
            const enum bw_status st = lane->ops->wait(lane, round);

            worst = st > worst ? st : worst;
        }
    }
    return worst;
}

/* Marks in `over` the load that has ended already. Returns how many. */
static size_t find_ended(struct bw_crew *crew, bool *over)
{
    size_t count = 0;

    for (size_t i = 0; i < lane_count(crew); i++) {
        struct bw_lane *lane = &crew->lanes[i];

        over[i] = lane->lane_plan->is_load && lane->ops->is_done(lane);
        count += over[i];
    }
    return count;
}

/*
 * Wait for what is measured, look whether the load is still there, then wait
 * for that as well. `outlasted` is false if some load may have ended too soon.
 */
static enum bw_status await(struct bw_crew *crew, const struct bw_round *round, bool *outlasted)
{
    bool *over = calloc(lane_count(crew), sizeof(*over));
    enum bw_status st = over == NULL ? bw_errno("no memory for a list of lanes") : BW_OK;
    enum bw_status waited = wait_for(crew, round, false);
    const size_t ended = st == BW_OK && waited == BW_OK ? find_ended(crew, over) : 0;

    st = waited > st ? waited : st;
    waited = wait_for(crew, round, true);
    st = waited > st ? waited : st;
    *outlasted = true;
    for (size_t i = 0; ended != 0 && st == BW_OK && i < lane_count(crew); i++) {
        if (over[i] && !crew->lanes[i].ops->outlasted(&crew->lanes[i], &crew->lanes[0], round)) {
            *outlasted = false;
        }
    }
    free(over);
    if (st == BW_OK && crew->session->gate != NULL) {
        st = bw_gate_verdict(crew->session->gate);
    }
    return st;
}

static enum bw_status verify(struct bw_crew *crew, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    if (crew->sampling->skip_verification) {
        return BW_OK;
    }
    for (size_t i = 0; i < lane_count(crew); i++) {
        TRY(crew->lanes[i].ops->verify(&crew->lanes[i], round));
    }
    TRY(bw_session_settle(crew->session));
    for (size_t i = 0; i < lane_count(crew); i++) {
        TRY(crew->lanes[i].ops->verdict(&crew->lanes[i], round));
    }
out:
    return st;
}

/* All that one gate does. The gate is open again when this returns, on every path. */
static enum bw_status run_round(struct bw_crew *crew, const struct bw_round *round, bool *outlasted)
{
    enum bw_status st = BW_OK;
    enum bw_status waited = BW_OK;

    TRY(fill(crew, round));
    if (crew->session->gate != NULL) {
        bw_gate_shut(crew->session->gate);
    }
    st = enqueue(crew, round);
    release(crew); /* also after a failure: what was queued must come to an end */
    waited = await(crew, round, outlasted);
    st = st == BW_OK ? waited : st;
    TRY(st);
    TRY(verify(crew, round));
out:
    return st;
}

/* Add the round's times: each measured lane's own, and until the last one has ended. */
static enum bw_status collect(struct bw_crew *crew, const struct bw_round *round, bool is_whole)
{
    double whole_ns[BW_ROUND_SAMPLES_MAX] = {0};
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < lane_count(crew); i++) {
        struct bw_lane *lane = &crew->lanes[i];
        double marks_ns[BW_ROUND_SAMPLES_MAX];

        if (lane->lane_plan->is_load) {
            continue;
        }
        TRY(lane->ops->elapsed(lane, round, marks_ns));
        TRY(bw_series_add(&crew->series[i], marks_ns, round->samples, is_whole));
        for (unsigned k = 0; k < round->samples; k++) {
            whole_ns[k] = marks_ns[k] > whole_ns[k] ? marks_ns[k] : whole_ns[k];
        }
    }
    TRY(bw_series_add(&crew->whole, whole_ns, round->samples, is_whole));
out:
    return st;
}

enum bw_status bw_crew_measure(struct bw_crew *crew)
{
    struct bw_sampler sampler;
    struct bw_round round;
    enum bw_status st = BW_OK;

    bw_sampler_begin(&sampler, crew->sampling, crew->lanes[0].ops,
                     bw_testcase_is_latency(crew->plan->tc));
    while (bw_sampler_next(&sampler, &round)) {
        bool outlasted = true;

        TRY(run_round(crew, &round, &outlasted));
        if (!outlasted && bw_sampler_more_load(&sampler)) {
            continue;
        }
        if (!outlasted) {
            crew->doubt = "the load on the link ended before what it should load";
        }
        TRY(collect(crew, &round, bw_sampler_took(&sampler, &round)));
    }
out:
    return st;
}
