/* SPDX-License-Identifier: Apache-2.0 */
/* An operator's points: every size, with every grid. */
#include "shmem.h"

#include "../measure/ranks.h"

#include "bwtool/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    point->ctas = c->ctas;
    point->default_ctas = c->default_ctas;
    point->threads = c->threads;
    point->has_pdl = c->has_pdl;
    point->warm = shmem_warm(c, PROGRAM_KERNEL);
    point->route = c->route.shape;
    point->bytes = c->row->algorithm == ALGORITHM_MULTICAST
                       ? bw_shmem_switch_bytes_of(c->row->op, c->ranks, c->payload_bytes)
                       : bw_shmem_bytes_of(c->row->op, c->ranks, c->payload_bytes);
    point->operations = bw_shmem_operations(c->row->op, c->ranks, c->elements);
}

/* One row at work. */
struct job {
    struct bw_session *session;
    const struct bw_operator *row;
    const struct bw_shmem_request *request;
    const struct bw_sampling *sampling;
    double peak;
    struct bw_shmem_result *result;
    size_t first; /* point of the size that it is at */
    bool is_over; /* a rank's GPU is lost; all know it */
};

/* Why, by the rank that it happened to; and whether any rank can go on. */
static enum bw_status explain_all(struct job *job, enum bw_status st, struct bw_shmem_point *point)
{
    struct bw_session *session = job->session;
    double lost = bw_cu_context_lost();
    char *reason = NULL;

    if (session->ranks != NULL) {
        st = bw_world_explain_all(session->world, st, bw_log_reason(), &reason);
        (void)bw_world_sum_all(session->world, &lost, 1);
    } else if (bw_log_reason() != NULL) {
        reason = strdup(bw_log_reason());
    }
    job->is_over = lost > 0 || st == BW_ERR_LOST || st == BW_ERR_NO_GPU;
    free(point->reason); /* of a rank that would waive it, while another lacks memory */
    point->status = st;
    point->reason = reason;
    return st;
}

/* For whoever watches the ranks. */
static void tell(const struct bw_session *session, const struct bw_operator *row, uint64_t bytes)
{
    char phase[96];

    (void)snprintf(phase, sizeof(phase), "%s, %llu bytes", row->tc.name, (unsigned long long)bytes);
    bw_world_tell(session->world, phase, NULL);
}

/* Of those who measure an operator together. */
static struct bw_world *world_of(const struct job *job)
{
    return job->session->ranks != NULL ? job->session->world : &job->session->alone;
}

/* Whether --max-time is over. The ranks go by the clock of the first. */
static bool is_late_all(const struct job *job)
{
    struct bw_world *world = world_of(job);
    double is_over = bw_world_is_root(world) && bw_sampling_is_over(job->sampling);

    if (job->sampling->deadline_ns != UINT64_MAX) {
        (void)bw_world_sum_all(world, &is_over, 1);
    }
    return is_over > 0;
}

/* Ranks waive it together: should one lack the memory to say why, it has no reason of its own. */
static bool is_waived_all(struct job *job, struct bw_shmem_point *point)
{
    double waived = point->reason != NULL;

    (void)bw_world_sum_all(world_of(job), &waived, 1);
    if (waived > 0) {
        point->status = BW_WAIVED;
    }
    return waived > 0;
}

/*
 * A way that takes no grid, or at most so many blocks, makes the same case of
 * several grids: it is measured once. The same in all ranks.
 */
static bool is_measured(const struct job *job, const struct bw_shmem_point *point)
{
    const struct bw_shmem_point *points = job->result->points;

    for (size_t i = job->first; &points[i] < point; i++) {
        if (points[i].row == point->row && points[i].ctas == point->ctas) {
            return true;
        }
    }
    return false;
}

