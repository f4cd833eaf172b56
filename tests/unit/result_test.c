/* SPDX-License-Identifier: Apache-2.0 */
#include "unit.h"

#include "bwtool/log.h"
#include "bwtool/result.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void run_knows_its_surroundings(void **state)
{
    char *argv[] = {(char *)"bwtool", (char *)"-v", NULL};
    char host[256] = "";
    struct bw_run run;

    (void)state;
    memset(&run, 0xa5, sizeof run);
    bw_run_init(&run, 2, argv);
    gethostname(host, sizeof host - 1);
    assert_int_equal(run.argc, 2);
    assert_string_equal(run.argv[1], "-v");
    assert_string_equal(run.host, host);
    assert_int_equal(run.workdir[0], '/');
    assert_non_null(strstr(run.system, "Linux "));
    assert_int_equal(strlen(run.started), strlen("2026-01-02T03:04:05Z"));
    assert_int_equal(run.started[10], 'T');
    assert_int_equal(run.rank_count, 1);
    assert_true(run.sampling.corrupt_word == UINT64_MAX);
    assert_null(run.error);
    assert_int_equal(run.exit_status, 0);
    bw_run_free(&run);
    bw_run_free(&run); /* zeroed by the first */
}

static void added_testcases_are_zeroed_and_found(void **state)
{
    struct bw_run run = {0};
    char name[40];

    (void)state;
    for (int i = 0; i < 200; i++) {
        const bool is_known = i % 2 == 0;
        struct bw_testcase_result *result = NULL;

        snprintf(name, sizeof name, "nosuch_%d", i);
        result = bw_run_add(&run, is_known ? "device_local_copy" : name);
        assert_non_null(result);
        assert_int_equal(result->index, is_known ? 34 : -1);
        assert_true((result->tc != NULL) == is_known);
        assert_int_equal(result->matrix_count, 0);
        assert_null(result->reason);
    }
    assert_int_equal(run.testcase_count, 200);
    assert_string_equal(run.testcases[1].name, "nosuch_1");
    assert_string_equal(run.testcases[198].name, "device_local_copy");
    bw_run_free(&run);
}

static void check_shape(const struct bw_testcase *tc, int ends)
{
    struct bw_run run = {0};
    struct bw_plan plan = {0};
    struct bw_testcase_result *result = bw_run_add(&run, tc->name);

    assert_non_null(result);
    assert_int_equal(bw_plan_build(&plan, tc, ends, NULL), BW_OK);
    assert_int_equal(bw_result_shape(result, &plan), BW_OK);
    assert_int_equal(result->matrix_count, bw_testcase_matrix_count(tc));
    for (int m = 0; m < result->matrix_count; m++) {
        const struct bw_matrix *matrix = &result->matrices[m];
        char title[256];

        bw_testcase_title(tc, m, title, sizeof title);
        assert_string_equal(matrix->title, title); /* none is cut off */
        assert_string_equal(matrix->suffix, bw_testcase_suffix(tc, m));
        assert_int_equal(matrix->rows, plan.rows);
        assert_int_equal(matrix->cols, plan.cols);
        assert_true((matrix->row_labels != NULL) == (tc->shape == SHAPE_BISECT));
        for (int i = 0; i < plan.rows * plan.cols; i++) {
            assert_false(bw_cell_has_value(&matrix->cells[i]));
            assert_null(matrix->cells[i].reason);
        }
        assert_int_equal(bw_matrix_summary(matrix).n, 0);
    }
    bw_plan_free(&plan);
    bw_run_free(&run);
}

static void every_testcase_gets_its_shape(void **state)
{
    (void)state;
    for (size_t i = 0; i < bw_testcase_count; i++) {
        for (int ends = 0; ends <= 5; ends++) {
            check_shape(&bw_testcases[i], ends);
        }
    }
}

