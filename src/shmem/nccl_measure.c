/* SPDX-License-Identifier: Apache-2.0 */
/* The baseline's points: each operator and size, on plain and on registered memory, both ways. */
#include "nccl.h"

#include "../measure/crew.h"
#include "../measure/gate.h"
#include "../measure/session.h"

#include "bwtool/log.h"
#include "bwtool/state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A gate that NCCL's own waiting keeps shut opens by itself after so long; what
 * was measured is then thrown away.
 */
static const uint64_t gate_patience_ns = 5ULL * 1000 * 1000 * 1000;
static const char too_late[] = "the time that --max-time gives was over before its turn";
static const char broken[] = "NCCL failed before its turn, and its communicators with it";

/* What a call that failed has launched may wait for ever: then they are not waited for. */
static void close_comms(struct bw_baseline_job *job)
{
    for (int r = 0; r < job->ranks && !bw_cu_context_lost(); r++) {
        (void)(job->is_broken ? nccl.CommAbort : nccl.CommDestroy)(job->comms[r]);
    }
    job->is_broken = false;
    job->ranks = 0;
}

/* Of the first `ranks` GPUs. */
static enum bw_status open_comms(struct bw_baseline_job *job, int ranks)
{
    int devices[BW_SHMEM_RANKS_MAX];
    enum bw_status st = BW_OK;

    if (job->ranks == ranks) {
        return BW_OK;
    }
    close_comms(job);
    for (int i = 0; i < ranks; i++) {
        devices[i] = i;
    }
    TRY(NCCL(CommInitAll, job->comms, ranks, devices));
    job->ranks = ranks;
out:
    return st;
}

enum bw_status bw_baseline_open(struct bw_baseline_job **job, struct bw_session *session)
{
    enum bw_status st = BW_OK;

    *job = calloc(1, sizeof(**job));
    if (*job == NULL) {
        return bw_errno("no memory for the baseline");
    }
    (*job)->session = session;
    TRY(bw_nccl_open());
    if (session->gpus.count > BW_SHMEM_RANKS_MAX) {
        bw_error("at most %d GPUs", (int)BW_SHMEM_RANKS_MAX);
        return BW_WAIVED;
    }
    TRY(open_comms(*job, session->gpus.count));
    bw_gate_set_timeout_ns(session->gate, gate_patience_ns);
out:
    return st;
}

void bw_baseline_close(struct bw_baseline_job *job)
{
    if (job == NULL) {
        return;
    }
    close_comms(job);
    bw_baseline_free(&job->done);
    free(job);
}

void bw_baseline_describe(const struct bw_baseline_job *job, struct bw_baseline *baseline)
{
    const char *nvls = getenv("NCCL_NVLS_ENABLE");

    (void)job;
    (void)snprintf(baseline->nvls, sizeof(baseline->nvls), "%s", nvls != NULL ? nvls : "unset");
    if (nccl.lib != NULL) {
        (void)bw_nccl_version_text(nccl.version, baseline->version, sizeof(baseline->version));
    }
}

static void set_reason(char *reason, const char *text)
{
    (void)snprintf(reason, BW_BASELINE_REASON, "%s", text != NULL ? text : "it failed");
}

static void read_crew(const struct bw_crew *crew, struct bw_baseline_taken *taken)
{
    const double each = (double)crew->copies * 1e3;
    const bool use_mean = crew->sampling->use_mean;
    const struct bw_stats whole = bw_series_stats(&crew->whole);

    for (size_t i = 0; i < crew->launch->lane_count; i++) {
        const struct bw_stats one = bw_series_stats(&crew->series[i]);

        taken->rank_us[i] = bw_stats_value(&one, use_mean) / each;
    }
    taken->us = bw_stats_value(&whole, use_mean) / each;
    taken->min_us = whole.min / each;
    taken->max_us = whole.max / each;
    taken->cv = whole.cv;
    taken->samples = (unsigned)whole.n;
    taken->iterations = crew->copies;
    taken->is_there = isfinite(taken->us) && taken->us > 0;
}

/* One class and mode; memory is there. */
static enum bw_status take_way(struct bw_baseline_job *job, struct shmem_case *c,
                               enum bw_baseline_mode mode, const struct bw_sampling *sampling,
                               struct bw_baseline_point *point, struct bw_baseline_taken *taken)
{
    struct nccl_program program = {.job = job,
                                   .c = c,
                                   .mode = mode,
                                   .is_checked = point->is_checked,
                                   .lane_count = nccl_lanes(c)};
    struct bw_hint hint = {.copies = SHMEM_ITERATIONS, .samples = SHMEM_SAMPLES};
    struct bw_crew crew = {.lanes = NULL};
    struct bw_plan plan = {.tc = NULL};
    enum bw_status st = BW_OK;