/* One size with one grid. */
static enum bw_status measure_point_all(struct job *job, uint64_t bytes, unsigned ctas)
{
    const struct shmem_machine machine = shmem_machine_of(job->session, job->request);
    struct shmem_case *c = calloc(1, sizeof(*c));
    struct bw_shmem_point *point = add_point(job->result);
    struct bw_shmem_point spare = {.status = BW_OK};
    enum bw_status st = c == NULL || point == NULL ? BW_ERR_MEMORY : BW_OK;

    bw_log_mark();
    tell(job->session, job->row, bytes);
    if (point != NULL) { /* whatever becomes of it, it is reported */
        point->row = job->row;
        point->ranks = machine.ranks;
    }
    if (point != NULL && c == NULL) {
        (void)bw_errno("no memory for a case of %s", job->row->tc.name);
    }
    if (st == BW_OK) {
        point->reason = shmem_case_set(c, job->row, job->request, &machine, bytes, ctas);
        point->dtype = c->dtype;
        point->elements = c->elements; /* 0 where it is not its size that it is waived for */
        point->figures.payload_bytes = c->payload_bytes;
        c->session = job->session;
    }
    TRY(bw_world_agree_all(world_of(job), st, "choosing an operator's way"));
    if (is_waived_all(job, point)) {
        free(c);
        return BW_OK;
    }
    describe_case(c, point);
    if (is_measured(job, point)) {
        job->result->count--;
        free(c);
        return BW_OK;
    }
    if (is_late_all(job)) {
        point->is_unrun = true;
        point->status = BW_ERR_TIMEOUT;
        point->reason = strdup("not run: --max-time was over");
        free(c);
        return BW_ERR_TIMEOUT;
    }
    st = shmem_take_all(c, job->sampling, job->peak, point);
out:
    if (st != BW_OK) {
        st = explain_all(job, st, point != NULL ? point : &spare);
    }
    free(spare.reason);
    free(c);
    return st;
}

/* What was found when memory was to be shared is the row's one result. */
static enum bw_status fail_unshared(const struct bw_session *session, const struct bw_operator *row,
                                    struct bw_shmem_result *result)
{
    struct bw_shmem_point *point = add_point(result);

    if (point != NULL) {
        point->row = row;
        point->ranks = session->world->ranks;
        point->status = session->ranks->status;
        point->reason = session->ranks->reason == NULL ? NULL : strdup(session->ranks->reason);
    }
    return session->ranks->status;
}

/* Every size, and for each every grid that was asked for; the worst status. */
enum bw_status bw_shmem_measure_all(struct bw_session *session, const struct bw_operator *row,
                                    const struct bw_shmem_request *request,
                                    const struct bw_sampling *sampling,
                                    struct bw_shmem_result *result)
{
    struct job job = {.session = session,
                      .row = row,
                      .request = request,
                      .sampling = sampling,
                      .peak = shmem_peak(session, row, request, sampling, result),
                      .result = result};
    const unsigned grids = request->ctas_count > 0 ? request->ctas_count : 1;
    enum bw_status worst = BW_OK;
    double at = 0;

    if (session->ranks != NULL && session->ranks->status != BW_OK) {
        return fail_unshared(session, row, result);
    }
    for (uint64_t bytes = shmem_next_bytes(row, request, &at); bytes > 0 && !job.is_over;
         bytes = shmem_next_bytes(row, request, &at)) {
        job.first = result->count;
        for (unsigned i = 0; i < grids && !job.is_over; i++) {
            const enum bw_status st =
                measure_point_all(&job, bytes, request->ctas_count > 0 ? request->ctas[i] : 0);

            worst = st > worst ? st : worst;
        }
    }
    return worst;
}

void bw_shmem_result_free(struct bw_shmem_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        free(result->points[i].rank_e2e_us);
        free(result->points[i].rank_kernel_us);
        free(result->points[i].rank_bytes);
        free(result->points[i].reason);
        bw_frame_table_free(result->points[i].frames);
    }
    free(result->points);
    *result = (struct bw_shmem_result){0};
}
