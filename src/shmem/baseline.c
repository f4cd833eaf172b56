/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of the baseline: points, and which of its ways stands for a class. Pure. */
#include "shmem.h"

#include "bwtool/log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *bw_baseline_class_name(enum bw_baseline_class kind)
{
    return kind == BASELINE_REGISTERED ? "registered" : "plain";
}

const char *bw_baseline_mode_name(enum bw_baseline_mode mode)
{
    return mode == BASELINE_GRAPH ? "graph" : "launch";
}

enum bw_baseline_class bw_baseline_class_for(enum bw_placement placement)
{
    return placement == PLACEMENT_R ? BASELINE_REGISTERED : BASELINE_PLAIN;
}

void bw_baseline_free(struct bw_baseline *baseline)
{
    free(baseline->points);
    *baseline = (struct bw_baseline){.points = NULL};
}

struct bw_baseline_point *bw_baseline_add(struct bw_baseline *baseline)
{
    struct bw_baseline_point *more = NULL;

    if (baseline->count == baseline->room) {
        const size_t room = baseline->room > 0 ? 2 * baseline->room : 16;

        more = realloc(baseline->points, room * sizeof(*more));
        if (more == NULL) {
            (void)bw_errno("no memory for %zu points of the baseline", room);
            return NULL;
        }
        baseline->points = more;
        baseline->room = room;
    }
    more = &baseline->points[baseline->count++];
    memset(more, 0, sizeof(*more));
    return more;
}

const struct bw_baseline_point *bw_baseline_find(const struct bw_baseline *baseline,
                                                 enum bw_shmem_op op, enum bw_shmem_dtype dtype,
                                                 int ranks, uint64_t payload_bytes)
{
    for (size_t i = 0; i < baseline->count; i++) {
        const struct bw_baseline_point *point = &baseline->points[i];

        if (point->op == op && point->dtype == dtype && point->ranks == ranks &&
            point->payload_bytes == payload_bytes) {
            return point;
        }
    }
    return NULL;
}

const struct bw_baseline_taken *bw_baseline_of_class(const struct bw_baseline_point *point,
                                                     enum bw_baseline_class kind,
                                                     enum bw_baseline_mode *mode)
{
    const struct bw_baseline_taken *best = NULL;

    for (int i = 0; i < BASELINE_MODES; i++) {
        const struct bw_baseline_taken *taken = &point->taken[kind][i];

        if (taken->is_there && (best == NULL || taken->us < best->us)) {
            best = taken;
            if (mode != NULL) {
                *mode = (enum bw_baseline_mode)i;
            }
        }
    }
    return best;
}

const struct bw_baseline_taken *bw_baseline_best(const struct bw_baseline_point *point,
                                                 enum bw_baseline_class *kind,
                                                 enum bw_baseline_mode *mode)
{
    const struct bw_baseline_taken *best = NULL;

    for (int i = 0; i < BASELINE_CLASSES; i++) {
        enum bw_baseline_mode own = BASELINE_LAUNCH;
        const struct bw_baseline_taken *taken =
            bw_baseline_of_class(point, (enum bw_baseline_class)i, &own);

        if (taken != NULL && (best == NULL || taken->us < best->us)) {
            best = taken;
            *kind = (enum bw_baseline_class)i;
            *mode = own;
        }
    }
    return best;
}

const char *bw_baseline_reason(const struct bw_baseline_point *point, enum bw_baseline_class kind)
{
    if (bw_baseline_of_class(point, kind, NULL) != NULL) {
        return "";
    }
    for (int i = 0; i < BASELINE_MODES; i++) {
        if (point->taken[kind][i].reason[0] != '\0') {
            return point->taken[kind][i].reason;
        }
    }
    return point->reason[0] != '\0' ? point->reason : "it was not measured";
}

const char *bw_baseline_doubt(const struct bw_baseline_point *point, enum bw_baseline_class kind)
{
    return bw_baseline_of_class(point, kind, NULL) != NULL ? point->doubt : "";
}

/* On another GPU the way may be another one, but the bytes are the same. */
static uint64_t payload_of(const struct bw_operator *row, const struct bw_shmem_request *request,
                           int ranks)
{
    const struct shmem_machine machine = shmem_machine_to_plan(NULL, ranks);
    struct shmem_case *c = calloc(1, sizeof(*c));
    uint64_t payload = 0;

    if (c != NULL) {
        free(shmem_case_set(c, row, request, &machine, request->bytes_min, 0));
        payload = c->payload_bytes;
    }
    free(c);
    return payload;
}

bool bw_baseline_answers(const struct bw_baseline_point *point, const struct bw_operator *row,
                         const struct bw_shmem_request *request, int ranks, bool is_exact)
{
    const enum bw_shmem_dtype dtype = request->has_dtype ? request->dtype : row->dtype;
    const int own = request->ranks > 0 ? request->ranks : ranks;

    if (point->op != row->op || point->dtype != dtype || point->ranks != own) {
        return false;
    }
    return is_exact
               ? point->payload_bytes > 0 && point->payload_bytes == payload_of(row, request, own)
               : point->payload_bytes == 0;
}

void bw_baseline_join(const struct bw_baseline *baseline, struct bw_shmem_result *result)
{
    result->baseline = baseline;
    for (size_t i = 0; i < result->count; i++) {
        struct bw_shmem_point *p = &result->points[i];
        const enum bw_baseline_class kind = bw_baseline_class_for(p->placement);
        const struct bw_baseline_taken *taken = NULL;

        p->baseline =
            bw_baseline_find(baseline, p->row->op, p->dtype, p->ranks, p->figures.payload_bytes);
        if (p->baseline == NULL || p->status != BW_OK) {
            continue;
        }
        taken = bw_baseline_of_class(p->baseline, kind, NULL);
        if (taken != NULL) {
            const struct bw_shmem_figures f = bw_baseline_figures(p->baseline, taken->us);

            p->pass = bw_baseline_doubt(p->baseline, kind)[0] != '\0'
                          ? SHMEM_PASS_NA
                          : bw_shmem_verdict(&p->figures, f.kernel_bus_gb_per_s);
        }
    }
}

struct bw_shmem_figures bw_baseline_figures(const struct bw_baseline_point *point, double us)
{
    return bw_shmem_figures_of(point->bus_factor, point->payload_bytes, us, us, (double)NAN);
}

struct bw_shmem_figures bw_baseline_rank_figures(const struct bw_baseline_point *point, int rank,
                                                 double us)
{
    return bw_shmem_figures_of(point->is_counted ? point->rank_factor[rank] : point->bus_factor,
                               point->payload_bytes, us, us, (double)NAN);
}

void bw_baseline_route_text(const struct bw_route_shape *shape, char *text, size_t room)
{
    (void)snprintf(text, room, "tokens=%u hidden=%u top_k=%u experts=%u skew=%g seed=%llu",
                   shape->tokens, shape->hidden, shape->top_k, shape->experts, shape->skew,
                   (unsigned long long)shape->seed);
}
