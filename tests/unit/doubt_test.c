/* SPDX-License-Identifier: Apache-2.0 */
/* A value in doubt stays in doubt where there is no memory to say why. */
#include "texts.h"
#include "unit.h"

#include "../../src/measure/crew.h"
#include "bwtool/log.h"
#include "bwtool/result.h"
#include "bwtool/state.h"

/* Of GPUs that were throttled: watch.c asks this instead of src/measure/state_ranks.c. */
static const char *spoiled_here(struct bw_state *state, struct bw_world *world, char *text,
                                size_t room)
{
    (void)state;
    (void)world;
    (void)text;
    (void)room;
    return "GPU 1: hardware thermal slowdown";
}
#define bw_state_spoiled_all spoiled_here
#include "../../src/measure/watch.c"

static void expect_doubt(struct bw_cell *cell, const char *words)
{
    const struct bw_testcase_result result = {.matrix_count = 1,
                                              .matrices = {{.rows = 1, .cols = 1, .cells = cell}}};

    assert_int_equal(bw_result_verdict(&result), VERDICT_UNRELIABLE);
    assert_string_equal(bw_cell_doubt(cell), words);
    assert_string_equal(bw_result_first_reason(&result, NULL, NULL), words);
    bw_cell_close(cell);
    assert_null(bw_cell_doubt(cell));
}

static const char no_words[] = "not to be trusted, and no memory to say why";

static void watched(bool is_without, const char *words)
{
    struct bw_session session = {0};
    const struct bw_sampling sampling = {0};
    struct bw_cell cell = {.is_present = true, .value = 1};
    struct bw_cell *cells[] = {&cell};
    struct bw_plan plan = {0};

    assert_int_equal(bw_plan_build(&plan, &bw_testcases[0], 1, NULL), BW_OK);
    failing_text = is_without ? NO_TEXTS : 0;
    assert_false(bw_watch_end(&session, &plan, &plan.launches[0], &sampling, cells, BW_OK,
                              BW_STATE_TAKES_MAX));
    failing_text = 0;
    expect_doubt(&cell, words);
    bw_plan_free(&plan);
}

static void of_a_gpu_that_was_throttled(void **state)
{
    (void)state;
    watched(false, "GPU 1: hardware thermal slowdown, in each of 3 takes");
    watched(true, no_words);
}

static void filled(bool is_without, const char *words)
{
    double ns[] = {1000, 1000};
    struct bw_series series = {.ns = ns, .count = 2};
    const struct bw_sampling sampling = {0};
    struct bw_cell cell = {0};
    struct bw_cell *cells[] = {&cell};
    struct bw_plan plan = {0};
    struct bw_lane lane = {.unit = 4096, .bytes = 4096};
    struct bw_crew crew = {.plan = &plan,
                           .sampling = &sampling,
                           .lanes = &lane,
                           .series = &series,
                           .copies = 1,
                           .doubt = "the load ended"};

    assert_int_equal(bw_plan_build(&plan, &bw_testcases[0], 1, NULL), BW_OK);
    lane.lane_plan = &plan.lanes[0];
    crew.launch = &plan.launches[0];
    failing_text = is_without ? NO_TEXTS : 0;
    assert_int_equal(bw_crew_fill_cells(&crew, cells), BW_OK);
    failing_text = 0;
    assert_true(cell.is_present);
    expect_doubt(&cell, words);
    bw_plan_free(&plan);
}

/* What failed stands for the testcase, wherever it is; then a doubt; then what was left out. */
static void gives_way_to_a_failure(void **state)
{
    struct bw_cell cells[] = {
        {.reason = (char *)"left out"},
        {.is_present = true, .value = 1, .is_doubtful = true, .doubt = (char *)"hot"},
        {.status = BW_ERR_MEMORY},
        {.status = BW_ERR_VERIFY, .reason = (char *)"5 wrong bytes"},
        {.status = BW_ERR_CUDA, .reason = (char *)"another"}};
    struct bw_testcase_result result = {.matrix_count = 1,
                                        .matrices = {{.rows = 5, .cols = 1, .cells = cells}}};
    const char *const words[] = {NULL, "left out", "hot", NULL, "5 wrong bytes", "5 wrong bytes"};
    const int rows[] = {-1, 0, 1, 2, 3, 3};

    (void)state;
    for (int count = 0; count <= 5; count++) {
        int row = -1;
        int column = -1;
        const char *reason = NULL;

        result.matrices[0].rows = count;
        reason = bw_result_first_reason(&result, &row, &column);
        assert_int_equal(reason == NULL, words[count] == NULL);
        if (reason != NULL) {
            assert_string_equal(reason, words[count]);
        }
        assert_int_equal(row, rows[count]);
        assert_int_equal(column, count > 0 ? 0 : -1);
    }
}

static void of_a_load_that_ended_too_soon(void **state)
{
    (void)state;
    filled(false, "the load ended");
    filled(true, no_words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_gpu_that_was_throttled),
        cmocka_unit_test(of_a_load_that_ended_too_soon),
        cmocka_unit_test(gives_way_to_a_failure),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
