/* SPDX-License-Identifier: Apache-2.0 */
/* A run's baseline: whether it makes sense, when it is measured, and what is made of it alone. */
#include "baseline.h"

#include "baseline_process.h"
#include "operators.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/operators.h"
#include "bwtool/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The GPUs are left alone behind it: clocks and links come to rest from another process's work. */
static const double settle_s = 1;

static bool is_only(const struct bw_options *options)
{
    return options->baseline != NULL && strcmp(options->baseline, "nccl-only") == 0;
}

bool bw_baseline_is_alone(const struct bw_run *run)
{
    return run->baseline != NULL && run->baseline->is_alone;
}

/* NULL: it makes sense. */
static const char *misuse(const struct bw_options *options, const struct bw_selection *selection,
                          int ranks)
{
    size_t operators = 0;

    for (size_t i = 0; i < selection->count; i++) {
        const int index = selection->choices[i].index;

        operators += index >= 0 && bw_operator_of(bw_all_at((size_t)index)) != NULL;
    }
    if (ranks > 1) {
        return "a job of several ranks is the operators' alone: run 'bwtool --baseline nccl-only "
               "-j' without mpirun, and join the two JSON files by --compare";
    }
    if (operators == 0) {
        return "is of operators, and none of the testcases is one (-p shmem_)";
    }
    return is_only(options) && operators != selection->count - selection->unknown_count
               ? "nccl-only is of operators, and not all of the testcases are (-p shmem_)"
               : NULL;
}

static size_t count_measured(const struct bw_baseline *baseline)
{
    size_t count = 0;

    for (size_t i = 0; i < baseline->count; i++) {
        enum bw_baseline_class kind = BASELINE_PLAIN;
        enum bw_baseline_mode mode = BASELINE_LAUNCH;

        count += bw_baseline_best(&baseline->points[i], &kind, &mode) != NULL;
    }
    return count;
}

static void warn_of_doubts(const struct bw_baseline *baseline)
{
    const char *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < baseline->count; i++) {
        if (baseline->points[i].doubt[0] != '\0') {
            first = first == NULL ? baseline->points[i].doubt : first;
            count++;
        }
    }
    if (count > 0) {
        bw_warn("the NCCL baseline is unreliable at %zu of %zu points: %s", count, baseline->count,
                first);
    }
}

static void take(const struct bw_options *options, struct bw_run *run)
{
    struct bw_baseline *baseline = run->baseline;

    baseline->is_alone = is_only(options);
    bw_baseline_take(options, run->argc, run->argv, baseline);
    if (baseline->reason[0] != '\0') {
        const char *what = baseline->count > 0 ? "not whole" : "missing";

        if (baseline->is_alone) { /* there is nothing else that could be right */
            bw_error("the NCCL baseline is %s: %s", what, baseline->reason);
        } else {
            bw_warn("the NCCL baseline is %s: %s", what, baseline->reason);
        }
    }
    warn_of_doubts(baseline);
    if (!baseline->is_alone && count_measured(baseline) > 0) {
        baseline->settle_s = settle_s;
        bw_verbose("NCCL %s is measured; the GPUs are left alone for %.0f s", baseline->version,
                   settle_s);
        bw_clock_sleep_us((unsigned)(settle_s * 1e6));
    }
}

enum bw_status bw_baseline_begin(const struct bw_options *options,
                                 const struct bw_selection *selection, const struct bw_world *world,
                                 struct bw_run *run)
{
    const char *why = NULL;

    if (options->baseline == NULL) {
        return BW_OK;
    }
    why = misuse(options, selection, world->ranks);
    if (why != NULL) {
        if (bw_world_is_root(world)) {
            bw_error("--baseline: %s", why);
        }
        return BW_ERR_USAGE;
    }
    run->baseline = calloc(1, sizeof(*run->baseline));
    if (run->baseline == NULL) {
        return bw_errno("no memory for the baseline");
    }
    take(options, run);
    return BW_OK;
}