    bw_log_mark();
    for (int r = 0; r < point->ranks; r++) {
        taken->rank_us[r] = NAN;
    }
    if (mode == BASELINE_GRAPH && (cu.StreamBeginCapture == NULL || cu.GraphInstantiate == NULL)) {
        set_reason(taken->reason, "the driver has no graphs");
        return BW_OK;
    }
    TRY(nccl_plan_build(&plan, &program));
    st = bw_crew_open(&crew, job->session, &plan, plan.launches, sampling, &hint);
    st = st == BW_OK ? bw_crew_measure(&crew) : st;
    if (st == BW_OK) {
        read_crew(&crew, taken);
    }
    bw_crew_close(&crew);
out:
    if (st != BW_OK) {
        set_reason(taken->reason, bw_log_reason());
    }
    bw_plan_free(&plan);
    return st;
}

/* Why nothing of a class was measured. */
static void set_reasons(struct bw_baseline_taken taken[BASELINE_MODES], const char *text)
{
    for (int m = 0; m < BASELINE_MODES; m++) {
        set_reason(taken[m].reason, text);
    }
}

/* True, with the reason, if what is to come of a class cannot be had: no time, or no NCCL. */
static bool is_over(const struct bw_baseline_job *job, const struct bw_sampling *sampling,
                    struct bw_baseline_taken *taken, int ways)
{
    const char *why = bw_sampling_is_over(sampling) ? too_late : job->is_broken ? broken : NULL;

    for (int w = 0; w < ways && why != NULL; w++) {
        set_reason(taken[w].reason, why);
    }
    return why != NULL;
}

/* The same of a whole point, of which nothing has begun. */
static bool is_point_late(const struct bw_sampling *sampling, struct bw_baseline_point *point)
{
    const bool is_late = bw_sampling_is_over(sampling);

    for (int k = 0; k < BASELINE_CLASSES && is_late; k++) {
        set_reasons(point->taken[k], too_late);
    }
    return is_late;
}

static bool ends_everything(enum bw_status st)
{
    return st == BW_ERR_LOST || st == BW_ERR_NO_GPU || bw_cu_context_lost();
}

static enum bw_status take_class(struct bw_baseline_job *job, struct shmem_case *c,
                                 enum bw_baseline_class kind, const struct bw_sampling *sampling,
                                 struct bw_baseline_point *point)
{
    struct bw_baseline_taken *taken = point->taken[kind];
    enum bw_status st = BW_OK;

    if (is_over(job, sampling, taken, BASELINE_MODES)) {
        return BW_OK;
    }
    bw_log_mark();
    st = open_comms(job, point->ranks);
    st = st == BW_OK ? nccl_memory_open(job, c, kind) : st;
    if (st != BW_OK) {
        set_reasons(taken, bw_log_reason());
    }
    for (int m = 0; m < BASELINE_MODES && st == BW_OK; m++) {
        const enum bw_status way =
            is_over(job, sampling, &taken[m], 1)
                ? BW_OK
                : take_way(job, c, (enum bw_baseline_mode)m, sampling, point, &taken[m]);

        st = ends_everything(way) ? way : BW_OK;
    }
    if (job->is_broken) {
        close_comms(job); /* first: freeing waits for what may wait for ever */
    }
    nccl_memory_close(job, c);
    return ends_everything(st) ? st : BW_OK;
}

/* What is asked for, at a size, as the operator itself would be run. Its reason says why not. */
static void set_point(struct bw_baseline_job *job, struct shmem_case *c,
                      const struct bw_operator *row, const struct bw_shmem_request *request,
                      uint64_t bytes, struct bw_baseline_point *point)
{
    const struct shmem_machine machine = shmem_machine_of(job->session, request);
    const char *why = NULL;
    const char *api = nccl_api_of(row->op, &why);
    char *reason = shmem_case_set(c, row, request, &machine, bytes, 0);

    if (request->ranks > machine.ranks) {
        free(reason);
        reason = shmem_ranks_reason(request->ranks, machine.ranks);
    }
    memset(point, 0, sizeof(*point));
    point->op = row->op;
    point->ranks = request->ranks > machine.ranks ? request->ranks : machine.ranks;
    point->dtype = request->has_dtype ? request->dtype : row->dtype;
    point->bus_factor = bw_bus_factor(row->op, machine.ranks);
    (void)snprintf(point->api, sizeof(point->api), "%s", api != NULL ? api : "none");
    if (reason != NULL) {
        set_reason(point->reason, reason);
    } else {
        if (shmem_route_is_shared(c)) {
            c->row = bw_operator_way(row->op, ALGORITHM_PUSH); /* tables are its own rank's alone */
        }
        point->elements = c->elements;
        point->payload_bytes = c->payload_bytes;
        if (shmem_is_routed(row->op)) {
            bw_baseline_route_text(&c->route.shape, point->route, sizeof(point->route));
        }
        if (api == NULL || machine.ranks < 2) {
            set_reason(point->reason, api == NULL ? why : "one GPU: nothing crosses a link");
        }
    }
    free(reason);
}

