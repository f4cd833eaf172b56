/* SPDX-License-Identifier: Apache-2.0 */
/* An operator's points: each is checked first, then its programs go through the measuring loop. */
#include "shmem.h"

#include "../measure/crew.h"
#include "../measure/session.h"

#include "shmem_params.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/state.h"
#include "bwtool/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What one program took: microseconds an iteration, of the slowest rank and of each. */
struct taken {
    struct bw_stats us;
    double *rank_us; /* medians */
    double mean_us;  /* over ranks */
    unsigned long long iterations;
};

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
    return BW_OK;
}

static enum bw_status read_crew(const struct shmem_case *c, const struct bw_crew *crew,
                                struct taken *taken)
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
        struct bw_stats one;

        TRY(stats_of(c, crew, &crew->series[i], &one));
        taken->rank_us[i] = one.median;
        taken->mean_us += one.median / (double)lanes;
    }
    for (int r = (int)lanes; r < c->ranks; r++) {
        taken->rank_us[r] = NAN;
    }
out:
    return st;
}

static enum bw_status take_program(struct shmem_case *c, enum shmem_program_kind kind,
                                   const struct bw_sampling *sampling, struct taken *taken)
{
    struct shmem_program program = {.c = c, .kind = kind};
    struct bw_hint hint = {.copies = SHMEM_ITERATIONS, .samples = SHMEM_SAMPLES};
    struct bw_crew crew = {0};
    struct bw_plan plan = {0};
    enum bw_status st = BW_OK;

    TRY(shmem_plan_build(&plan, c, &program));
    st = bw_crew_open(&crew, c->session, &plan, plan.launches, sampling, &hint);
    st = st == BW_OK ? bw_crew_measure(&crew) : st;
    st = st == BW_OK ? read_crew(c, &crew, taken) : st;
    bw_crew_close(&crew);
out:
    bw_plan_free(&plan);
    return st;
}

/* Placements A and R: both latencies are of one loop. */
static enum bw_status take_programs(struct shmem_case *c, const struct bw_sampling *sampling,
                                    struct bw_shmem_point *point)
{
    struct taken kernel = {.rank_us = NULL};
    struct taken e2e = {.rank_us = NULL};
    struct taken staging = {.rank_us = NULL};
    enum bw_status st = BW_OK;