/* The better of plain memory, which every NCCL has; the other ways are in the record. */
static void fill_cell(const struct bw_baseline_point *point, struct bw_cell *cell)
{
    const struct bw_baseline_taken *taken = bw_baseline_of_class(point, BASELINE_PLAIN, NULL);

    cell->reverse_gb_per_s = NAN;
    cell->buffer_bytes = cell->bytes = point->payload_bytes;
    if (taken == NULL) {
        cell->reason = strdup(bw_baseline_reason(point, BASELINE_PLAIN));
        cell->status = point->reason[0] != '\0' ? BW_OK : BW_ERR_CUDA;
        return;
    }
    cell->value = bw_baseline_figures(point, taken->us).kernel_bus_gb_per_s;
    cell->is_present = true;
    cell->copies = taken->iterations;
    cell->seconds = taken->us * 1e-6 * (double)taken->iterations * taken->samples;
    if (point->doubt[0] != '\0') {
        bw_cell_set_doubt(cell, strdup(point->doubt));
    }
}

/*
 * Its process ended while it measured the operator, as far as is known: points may be missing. Of
 * a suite's case, which has one, that is seen.
 */
static bool is_cut_short(const struct bw_baseline *baseline, const struct bw_testcase *tc,
                         const struct bw_suite_case *suite)
{
    return suite == NULL && baseline->reason[0] != '\0' && baseline->count > 0 &&
           baseline->points[baseline->count - 1].op == bw_operator_of(tc)->op;
}

/* The points that stand for a testcase: all of its operator, but of a suite's case its own. */
struct chosen {
    const struct bw_baseline_point **points; /* the caller frees them */
    size_t count;
};

static enum bw_status choose(const struct bw_options *options, const struct bw_run *run,
                             const struct bw_testcase *tc, const struct bw_suite_case *suite,
                             struct chosen *chosen)
{
    const struct bw_operator *row = bw_operator_of(tc);
    const struct bw_shmem_request request = bw_operator_request(options, suite);
    const struct bw_baseline *baseline = run->baseline;

    *chosen = (struct chosen){
        .points = calloc(baseline->count + 1, sizeof(const struct bw_baseline_point *))};
    if (chosen->points == NULL) {
        return bw_errno("no memory for NCCL's points of %s", tc->name);
    }
    for (int is_exact = 1; is_exact >= 0 && chosen->count == 0; is_exact--) {
        for (size_t i = 0; i < baseline->count; i++) {
            const struct bw_baseline_point *point = &baseline->points[i];

            if (suite == NULL
                    ? point->op == row->op
                    : bw_baseline_answers(point, row, &request, run->device_count, is_exact != 0)) {
                chosen->points[chosen->count++] = point;
            }
        }
    }
    return BW_OK;
}

/* The first reason of a testcase of which no point could even be begun; NULL if there is none. */
static const char *why_no_point(const struct bw_baseline *baseline, const struct bw_testcase *tc,
                                const struct bw_suite_case *suite, const struct chosen *chosen)
{
    if (baseline->is_absent) {
        return baseline->reason;
    }
    for (size_t i = 0; i < chosen->count; i++) {
        if (chosen->points[i]->reason[0] == '\0') {
            return NULL; /* it was measured, or that failed */
        }
    }
    return chosen->count == 0 || is_cut_short(baseline, tc, suite) ? NULL
                                                                   : chosen->points[0]->reason;
}

char *bw_baseline_waiver(const struct bw_options *options, const struct bw_run *run,
                         const struct bw_testcase *tc, const struct bw_suite_case *suite)
{
    struct chosen chosen;
    const char *why = NULL;
    char *misuse = NULL;

    if (choose(options, run, tc, suite, &chosen) != BW_OK) {
        return NULL; /* it is found out once more, and fails then */
    }
    why = why_no_point(run->baseline, tc, suite, &chosen);
    free(chosen.points);
    if (why == NULL || bw_operator_is_misuse(options, tc, suite, &misuse)) {
        free(misuse);
        return NULL;
    }
    return bw_text_format("%s", why);
}