static void bisect_labels_are_the_copies_ends(void **state)
{
    static const int counts[] = {1, 2, 3, 4, 5, 8, 12};

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const int n = counts[i];
        struct bw_run run = {0};
        struct bw_plan plan = {0};
        struct bw_testcase_result *result = bw_run_add(&run, "multinode_bisect_write_ce");

        assert_non_null(result);
        assert_int_equal(bw_plan_build(&plan, result->tc, n, NULL), BW_OK);
        assert_int_equal(bw_result_shape(result, &plan), BW_OK);
        for (int r = 0; r < plan.rows; r++) {
            const struct bw_launch *launch = &plan.launches[0];
            const struct bw_lane_plan *lane = &plan.lanes[launch->lane + (size_t)r];
            char label[40];

            snprintf(label, sizeof label, "%d->%d", plan.steps[lane->step].src.id,
                     plan.steps[lane->step].dst.id);
            assert_string_equal(result->matrices[0].row_labels[r], label);
            snprintf(label, sizeof label, "%d->%d", r, (r + n / 2) % n);
            assert_string_equal(result->matrices[0].row_labels[r], label);
        }
        bw_plan_free(&plan);
        bw_run_free(&run);
    }
}

static void summary_counts_present_cells_only(void **state)
{
    struct bw_cell cells[6] = {
        [1] = {.is_present = true, .value = 10.0, .stats = {.n = 3, .cv = 0.01}},
        [2] = {.is_present = true, .value = NAN, .stats = {.n = 3, .cv = 9.0}},
        [3] = {.is_present = true, .value = 30.0, .stats = {.n = 3, .cv = 0.02}},
        [4] = {.is_present = true, .value = INFINITY},
        [5] = {.is_present = true, .value = 20.0, .stats = {.n = 1, .cv = NAN}},
    };
    struct bw_matrix matrix = {.suffix = "", .rows = 2, .cols = 3, .cells = cells};
    struct bw_summary summary = bw_matrix_summary(&matrix);

    (void)state;
    assert_int_equal(summary.n, 3);
    assert_true(summary.sum == 60.0);
    assert_true(summary.min == 10.0); /* not 0 for what was not measured */
    assert_true(summary.max == 30.0);
    assert_true(summary.average == 20.0);
    assert_true(summary.cv == 0.02);

    matrix.rows = 1;
    matrix.cols = 1;
    summary = bw_matrix_summary(&matrix);
    assert_int_equal(summary.n, 0);
    assert_true(isnan(summary.sum) && isnan(summary.min) && isnan(summary.max));
    assert_true(isnan(summary.average) && isnan(summary.cv));
}

static enum bw_verdict verdict_of(enum bw_status status, struct bw_cell first,
                                  struct bw_cell second)
{
    struct bw_cell cells[2] = {first, second};
    const struct bw_testcase_result result = {
        .status = status,
        .matrix_count = 1,
        .matrices = {{.rows = 1, .cols = 2, .cells = cells}},
    };

    return bw_result_verdict(&result);
}

static void verdict_follows_status_and_cells(void **state)
{
    char reason[] = "the time measured was zero";
    const struct bw_cell none = {0};
    const struct bw_cell fine = {.is_present = true, .value = 1.0};
    const struct bw_cell odd = {.is_present = true, .value = 1.0, .is_doubtful = true};
    const struct bw_cell failed = {.status = BW_ERR_SYSTEM, .reason = reason};
    const struct bw_cell infinite = {.is_present = true, .value = INFINITY};
    const struct bw_cell waived = {.status = BW_WAIVED, .reason = reason};

    (void)state;
    assert_int_equal(verdict_of(BW_OK, none, fine), VERDICT_PASSED);
    assert_int_equal(verdict_of(BW_OK, odd, fine), VERDICT_UNRELIABLE);
    assert_int_equal(verdict_of(BW_OK, odd, failed), VERDICT_FAILED);
    assert_int_equal(verdict_of(BW_OK, fine, failed), VERDICT_FAILED);
    assert_int_equal(verdict_of(BW_OK, fine, infinite), VERDICT_FAILED);
    assert_int_equal(verdict_of(BW_ERR_CUDA, fine, odd), VERDICT_FAILED);
    assert_int_equal(verdict_of(BW_OK, waived, fine), VERDICT_PASSED);
    assert_int_equal(verdict_of(BW_OK, waived, odd), VERDICT_UNRELIABLE);
    assert_int_equal(verdict_of(BW_OK, waived, failed), VERDICT_FAILED);
    assert_int_equal(verdict_of(BW_OK, waived, none), VERDICT_WAIVED);
    assert_int_equal(verdict_of(BW_OK, waived, waived), VERDICT_WAIVED);
}

