/* SPDX-License-Identifier: Apache-2.0 */
/* One point: it is checked first, then its programs go through the measuring loop. */
#include "profile.h"

#include "../measure/crew.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <math.h>
#include <stdlib.h>

/* A launch of a ping-pong is many of its messages, to and fro. */
static double messages_of(const struct shmem_case *c)
{
    return c->rounds > 0 ? 2.0 * c->rounds : 1;
}

static enum bw_status stats_of(const struct shmem_case *c, const struct bw_crew *crew,
                               const struct bw_series *series, struct bw_stats *stats)
{
    const double each = (double)crew->copies * messages_of(c) * 1e3;
    double *us = calloc(series->count + 1, sizeof(*us));

    if (us == NULL) {
        return bw_errno("no memory for %zu samples", series->count);
    }
    for (size_t i = 0; i < series->count; i++) {
        us[i] = series->ns[i] / each;
    }
    *stats = bw_stats_of(us, series->count);
    free(us);
    return stats->n == series->count
               ? BW_OK
               : bw_errno("no memory for the order of %zu samples", series->count);
}

static enum bw_status read_crew(const struct shmem_case *c, const struct bw_crew *crew,
                                struct shmem_taken *taken)
{
    const size_t lanes = crew->launch->lane_count;
    enum bw_status st = BW_OK;

    taken->iterations = crew->copies;
    taken->rank_us = calloc((size_t)c->ranks, sizeof(*taken->rank_us));
    if (taken->rank_us == NULL) {
        return bw_errno("no memory for %d ranks", c->ranks);
    }
    TRY(stats_of(c, crew, &crew->whole, &taken->us));
    for (size_t i = 0; i < lanes; i++) {
        struct bw_stats one = {0};

        TRY(stats_of(c, crew, &crew->series[i], &one));
        taken->rank_us[i] = bw_stats_value(&one, crew->sampling->use_mean);
        taken->mean_us += taken->rank_us[i] / (double)lanes;
    }
    for (int r = (int)lanes; r < c->ranks; r++) {
        taken->rank_us[r] = NAN;
    }
out:
    return st;
}

enum bw_status shmem_take_program_all(struct shmem_case *c, enum shmem_program_kind kind,
                                      const struct bw_sampling *sampling, struct shmem_taken *taken)
{
    struct shmem_program program = {.c = c, .kind = kind};
    struct bw_hint hint = {.copies = SHMEM_ITERATIONS, .samples = SHMEM_SAMPLES};
    struct bw_crew crew = {0};
    struct bw_plan plan = {0};
    enum bw_status st = shmem_plan_build(&plan, c, &program);

    if (st == BW_OK) {
        st = bw_crew_open(&crew, c->session, &plan, plan.launches, sampling, &hint);
    }
    TRY(shmem_agree_all(c, st, "getting ready, warming up"));
    TRY(bw_crew_measure(&crew));
    TRY(shmem_agree_all(c, read_crew(c, &crew, taken), "keeping what was measured"));
out:
    bw_crew_close(&crew);
    bw_plan_free(&plan);
    return st;
}

/* Placements A and R: both latencies are of one loop. */
static enum bw_status take_programs_all(struct shmem_case *c, const struct bw_sampling *sampling,
                                        struct bw_shmem_point *point)
{
    struct shmem_taken kernel = {.rank_us = NULL};
    struct shmem_taken e2e = {.rank_us = NULL};
    struct shmem_taken staging = {.rank_us = NULL};
    enum bw_status st = BW_OK;

    point->staging_us = NAN;
    if (shmem_has_staging(c)) {
        TRY(shmem_take_program_all(c, PROGRAM_E2E, sampling, &e2e));
    }
    TRY(shmem_take_program_all(c, PROGRAM_KERNEL, sampling, &kernel));
    if (shmem_has_staging(c)) {
        TRY(shmem_take_program_all(c, PROGRAM_STAGING, sampling, &staging));
        point->staging_us = bw_stats_value(&staging.us, sampling->use_mean);
    }
    point->kernel_us = kernel.us;
    point->mean_kernel_us = kernel.mean_us;
    point->iterations = kernel.iterations;
    point->e2e_us = e2e.rank_us != NULL ? e2e.us : kernel.us;
    point->mean_e2e_us = e2e.rank_us != NULL ? e2e.mean_us : kernel.mean_us;
    point->rank_kernel_us = kernel.rank_us;
    point->rank_e2e_us = e2e.rank_us;
    kernel.rank_us = e2e.rank_us = NULL;
out:
    free(kernel.rank_us);
    free(e2e.rank_us);
    free(staging.rank_us);
    return st;
}

static void set_figures(const struct shmem_case *c, const struct bw_sampling *sampling, double peak,
                        struct bw_shmem_point *point)
{
    const double factor =
        shmem_is_routed(c->row->op)
            ? bw_bus_factor_counted(bw_shmem_remote_bytes(&point->bytes), c->payload_bytes)
            : bw_bus_factor(c->row->op, c->ranks);
    const bool has_rate = bw_shmem_formula(c->row->op)->mode != SHMEM_MODE_NONE;

    point->figures = bw_shmem_figures_of(
        factor, c->payload_bytes, bw_stats_value(&point->e2e_us, sampling->use_mean),
        bw_stats_value(&point->kernel_us, sampling->use_mean), has_rate ? peak : (double)NAN);
    point->pass = bw_shmem_verdict(&point->figures, (double)NAN);
}

/* What is filled is known to all ranks: one writes it, and another compares. */
static uint32_t new_seed(struct bw_session *session)
{
    return session->ranks != NULL ? session->seed += 0x632be59bu : (uint32_t)bw_clock_ns();
}

enum bw_status shmem_take_all(struct shmem_case *c, const struct bw_sampling *sampling, double peak,
                              struct bw_shmem_point *point)
{
    enum bw_status st = BW_OK;

    TRY(shmem_route_open_all(c, point));
    TRY(shmem_windows_open_all(c));
    if (!sampling->skip_verification) {
        TRY(shmem_check_fresh_all(c, new_seed(c->session)));
        point->rounds_checked = c->fresh_rounds;
    }
    TRY(take_programs_all(c, sampling, point));
    set_figures(c, sampling, peak, point);
    if (c->profile_mode != PROFILE_OFF) {
        TRY(shmem_profile_all(c, sampling, point));
    }
out:
    shmem_windows_close_all(c);
    shmem_route_close(c);
    return st;
}
