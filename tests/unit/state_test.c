/* SPDX-License-Identifier: Apache-2.0 */
/* What spoils a measurement, and that nothing needs a state. */
#include "unit.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"
#include "bwtool/state.h"

#include <stdlib.h>
#include <string.h>

static struct bw_nvml_values start, end;
static char text[200];

static int begin(void **state)
{
    (void)state;
    bw_nvml_forget(&start);
    for (int i = BW_NVML_FIRST_COUNTER; i < BW_NVML_FIRST_TRAIT; i++) {
        start.of[i] = 5;
    }
    end = start;
    return 0;
}

static const char *judge(int64_t throttle)
{
    return bw_state_judge(&start, &end, throttle, text, sizeof(text)) ? text : NULL;
}

static void what_is_only_recorded(void **state)
{
    (void)state;
    assert_null(judge(0));
    assert_null(judge(-1));
    assert_null(judge(BW_THROTTLE_IDLE | BW_THROTTLE_CLOCKS_SETTING | BW_THROTTLE_POWER_CAP |
                      BW_THROTTLE_SYNC_BOOST | BW_THROTTLE_DISPLAY_CLOCKS));
    assert_null(judge(INT64_C(1) << 40)); /* a reason that we do not know */
}

static void slowdowns(void **state)
{
    (void)state;
    assert_string_equal(judge(BW_THROTTLE_HW_SLOWDOWN), "hardware slowdown");
    assert_string_equal(judge(BW_THROTTLE_SW_THERMAL), "thermal slowdown");
    /* The hardware's general bit comes with the one that says why. */
    assert_string_equal(judge(BW_THROTTLE_HW_SLOWDOWN | BW_THROTTLE_HW_THERMAL),
                        "hardware thermal slowdown");
    assert_string_equal(judge(BW_THROTTLE_HW_SLOWDOWN | BW_THROTTLE_POWER_BRAKE), "power brake");
    assert_string_equal(judge(BW_THROTTLE_SW_THERMAL | BW_THROTTLE_POWER_BRAKE),
                        "thermal slowdown, power brake");
}

static void counters(void **state)
{
    (void)state;
    end.of[NVML_pcie_replays] = 11;
    assert_string_equal(judge(0), "6 PCIe replays");
    end.of[NVML_nvlink_crc_errors] = 6;
    assert_string_equal(judge(BW_THROTTLE_HW_THERMAL),
                        "hardware thermal slowdown, 6 PCIe replays, 1 NVLink CRC errors");
    end = start;
    end.of[NVML_ecc_corrected] = 4; /* somebody has reset it */
    assert_null(judge(0));
    start.of[NVML_ecc_corrected] = -1; /* not known before */
    end.of[NVML_ecc_corrected] = 400;
    assert_null(judge(0));
    end.of[NVML_nvlink_replays] = -1; /* not known after */
    assert_null(judge(0));
    for (int i = BW_NVML_FIRST_COUNTER; i < BW_NVML_FIRST_TRAIT; i++) {
        begin(NULL);
        end.of[i]++;
        assert_non_null(judge(0));
        assert_memory_equal(text, "1 ", 2);
    }
}

static void little_room(void **state)
{
    char little[8];

    (void)state;
    assert_true(bw_state_judge(&start, &end, 0xff, little, sizeof(little)));
    assert_int_equal(strlen(little), 7);
}

static void names_of_bits(void **state)
{
    (void)state;
    assert_string_equal(bw_state_throttle_name(0), "idle");
    assert_string_equal(bw_state_throttle_name(6), "hw_thermal");
    assert_string_equal(bw_state_throttle_name(8), "display_clocks");
    assert_null(bw_state_throttle_name(9));
    assert_null(bw_state_throttle_name(-1));
}

static void no_state_at_all(void **state)
{
    const struct bw_testcase *tc = &bw_testcases[0];
    struct bw_plan plan = {0};

    (void)state;
    assert_int_equal(bw_plan_build(&plan, tc, 2, NULL), BW_OK);
    bw_state_begin(NULL);
    bw_state_launch(NULL, &plan, &plan.launches[0], 0);
    bw_state_whole(NULL, 0, 8);
    bw_state_look(NULL);
    assert_null(bw_state_spoiled(NULL));
    assert_false(bw_state_first_doubt(NULL));
    assert_null(bw_state_end(NULL));
    assert_int_equal(bw_state_ports(NULL).count, 0);
    assert_true(bw_state_cost_ms(NULL) == 0);
    bw_state_free(NULL);
    bw_plan_free(&plan);
}

/* A machine whose NVML is missing, or does not know these GPUs: everything is unknown. */
static void gpus_that_nobody_knows(void **state)
{
    struct bw_gpu two[2] = {{.name = "Simulated GPU", .uuid = "GPU-a", .pci_full = "none"},
                            {.name = "Simulated GPU", .uuid = "GPU-b", .pci_full = "none"}};
    const struct bw_gpus gpus = {.count = 2, .gpus = two};
    struct bw_state *seen = bw_state_build(&gpus, 1);
    struct bw_gpu_record *records = NULL;
    struct bw_plan plan = {0};

    (void)state;
    assert_non_null(seen);
    assert_int_equal(bw_plan_build(&plan, &bw_testcases[4], 2, NULL), BW_OK);
    bw_state_begin(seen);
    bw_state_launch(seen, &plan, &plan.launches[0], 0);
    bw_state_look(seen);
    assert_null(bw_state_spoiled(seen));
    assert_true(bw_state_first_doubt(seen));
    assert_false(bw_state_first_doubt(seen));
    records = bw_state_end(seen);
    assert_non_null(records);
    for (int i = 0; i < BW_NVML_VALUE_COUNT; i++) {
        assert_int_equal(records[1].before.of[i], -1);
        assert_int_equal(records[1].after.of[i], -1);
        assert_int_equal(records[1].high.of[i], -1);
    }
    assert_int_equal(records[0].other_processes, -1);
    assert_int_equal(bw_state_ports(seen).count, 2);
    assert_int_equal(bw_state_ports(seen).ports[0].nvlinks, -1);
    assert_int_equal(bw_peak_of(&(struct bw_ports){0}, &plan, &plan.launches[0], 0, 0).link,
                     LINK_NONE);
    free(records);
    bw_state_free(seen);
    bw_plan_free(&plan);
    bw_nvml_close();
    bw_log_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_is_only_recorded, begin),
        cmocka_unit_test_setup(slowdowns, begin),
        cmocka_unit_test_setup(counters, begin),
        cmocka_unit_test_setup(little_room, begin),
        cmocka_unit_test(names_of_bits),
        cmocka_unit_test(no_state_at_all),
        cmocka_unit_test(gpus_that_nobody_knows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
