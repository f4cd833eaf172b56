/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of a link behind a value after which there was no time to ask for them. */
#include "unit.h"

#include "../../src/measure/state_impl.h"
#include "bwtool/clock.h"
#include "bwtool/cu.h"
#include "bwtool/nvml.h"

#include <stdlib.h>
#include <string.h>

static uint64_t now_ns;
static int64_t errors; /* that NVML counts on any GPU */
static uint64_t answer_ns;
static unsigned answers;

static uint64_t clock_here(void)
{
    return now_ns;
}

static void read_here(struct bw_nvml_device *device, unsigned first, unsigned end,
                      struct bw_nvml_values *values)
{
    (void)device;
    for (unsigned i = first; i < end; i++) {
        values->of[i] = i == NVML_nvlink_crc_errors ? errors : 0;
    }
    now_ns += answer_ns;
    answers++;
}

static int processes_here(struct bw_nvml_device *device)
{
    (void)device;
    return -1;
}
static bool is_lost;

static bool lost_here(void)
{
    return is_lost;
}
#define bw_cu_context_lost lost_here
#define bw_clock_ns        clock_here
#define bw_nvml_read       read_here
#define bw_nvml_processes  processes_here
#include "../../src/measure/state.c"
#include "../../src/measure/state_ask.c"

static struct gpu_state two[2];
static struct bw_state seen;
static struct bw_plan plan;

static int begin(void **state)
{
    (void)state;
    memset(two, 0, sizeof(two));
    two[0].port.nvlinks = two[1].port.nvlinks = 18; /* no PCIe link to be judged */
    seen = (struct bw_state){.gpus = two, .count = 2};
    now_ns = 1000000000;
    errors = 5;
    answer_ns = 1000000;
    answers = 0;
    is_lost = false;
    assert_int_equal(bw_plan_build(&plan, &bw_testcases[4], 2, NULL), BW_OK);
    bw_state_begin(&seen);
    return 0;
}

static int end(void **state)
{
    (void)state;
    bw_plan_free(&plan);
    return 0;
}

/* So that no answer can be afforded, or any. */
static void afford(bool any)
{
    seen.cost_ns = any ? 0 : UINT64_MAX / 2;
    now_ns += 1000000000;
}

static const char *launch(size_t i)
{
    bw_state_launch(&seen, &plan, &plan.launches[i], 0);
    bw_state_look(&seen);
    return bw_state_spoiled(&seen);
}

static const char *end_testcase(void)
{
    free(bw_state_end(&seen));
    return bw_state_late(&seen);
}

static void at_the_end_of_the_testcase(void **state)
{
    (void)state;
    afford(false);
    assert_null(launch(0));
    errors += 3;
    assert_string_equal(end_testcase(), "GPU 0: 3 NVLink CRC errors");
    bw_state_begin(&seen);
    assert_null(bw_state_late(&seen));
    assert_null(end_testcase());
}

static void when_the_next_value_begins(void **state)
{
    (void)state;
    afford(false);
    assert_null(launch(0));
    errors += 3;
    afford(true);
    assert_null(launch(1));
    assert_string_equal(end_testcase(), "GPU 0: 3 NVLink CRC errors");
}

static void when_the_next_value_has_ended(void **state)
{
    (void)state;
    afford(false);
    assert_null(launch(0));
    bw_state_launch(&seen, &plan, &plan.launches[1], 0);
    errors += 3;
    afford(true);
    /* Of either: the one is taken again, and the other is in doubt. */
    assert_non_null(bw_state_spoiled(&seen));
    assert_string_equal(end_testcase(), "GPU 0: 3 NVLink CRC errors");
}

static void none_where_nothing_rose(void **state)
{
    (void)state;
    afford(false);
    assert_null(launch(0));
    assert_null(launch(1));
    assert_null(end_testcase());
}

static void none_of_what_was_judged(void **state)
{
    (void)state;
    afford(true);
    bw_state_launch(&seen, &plan, &plan.launches[0], 0);
    errors += 3;
    assert_string_equal(bw_state_spoiled(&seen), "GPU 0: 3 NVLink CRC errors");
    assert_null(launch(0));
    afford(false);
    assert_null(launch(1));
    assert_null(end_testcase());
}

static void none_between_two_testcases(void **state)
{
    (void)state;
    afford(false);
    assert_null(launch(0));
    assert_null(end_testcase());
    errors += 3;
    bw_state_begin(&seen);
    afford(true);
    assert_null(launch(0));
    assert_null(end_testcase());
}

static void none_of_a_gpu_that_is_lost(void **state)
{
    unsigned before = 0;

    (void)state;
    afford(true);
    bw_state_launch(&seen, &plan, &plan.launches[0], 0);
    before = answers;
    is_lost = true;
    errors += 3;
    bw_state_look(&seen);
    assert_null(bw_state_spoiled(&seen));
    assert_null(end_testcase());
    bw_state_begin(&seen);
    assert_int_equal(answers, before);
}

/* However short the time is: one answer a GPU and testcase, and none of a GPU that did nothing. */
static void is_bounded(void **state)
{
    const unsigned before = answers;

    (void)state;
    afford(false);
    for (int i = 0; i < 100; i++) {
        assert_null(launch(0));
    }
    assert_null(end_testcase());
    assert_in_range(answers - before, 1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(at_the_end_of_the_testcase, begin, end),
        cmocka_unit_test_setup_teardown(when_the_next_value_begins, begin, end),
        cmocka_unit_test_setup_teardown(when_the_next_value_has_ended, begin, end),
        cmocka_unit_test_setup_teardown(none_where_nothing_rose, begin, end),
        cmocka_unit_test_setup_teardown(none_of_what_was_judged, begin, end),
        cmocka_unit_test_setup_teardown(none_between_two_testcases, begin, end),
        cmocka_unit_test_setup_teardown(none_of_a_gpu_that_is_lost, begin, end),
        cmocka_unit_test_setup_teardown(is_bounded, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