static int exit_of(enum bw_verdict first, enum bw_verdict second, bool has_error, bool no_gpu,
                   bool usage)
{
    struct bw_testcase_result results[2] = {{.verdict = first}, {.verdict = second}};
    char error[] = "fatal";
    const struct bw_run run = {
        .testcases = results, .testcase_count = 2, .error = has_error ? error : NULL};

    return bw_run_exit_status(&run, no_gpu, usage);
}

static void exit_status_is_the_first_that_applies(void **state)
{
    (void)state;
    assert_int_equal(exit_of(VERDICT_PASSED, VERDICT_PASSED, false, false, false), 0);
    assert_int_equal(exit_of(VERDICT_PASSED, VERDICT_WAIVED, false, false, false), 0);
    assert_int_equal(exit_of(VERDICT_WAIVED, VERDICT_FAILED, false, false, false), 1);
    assert_int_equal(exit_of(VERDICT_NOT_RUN, VERDICT_FAILED, true, true, true), 1);
    assert_int_equal(exit_of(VERDICT_NOT_RUN, VERDICT_NOT_FOUND, true, true, true), 3);
    assert_int_equal(exit_of(VERDICT_PASSED, VERDICT_PASSED, true, true, false), 3);
    assert_int_equal(exit_of(VERDICT_PASSED, VERDICT_NOT_RUN, false, false, false), 1);
    assert_int_equal(exit_of(VERDICT_NOT_FOUND, VERDICT_NOT_RUN, true, false, false), 1);
    assert_int_equal(exit_of(VERDICT_PASSED, VERDICT_PASSED, true, false, false), 1);
    assert_int_equal(exit_of(VERDICT_PASSED, VERDICT_NOT_FOUND, false, false, false), 2);
    assert_int_equal(exit_of(VERDICT_PASSED, VERDICT_PASSED, true, false, true), 2);
    assert_int_equal(exit_of(VERDICT_UNRELIABLE, VERDICT_NOT_FOUND, false, false, false), 2);
    assert_int_equal(exit_of(VERDICT_UNRELIABLE, VERDICT_PASSED, false, false, false), 5);
}

/* The status is not 0 because there was no memory to say why. */
static void a_run_that_ended_is_a_failure_without_words(void **state)
{
    struct bw_run run = {.has_error = true};
    char error[] = "fatal";

    (void)state;
    assert_int_equal(bw_run_exit_status(&run, false, false), 1);
    assert_int_equal(bw_run_exit_status(&run, true, false), 3);
    assert_int_equal(bw_run_exit_status(&run, false, true), 2);
    assert_string_equal(bw_run_error(&run), "it failed, and there was no memory to say why");
    run.error = error;
    assert_string_equal(bw_run_error(&run), "fatal");
    run = (struct bw_run){.has_error = false};
    assert_null(bw_run_error(&run));
    assert_int_equal(bw_run_exit_status(&run, false, false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run_knows_its_surroundings),
        cmocka_unit_test(added_testcases_are_zeroed_and_found),
        cmocka_unit_test(every_testcase_gets_its_shape),
        cmocka_unit_test(bisect_labels_are_the_copies_ends),
        cmocka_unit_test(summary_counts_present_cells_only),
        cmocka_unit_test(verdict_follows_status_and_cells),
        cmocka_unit_test(exit_status_is_the_first_that_applies),
        cmocka_unit_test(a_run_that_ended_is_a_failure_without_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