    point->staging_us = NAN;
    if (shmem_has_staging(c)) {
        TRY(take_program(c, PROGRAM_E2E, sampling, &e2e));
    }
    TRY(take_program(c, PROGRAM_KERNEL, sampling, &kernel));
    if (shmem_has_staging(c)) {
        TRY(take_program(c, PROGRAM_STAGING, sampling, &staging));
        point->staging_us = staging.us.median;
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

static double value_of(const struct bw_stats *stats, const struct bw_sampling *sampling)
{
    return sampling->use_mean ? stats->mean : stats->median;
}

static void set_figures(const struct shmem_case *c, const struct bw_sampling *sampling, double peak,
                        struct bw_shmem_point *point)
{
    const double factor = bw_bus_factor(c->row->op, c->ranks);
    const bool has_rate = bw_shmem_formula(c->row->op)->mode != SHMEM_MODE_NONE;

    point->figures =
        bw_shmem_figures_of(factor, c->payload_bytes, value_of(&point->e2e_us, sampling),
                            value_of(&point->kernel_us, sampling), has_rate ? peak : (double)NAN);
    point->bytes = bw_shmem_bytes_of(c->row->op, c->ranks, c->payload_bytes);
    point->pass = bw_shmem_verdict(&point->figures, (double)NAN);
}

static enum bw_status measure_case(struct shmem_case *c, const struct bw_sampling *sampling,
                                   double peak, struct bw_shmem_point *point)
{
    enum bw_status st = BW_OK;

    bw_log_mark();
    TRY(shmem_windows_open(c));
    if (!sampling->skip_verification) {
        TRY(shmem_check_fresh(c, (uint32_t)bw_clock_ns()));
        point->rounds_checked = SHMEM_FRESH_ROUNDS;
    }
    TRY(take_programs(c, sampling, point));
    set_figures(c, sampling, peak, point);
out:
    shmem_windows_close(c);
    return st;
}

static struct bw_shmem_point *add_point(struct bw_shmem_result *result)
{
    struct bw_shmem_point *more = NULL;

    if (result->count == result->room) {
        const size_t room = result->room > 0 ? 2 * result->room : 16;

        more = realloc(result->points, room * sizeof(*more));
        if (more == NULL) {
            (void)bw_errno("no memory for results");
            return NULL;
        }
        result->points = more;
        result->room = room;
    }
    more = &result->points[result->count++];
    memset(more, 0, sizeof(*more));
    more->figures = bw_shmem_figures_of(NAN, 0, NAN, NAN, NAN);
    more->staging_us = NAN;
    return more;
}

static void describe_case(const struct shmem_case *c, struct bw_shmem_point *point)
{
    point->row = c->row;
    point->placement = c->placement;
    point->dtype = c->dtype;
    point->elements = c->elements;
    point->ctas = c->ctas;
    point->default_ctas = c->default_ctas;
    point->threads = c->threads;
    point->has_pdl = c->has_pdl;
    point->ranks = c->ranks;
    point->warm = SHMEM_WARM;
    point->figures.payload_bytes = c->payload_bytes;
}

static struct shmem_machine machine_of(const struct bw_session *session)
{
    struct shmem_machine machine = {
        .ranks = session->gpus.count, .sm_count = INT32_MAX, .has_bulk = true};

    for (int i = 0; i < session->gpus.count; i++) {
        const struct bw_gpu *gpu = &session->gpus.gpus[i];

        machine.sm_count = gpu->sm_count < machine.sm_count ? gpu->sm_count : machine.sm_count;
        machine.has_bulk = machine.has_bulk && bw_kernel_has_bulk(gpu);
    }
    return machine;
}

/* One size with one grid. */
static enum bw_status measure_point(struct bw_session *session, const struct bw_operator *row,
                                    const struct bw_shmem_request *request,
                                    const struct bw_sampling *sampling, uint64_t bytes,
                                    unsigned ctas, double peak, struct bw_shmem_result *result)
{
    const struct shmem_machine machine = machine_of(session);
    struct shmem_case *c = calloc(1, sizeof(*c));
    struct bw_shmem_point *point = add_point(result);
    enum bw_status st = BW_OK;

    if (c == NULL || point == NULL) {
        free(c);
        return BW_ERR_MEMORY;
    }
    point->row = row;
    point->ranks = machine.ranks;
    point->reason = shmem_case_set(c, row, request, &machine, bytes, ctas);
    if (point->reason != NULL) {
        point->status = BW_WAIVED;
        free(c);
        return BW_OK;
    }
    c->session = session;
    describe_case(c, point);
    st = measure_case(c, sampling, peak, point);
    if (st != BW_OK) {
        const char *reason = bw_log_reason();

        point->status = st;
        point->reason = reason == NULL ? NULL : strdup(reason);
    }
    free(c);
    return st;
}

static bool ends_everything(enum bw_status st)
{
    return st == BW_ERR_LOST || st == BW_ERR_NO_GPU || bw_cu_context_lost();
}

/* Every size, and for each every grid that was asked for; the worst status. */
enum bw_status bw_shmem_measure_all(struct bw_session *session, const struct bw_operator *row,
                                    const struct bw_shmem_request *request,
                                    const struct bw_sampling *sampling,
                                    struct bw_shmem_result *result)
{
    const double peak = shmem_peak(session, row, sampling, result);
    const unsigned grids = request->ctas_count > 0 ? request->ctas_count : 1;
    enum bw_status worst = BW_OK;

    for (double bytes = (double)request->bytes_min;
         bytes <= (double)request->bytes_max * (1 + 1e-9) && !ends_everything(worst);
         bytes *= request->factor) {
        for (unsigned i = 0; i < grids && !ends_everything(worst); i++) {
            const unsigned ctas = request->ctas_count > 0 ? request->ctas[i] : 0;
            const enum bw_status st = measure_point(session, row, request, sampling,
                                                    (uint64_t)llround(bytes), ctas, peak, result);

            worst = st > worst ? st : worst;
        }
        if (request->factor <= 1 || (row->tc.op == OP_SIGNAL && !request->is_swept) ||
            row->op == SHMEM_BARRIER) {
            break;
        }
    }
    return worst;
}

void bw_shmem_result_free(struct bw_shmem_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        free(result->points[i].rank_e2e_us);
        free(result->points[i].rank_kernel_us);
        free(result->points[i].reason);
    }
    free(result->points);
    *result = (struct bw_shmem_result){0};
}

static bool has_peers(const struct bw_gpus *gpus)
{
    for (int i = 0; i < gpus->count * gpus->count; i++) {
        if (!gpus->peer[i]) {
            return false;
        }
    }
    return true;
}

char *bw_shmem_waiver(const struct bw_session *session, const struct bw_operator *row,
                      const struct bw_shmem_request *request, bool *is_usage)
{
    const struct shmem_machine machine = machine_of(session);
    struct shmem_case *c = NULL;
    char *reason = NULL;

    *is_usage = false;
    if (session->world->ranks > 1) {
        return bw_text_format("operators need one process that drives all GPUs; over ranks they "
                              "are not built yet");
    }
    if (machine.ranks > BW_SHMEM_RANKS_MAX) {
        return bw_text_format("at most %d GPUs", (int)BW_SHMEM_RANKS_MAX);
    }
    if (machine.ranks > 1 && !has_peers(&session->gpus)) {
        return bw_text_format("needs peer access between all %d GPUs (nvidia-smi topo -p2p r shows "
                              "which pairs have none)",
                              machine.ranks);
    }
    c = calloc(1, sizeof(*c));
    if (c != NULL) {
        reason = shmem_case_set(c, row, request, &machine, request->bytes_min, 0);
    }
    /* What was asked for contradicts itself, unless the plain row cannot run either. */
    if (reason != NULL) {
        const struct bw_shmem_request plain = {.bytes_min = request->bytes_min,
                                               .has_dtype = request->has_dtype,
                                               .dtype = request->dtype};
        char *other = shmem_case_set(c, row, &plain, &machine, request->bytes_min, 0);

        *is_usage = other == NULL;
        free(other);
    }
    free(c);
    return reason;
}

enum bw_status bw_shmem_print_plan(const struct bw_operator *row,
                                   const struct bw_shmem_request *request, int ranks, FILE *out)
{
    const struct shmem_machine machine = {.ranks = ranks, .sm_count = 132, .has_bulk = true};
    struct shmem_case *c = calloc(1, sizeof(*c));
    struct shmem_program program = {.c = c};
    char *reason = NULL;
    enum bw_status st = BW_OK;

    if (c == NULL) {
        return bw_errno("no memory for a plan");
    }
    reason = shmem_case_set(c, row, request, &machine, request->bytes_min, 0);
    for (int kind = PROGRAM_E2E; reason == NULL && kind <= PROGRAM_STAGING; kind++) {
        struct bw_plan plan = {0};

        if (kind == PROGRAM_STAGING && !shmem_has_staging(c)) {
            break;
        }
        program.kind = (enum shmem_program_kind)kind;
        TRY(shmem_plan_build(&plan, c, &program));
        shmem_plan_print(&plan, c, program.kind, out);
        bw_plan_free(&plan);
    }
out:
    free(reason);
    free(c);
    return st;
}
