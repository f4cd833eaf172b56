/* SPDX-License-Identifier: Apache-2.0 */
/* A testcase whose result there is no memory for: no report looks for it. */
#include "unit.h"

#include "../../src/cli/ranks.h"
#include "../../src/cli/runner.h"

static struct bw_testcase_result *no_room(struct bw_run *run, const char *name)
{
    (void)run;
    (void)name;
    return NULL;
}
#define bw_run_add no_room
static char *no_waiver(const struct bw_session *session, const struct bw_options *options,
                       const struct bw_testcase *tc, const struct bw_suite_case *suite)
{
    (void)session;
    (void)options;
    (void)tc;
    (void)suite;
    return NULL;
}
#define bw_ranks_waiver_all no_waiver
#include "../../src/cli/turn.c"

static void goes_on_without_a_result(const struct bw_report_ops *ops)
{
    const struct bw_choice choice = {.index = bw_all_find("cpu_copy")};
    const struct bw_options options = {.baseline = NULL};
    struct bw_world world;
    struct runner r = {.options = &options, .world = &world, .ops = ops};

    assert_true(choice.index >= 0);
    bw_world_open_single(&world);
    r.report = (struct bw_report){.out = stdout, .run = &r.run};
    bw_take_turn(&r, &choice);
    assert_int_equal(r.run.testcase_count, 0);
    assert_true(r.run.has_error);
    assert_int_equal(bw_run_exit_status(&r.run, false, false), 1);
    bw_run_free(&r.run);
}

static void whatever_the_format(void **state)
{
    (void)state;
    goes_on_without_a_result(&bw_report_suite);
    goes_on_without_a_result(&bw_report_text);
    goes_on_without_a_result(&bw_report_json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_the_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
