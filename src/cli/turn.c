/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of one of the chosen testcases: it is not run, waived, or measured. */
#include "baseline.h"
#include "operators.h"
#include "ranks.h"
#include "runner.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/phase.h"
#include "bwtool/state.h"
#include "bwtool/text.h"

#include <stdlib.h>
#include <string.h>

/* Others may wait so long while the first rank measures alone, and a call of it may take so long:
 * it allocates host memory, too. */
enum { ALONE_S = 7200, ALONE_CALL_S = 120 };

/* Room for what will be found, so that nothing of this can fail in one rank later. */
static enum bw_status get_ready(struct runner *r, struct bw_testcase_result *result,
                                struct bw_plan *plan)
{
    enum bw_status st = BW_OK;

    if (bw_operator_of(result->tc) != NULL) {
        return bw_baseline_is_alone(&r->run)
                   ? bw_baseline_get_ready(r->options, result)
                   : bw_operator_get_ready(&r->session, r->options, result);
    }
    TRY(bw_session_plan(&r->session, plan, result->tc));
    TRY(bw_result_shape(result, plan));
out:
    return st;
}

/* What another rank keeps from being measured has a reason, and no rows that say nothing. */
static enum bw_status agree_all(struct runner *r, struct bw_testcase_result *result,
                                enum bw_status mine)
{
    enum bw_status st = bw_world_agree_all(r->world, mine, "making room for results");
    char *reason = NULL;

    if (st != BW_OK) {
        st = bw_world_explain_all(r->world, st, bw_log_reason(), &reason);
        bw_result_drop(result);
        free(result->reason);
        result->reason = reason;
    }
    return st;
}

/* What shows only now that all is measured may have spoiled any value. Collective. */
static void doubt_late(struct runner *r, struct bw_testcase_result *result)
{
    const bool is_shared = bw_has_ranks(r) && bw_ranks_take_part(result->tc);
    char text[BW_STATE_TEXT_BYTES];
    const char *late = bw_state_late_all(r->session.state, is_shared ? r->world : &r->session.alone,
                                         text, sizeof(text));

    if (late == NULL) {
        return;
    }
    bw_log(bw_world_is_root(r->world) ? LOG_WARNING : LOG_VERBOSE,
           "%s: unreliable: %s, and which of its values that spoiled is not known", result->name,
           late);
    for (int m = 0; m < result->matrix_count; m++) {
        const struct bw_matrix *matrix = &result->matrices[m];

        for (int i = 0; i < matrix->rows * matrix->cols; i++) {
            struct bw_cell *cell = &matrix->cells[i];

            if (cell->is_present && !cell->is_doubtful) {
                bw_cell_set_doubt(cell,
                                  bw_text_format("%s, during one of the testcase's values", late));
            }
        }
    }
}

static enum bw_status measure(struct runner *r, struct bw_testcase_result *result,
                              const struct bw_plan *plan)
{
    struct bw_cell *cells[3] = {NULL, NULL, NULL};
    enum bw_status st = BW_OK;

    bw_state_begin(r->session.state);
    if (bw_operator_of(result->tc) != NULL) {
        st = bw_operator_run(&r->session, r->options, &r->run, result);
    } else {
        for (int m = 0; m < result->matrix_count; m++) {
            cells[m] = result->matrices[m].cells;
        }
        st = bw_measure_all(&r->session, plan, &r->run.sampling, cells);
        bw_result_find_outliers(&r->run, result);
    }
    if (!bw_testcase_is_host(result->tc)) {
        result->records = bw_state_end(r->session.state);
        result->record_count = r->session.gpus.count;
        doubt_late(r, result);
    }
    return st;
}

static void add_use(struct runner *r, const struct bw_world_use *before,
                    struct bw_testcase_result *result)
{
    const struct bw_world_use *now = &r->world->use;

    result->shared_by = bw_session_shared_by(&r->session);
    result->skew_ns = bw_session_skew_ns(&r->session);
    result->use = (struct bw_world_use){now->collectives - before->collectives,
                                        now->bytes - before->bytes, now->seconds - before->seconds};
}

