/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/measure.h"

#include "crew.h"
#include "ranks.h"
#include "session.h"
#include "watch.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t lanes_of(const struct bw_plan *plan, const struct bw_launch *launch)
{
    /* A bisection has one launch and a row for each lane. */
    return plan->tc->shape == SHAPE_BISECT ? launch->lane_count : 1;
}

/* The launch's cells have no value, and this is why. */
static void fail_cells(const struct bw_plan *plan, const struct bw_launch *launch,
                       struct bw_cell **cells, enum bw_status st, const char *reason)
{
    const size_t at = (size_t)launch->row * (size_t)plan->cols + (size_t)launch->col;

    for (int m = 0; m < bw_testcase_matrix_count(plan->tc); m++) {
        for (size_t i = 0; i < lanes_of(plan, launch); i++) {
            struct bw_cell *cell = &cells[m][at + i];

            bw_cell_close(cell);
            cell->status = st;
            cell->reason = reason == NULL ? NULL : strdup(reason);
        }
    }
}

/* Where the driving thread should be: near the GPU of the column. */
static enum bw_status bind(const struct bw_session *session, const struct bw_plan *plan,
                           const struct bw_launch *launch, const struct bw_sampling *sampling)
{
    if (!sampling->bind || bw_testcase_is_host(plan->tc)) {
        return BW_OK;
    }
    return bw_session_bind(session, bw_testcase_is_multinode(plan->tc)
                                        ? session->own
                                        : plan->lanes[launch->lane].issuer);
}

/* What all ranks say of a failure: the worst status, and the reason of the rank that had it. */
static enum bw_status fail_launch(struct bw_session *session, const struct bw_plan *plan,
                                  const struct bw_launch *launch, const struct bw_crew *crew,
                                  struct bw_cell **cells, enum bw_status st)
{
    const char *own = crew->waiver != NULL ? crew->waiver : bw_log_reason();
    char *reason = NULL;

    if (bw_testcase_is_multinode(plan->tc)) {
        st = bw_world_explain_all(session->world, st, own, &reason);
    }
    fail_cells(plan, launch, cells, st, reason != NULL ? reason : own);
    free(reason);
    return st;
}

/* For whoever watches the ranks: "NAME 0 -> 1". */
static void tell(const struct bw_session *session, const struct bw_plan *plan,
                 const struct bw_launch *launch)
{
    char phase[128];

    (void)snprintf(phase, sizeof(phase), "%s, cell %d, %d", plan->tc->name, launch->row,
                   launch->col);
    bw_world_tell(session->world, phase, NULL);
}

static enum bw_status take_launch(struct bw_session *session, const struct bw_plan *plan,
                                  const struct bw_launch *launch,
                                  const struct bw_sampling *sampling, struct bw_hint *hint,
                                  struct bw_cell **cells)
{
    struct bw_world *world = bw_testcase_is_multinode(plan->tc) ? session->world : &session->alone;
    struct bw_crew crew = {0};
    enum bw_status st = BW_OK;

    bw_log_mark();
    tell(session, plan, launch);
    st = bind(session, plan, launch, sampling);
    st = st == BW_OK ? bw_crew_open(&crew, session, plan, launch, sampling, hint) : st;
    TRY(bw_world_agree_all(world, st, "getting buffers, warming up"));
    TRY(bw_crew_measure(&crew));
    TRY(bw_world_agree_all(world, bw_crew_fill_cells(&crew, cells), "keeping what was measured"));
out:
    if (st != BW_OK) {
        st = fail_launch(session, plan, launch, &crew, cells, st);
    }
    bw_crew_close(&crew);
    return st == BW_WAIVED ? BW_OK : st;
}

/* Take after take, until one is not spoiled by what the GPUs went through meanwhile. */
static enum bw_status measure_launch(struct bw_session *session, const struct bw_plan *plan,
                                     const struct bw_launch *launch,
                                     const struct bw_sampling *sampling, struct bw_hint *hint,
                                     struct bw_cell **cells)
{
    for (int take = 1;; take++) {
        enum bw_status st = BW_OK;

        bw_watch_begin(session, plan, launch);
        st = take_launch(session, plan, launch, sampling, hint, cells);
        if (!bw_watch_end(session, plan, launch, sampling, cells, st, take)) {
            return st;
        }
    }
}