enum bw_status bw_baseline_get_ready(const struct bw_options *options,
                                     const struct bw_testcase_result *result)
{
    char *reason = NULL;

    if (!bw_operator_is_misuse(options, result->tc, result->suite, &reason)) {
        return BW_OK;
    }
    if (reason == NULL) {
        return bw_errno("no memory to look at what is asked of %s", result->name);
    }
    bw_log_mark();
    bw_error("%s: %s", result->name, reason);
    free(reason);
    return BW_ERR_USAGE;
}

static enum bw_status fail_alone(const struct bw_baseline *baseline,
                                 const struct bw_testcase_result *result, const char *what)
{
    bw_log_mark();
    bw_error("%s: NCCL %s: %s", result->name, what,
             baseline->reason[0] != '\0' ? baseline->reason : "no reason is known");
    return BW_ERR_SYSTEM;
}

/* The one matrix. */
static enum bw_status shape(const struct bw_baseline *baseline, const struct chosen *chosen,
                            struct bw_testcase_result *result)
{
    const enum bw_shmem_op op = bw_operator_of(result->tc)->op;
    struct bw_matrix *matrix = &result->matrices[0];

    result->matrix_count = 1;
    matrix->suffix = "_nccl"; /* so that nobody takes it for the operator's own value */
    (void)snprintf(matrix->title, sizeof(matrix->title),
                   "%s by NCCL on plain memory, kernel bus bandwidth (GB/s)",
                   bw_shmem_formula(op)->name);
    matrix->cols = 1;
    matrix->cells = calloc(chosen->count + 1, sizeof(*matrix->cells));
    matrix->row_labels = calloc(chosen->count + 1, sizeof(*matrix->row_labels));
    if (matrix->cells == NULL || matrix->row_labels == NULL) {
        return bw_errno("no memory for the results of %s", result->name);
    }
    for (size_t i = 0; i < chosen->count; i++) {
        const struct bw_baseline_point *point = chosen->points[i];

        fill_cell(point, &matrix->cells[i]);
        if (matrix->cells[i].status != BW_OK) {
            bw_error("%s, %llu bytes: NCCL gave no value: %s", result->name,
                     (unsigned long long)point->payload_bytes,
                     bw_baseline_reason(point, BASELINE_PLAIN));
        }
        matrix->row_labels[i] = bw_operator_size_text(point->payload_bytes);
        matrix->rows = (int)i + 1;
        if (matrix->row_labels[i] == NULL) {
            return bw_errno("no memory for the results of %s", result->name);
        }
    }
    return chosen->count == 0 ? fail_alone(baseline, result, "was not measured")
           : is_cut_short(baseline, result->tc, result->suite)
               ? fail_alone(baseline, result, "may not have been measured to the end")
               : BW_OK;
}

enum bw_status bw_baseline_report_alone(const struct bw_options *options, const struct bw_run *run,
                                        struct bw_testcase_result *result)
{
    struct chosen chosen;
    enum bw_status st = BW_OK;

    TRY(choose(options, run, result->tc, result->suite, &chosen));
    if (why_no_point(run->baseline, result->tc, result->suite, &chosen) != NULL) {
        free(chosen.points);
        return fail_alone(run->baseline, result, "could not be waived for want of memory");
    }
    result->shmem = calloc(1, sizeof(*result->shmem));
    if (result->shmem == NULL) {
        free(chosen.points);
        return bw_errno("no memory for the results of %s", result->name);
    }
    result->shmem->has_perf_lines = options->perf;
    bw_baseline_join(run->baseline, result->shmem);
    st = shape(run->baseline, &chosen, result);
    free(chosen.points);
out:
    return st;
}