/* `has_room`: there is a result to fill in; a rank without one still tells the others. */
static void run_one(struct runner *r, struct bw_testcase_result *result, bool has_room)
{
    const bool is_shared = bw_has_ranks(r) && bw_ranks_take_part(result->tc);
    const uint64_t start_ns = bw_clock_ns();
    const struct bw_phases phases = bw_phases_so_far();
    struct bw_world_use before = {0};
    struct bw_plan plan = {0};
    enum bw_status st = has_room ? get_ready(r, result, &plan) : BW_ERR_MEMORY;

    st = is_shared ? agree_all(r, result, st) : st;
    before = r->world->use;
    result->status = st == BW_OK ? measure(r, result, &plan) : st;
    if (is_shared) {
        add_use(r, &before, result);
    }
    bw_plan_free(&plan);
    result->wall_seconds = (double)(bw_clock_ns() - start_ns) * 1e-9;
    result->phases = bw_phases_since(&phases);
    bw_result_set_buffer_bytes(result);
    result->verdict = bw_result_verdict(result);
    if (result->reason == NULL) {
        bw_result_set_reason(result, bw_result_first_reason(result, NULL, NULL));
    }
    if (result->verdict == VERDICT_PASSED && result->reason != NULL &&
        bw_operator_of(result->tc) == NULL) { /* whose tables have it */
        bw_note("%s: some of its values are left out: %s", result->name, result->reason);
    }
    if (result->reason == NULL && result->status != BW_OK) {
        bw_result_set_reason(result, bw_log_reason());
    }
}

/* Why a testcase is not run, though it exists and this machine might do; NULL if it is. */
static const char *reason_not_to_run(const struct runner *r, const struct bw_testcase *tc)
{
    if (r->is_late && !bw_baseline_is_alone(&r->run)) { /* whose points say it themselves */
        return "the time that --max-time gives was over before its turn";
    }
    if (bw_testcase_is_host(tc)) {
        return NULL;
    }
    if (r->gpu_status != BW_OK) {
        return bw_has_ranks(r) ? "a rank has no usable GPU or driver"
                               : "there is no usable GPU or driver";
    }
    return r->is_over ? "the GPUs were lost before its turn" : NULL;
}

/*
 * With several ranks: what needs no others is the first rank's alone, and the
 * others wait here. True if this is one of those.
 */
static bool must_wait(struct runner *r, const struct bw_testcase *tc)
{
    const bool is_alone = bw_has_ranks(r) && tc != NULL && !bw_ranks_take_part(tc);

    r->world->patience_s = !is_alone ? 0 : bw_world_is_root(r->world) ? ALONE_CALL_S : ALONE_S;
    bw_world_tell(r->world, is_alone ? tc->name : NULL, NULL);
    return is_alone && !bw_world_is_root(r->world);
}

static void decide(struct runner *r, const struct bw_choice *choice,
                   struct bw_testcase_result *result, bool has_room)
{
    const struct bw_testcase *tc = result->tc;
    char *waiver = NULL;

    if (tc == NULL) {
        result->verdict = VERDICT_NOT_FOUND;
        result->by_index = choice->is_number;
        result->asked_index = choice->number;
    } else if (reason_not_to_run(r, tc) != NULL) {
        result->verdict = VERDICT_NOT_RUN;
        bw_result_set_reason(result, reason_not_to_run(r, tc));
    } else if ((waiver = bw_baseline_is_alone(&r->run)
                             ? bw_baseline_waiver(r->options, &r->run, tc, choice->suite)
                             : bw_ranks_waiver_all(&r->session, r->options, tc, choice->suite)) !=
               NULL) {
        result->verdict = VERDICT_WAIVED;
        result->reason = waiver;
    } else {
        if (r->ops != NULL && has_room) { /* else it is not in the record that is shown */
            r->ops->running(&r->report, tc->name);
        }
        run_one(r, result, has_room);
    }
}

/* NULL: no memory for one, and the record says so, for the testcase is not even in it. */
static struct bw_testcase_result *add_result(struct runner *r, const char *name)
{
    struct bw_testcase_result *result = bw_run_add(&r->run, name);

    if (result == NULL) {
        bw_error("no memory for the result of %s", name);
        bw_run_set_error(&r->run, bw_log_reason() == NULL ? NULL : strdup(bw_log_reason()));
    }
    return result;
}

void bw_take_turn(struct runner *r, const struct bw_choice *choice)
{
    const struct bw_testcase *tc = choice->index < 0 ? NULL : bw_all_at((size_t)choice->index);
    struct bw_testcase_result nobodys = {.tc = tc, .index = choice->index};
    struct bw_testcase_result *result = NULL;

    if (must_wait(r, tc)) {
        return;
    }
    bw_log_mark();
    result = add_result(r, tc != NULL ? tc->name : choice->word);
    if (result == NULL) {
        decide(r, choice, &nobodys, false); /* the others may be waiting for this rank */
        free(nobodys.reason);
        return;
    }
    result->suite = choice->suite;
    result->buffer_bytes = r->run.sampling.buffer_bytes;
    decide(r, choice, result, true);
    if (r->ops != NULL) {
        r->ops->testcase(&r->report, result);
        bw_result_say_outliers(result);
    }
}