bool bw_sampling_is_over(const struct bw_sampling *sampling)
{
    return bw_clock_ns() > sampling->deadline_ns;
}

/* After this nothing more can be measured on the GPUs. */
static bool ends_everything(enum bw_status st)
{
    return st == BW_ERR_LOST || st == BW_ERR_TIMEOUT || st == BW_ERR_NO_GPU;
}

/* The ranks go by the clock of the first. */
static bool is_over_all(struct bw_session *session, const struct bw_plan *plan,
                        const struct bw_sampling *sampling)
{
    double is_over = bw_sampling_is_over(sampling);

    if (bw_testcase_is_multinode(plan->tc) && sampling->deadline_ns != UINT64_MAX) {
        is_over = bw_world_is_root(session->world) ? is_over : 0;
        (void)bw_world_sum_all(session->world, &is_over, 1);
    }
    return is_over > 0;
}

static enum bw_status fail_all(const struct bw_plan *plan, struct bw_cell **cells,
                               enum bw_status st, const char *reason)
{
    for (size_t i = 0; i < plan->launch_count; i++) {
        fail_cells(plan, &plan->launches[i], cells, st, reason);
    }
    return st;
}

enum bw_status bw_measure_all(struct bw_session *session, const struct bw_plan *plan,
                              const struct bw_sampling *sampling, struct bw_cell **cells)
{
    enum bw_status worst = BW_OK;
    struct bw_hint hint = {0};

    if (bw_testcase_is_multinode(plan->tc) && session->ranks->status != BW_OK) {
        return fail_all(plan, cells, session->ranks->status, session->ranks->reason);
    }

    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct bw_launch *launch = &plan->launches[i];
        enum bw_status st = BW_OK;

        if (is_over_all(session, plan, sampling)) {
            fail_cells(plan, launch, cells, BW_ERR_TIMEOUT, "not run: --max-time was over");
            worst = BW_ERR_TIMEOUT > worst ? BW_ERR_TIMEOUT : worst;
            continue;
        }
        if (ends_everything(worst)) {
            fail_cells(plan, launch, cells, worst, "not measured: the GPUs were lost before");
            continue;
        }
        st = measure_launch(session, plan, launch, sampling, &hint, cells);
        worst = st > worst ? st : worst;
    }
    if (sampling->bind) {
        (void)bw_session_bind(session, -1);
    }
    return worst;
}

const char *bw_end_text(const struct bw_lane *lane, struct bw_end end, char *text, size_t room)
{
    if (bw_testcase_is_host(lane->plan->tc)) {
        snprintf(text, room, "Node %d", end.id);
    } else if (bw_testcase_is_multinode(lane->plan->tc)) {
        snprintf(text, room, "Rank %d", end.id);
    } else if (end.mem == MEM_HOST) {
        snprintf(text, room, "Host (near Device %d)", end.id);
    } else {
        snprintf(text, room, "Device %d", end.id);
    }
    return text;
}

enum bw_status bw_lane_mismatch(const struct bw_lane *lane, struct bw_end src, struct bw_end dst,
                                uint64_t wrong_bytes, uint64_t first, uint32_t expected,
                                uint32_t got)
{
    char from[40];
    char to[40];

    bw_error("%s: %s -> %s by %s: verification failed: %llu of %llu bytes are wrong, the first at "
             "offset %llu: expected 0x%08x, got 0x%08x",
             lane->plan->tc->name, bw_end_text(lane, src, from, sizeof(from)),
             bw_end_text(lane, dst, to, sizeof(to)), bw_engine_name(lane->lane_plan->engine),
             (unsigned long long)wrong_bytes, (unsigned long long)lane->bytes,
             (unsigned long long)first, expected, got);
    return BW_ERR_VERIFY;
}