/* The bytes that its routes send over links, as the operator's own bus factor counts them. */
static void count_route(const struct shmem_case *c, struct bw_baseline_point *point)
{
    const int busiest = bw_route_busiest(&c->route, point->op);

    point->is_counted = true;
    for (int r = 0; r < point->ranks; r++) {
        const struct bw_shmem_bytes bytes = bw_route_bytes_of(&c->route, point->op, r);

        point->rank_factor[r] =
            bw_bus_factor_counted(bw_shmem_remote_bytes(&bytes), point->payload_bytes);
    }
    point->bus_factor = point->rank_factor[busiest];
}

/* Where a GPU was lost, nothing that was to follow has begun. */
static void explain_rest(struct bw_baseline_point *point)
{
    for (int k = 0; k < BASELINE_CLASSES; k++) {
        for (int m = 0; m < BASELINE_MODES; m++) {
            struct bw_baseline_taken *taken = &point->taken[k][m];

            if (!taken->is_there && taken->reason[0] == '\0') {
                set_reason(taken->reason, "not begun: a GPU was lost before");
            }
        }
    }
}

/* What the GPUs went through while all its ways were measured. */
static void doubt_point(const struct bw_baseline_job *job, struct bw_baseline_point *point)
{
    const char *spoiled = bw_state_spoiled(job->session->state);

    (void)snprintf(point->doubt, sizeof(point->doubt), "%s", spoiled != NULL ? spoiled : "");
}

static enum bw_status take_point(struct bw_baseline_job *job, struct shmem_case *c,
                                 const struct bw_sampling *sampling,
                                 struct bw_baseline_point *point)
{
    struct bw_sampling own = *sampling;
    enum bw_status st = BW_OK;

    if (is_point_late(sampling, point)) {
        return BW_OK;
    }
    /* NCCL's messages follow each other, ours begin on 16 bytes: else the places are others. */
    point->is_checked =
        !sampling->skip_verification && (c->message_bytes % 16 == 0 || shmem_is_routed(c->row->op));
    own.skip_verification = !point->is_checked;
    c->session = job->session;
    bw_log_mark();
    st = shmem_route_open(c);
    if (st == BW_OK && shmem_is_routed(c->row->op)) {
        count_route(c, point);
    }
    for (int k = 0; k < BASELINE_CLASSES && st != BW_OK; k++) {
        set_reasons(point->taken[k], bw_log_reason());
    }
    bw_state_whole(job->session->state, 0, point->ranks);
    for (int k = 0; k < BASELINE_CLASSES && st == BW_OK; k++) {
        st = take_class(job, c, (enum bw_baseline_class)k, &own, point);
    }
    doubt_point(job, point);
    shmem_route_close(c);
    explain_rest(point);
    return ends_everything(st) ? st : BW_OK;
}

/* Tell it, and remember that. */
static enum bw_status tell_once(struct bw_baseline_job *job, const struct bw_baseline_point *point,
                                bw_baseline_tell *tell, void *to)
{
    struct bw_baseline_point *kept = bw_baseline_add(&job->done);

    if (kept == NULL) {
        return BW_ERR_MEMORY;
    }
    *kept = *point;
    return tell(to, point);
}

enum bw_status bw_baseline_measure(struct bw_baseline_job *job, const struct bw_operator *row,
                                   const struct bw_shmem_request *request,
                                   const struct bw_sampling *sampling, bw_baseline_tell *tell,
                                   void *to)
{
    struct shmem_case *c = calloc(1, sizeof(*c));
    struct bw_baseline_point *point = calloc(1, sizeof(*point));
    enum bw_status st = BW_OK;
    double at = 0;

    st = c == NULL || point == NULL ? bw_errno("no memory for the baseline of %s", row->tc.name)
                                    : BW_OK;
    for (uint64_t bytes = shmem_next_bytes(row, request, &at); st == BW_OK && bytes > 0;
         bytes = shmem_next_bytes(row, request, &at)) {
        enum bw_status told = BW_OK;

        set_point(job, c, row, request, bytes, point);
        if (bw_baseline_find(&job->done, point->op, point->dtype, point->ranks,
                             point->payload_bytes) != NULL) {
            continue;
        }
        if (point->reason[0] == '\0') {
            st = take_point(job, c, sampling, point);
        }
        told = tell_once(job, point, tell, to);
        st = told > st ? told : st;
    }
    free(point);
    free(c);
    return st;
}
