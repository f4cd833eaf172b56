/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows and plans. The golden files hold the traffic of nvbandwidth v0.8 for
 * the rows 0 to 47, but for the corrections that docs/DIFFERENCES.md names:
 * the SM read fans read, and bisect copies as it is labelled.
 */
#include "unit.h"

#include "bwtool/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *plans_of(int gpus, size_t first, size_t end)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    for (size_t i = first; i < end; i++) {
        struct bw_plan plan;

        if (gpus < 2 && bw_testcase_is_multinode(&bw_testcases[i])) {
            continue;
        }
        assert_int_equal(bw_plan_build(&plan, &bw_testcases[i], gpus, NULL), BW_OK);
        bw_plan_print(&plan, out);
        bw_plan_free(&plan);
    }
    fclose(out);
    return text;
}

static char *read_golden(const char *name)
{
    char path[512];
    FILE *file = NULL;
    char *text = NULL;
    size_t bytes = 0;

    snprintf(path, sizeof(path), "%s/golden/plan/%s.txt", BWTOOL_TESTS_DIR, name);
    file = fopen(path, "r");
    assert_non_null(file);
    assert_true(getdelim(&text, &bytes, '\0', file) > 0);
    fclose(file);
    return text;
}

static void plans_are_those_of_v08(void **state)
{
    static const int counts[] = {1, 2, 3, 4, 5, 8};

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char name[16];
        char *golden = NULL;
        char *plans = plans_of(counts[i], 0, BW_TESTCASE_V08_ALL);

        snprintf(name, sizeof(name), "%d", counts[i]);
        golden = read_golden(name);
        assert_string_equal(plans, golden);
        free(plans);
        free(golden);
    }
}

/* The rows beyond, for three ends. */
static void plans_of_new_rows(void **state)
{
    char *golden = read_golden("beyond");
    char *plans = plans_of(3, BW_TESTCASE_V08_ALL, bw_testcase_count);

    (void)state;
    assert_string_equal(plans, golden);
    free(plans);
    free(golden);
}

/* Every lane's ends exist, its issuer is one of them, no host memory, and has access to the other
 * one; load is never first. */
static void check_launch(const struct bw_plan *plan, const struct bw_launch *launch, int ends,
                         const bool *peer)
{
    assert_true(launch->lane_count > 0);
    assert_in_range(launch->row, 0, plan->rows - 1);
    assert_in_range(launch->col, 0, plan->cols - 1);
    assert_ptr_equal(bw_plan_find(plan, launch->row, launch->col), launch);
    for (size_t i = launch->lane; i < launch->lane + launch->lane_count; i++) {
        const struct bw_lane_plan *lane = &plan->lanes[i];
        const struct bw_step *step = &plan->steps[lane->step];
        const bool host = bw_testcase_is_host(plan->tc);

        assert_in_range(step->src.id, 0, ends - 1);
        assert_in_range(step->dst.id, 0, ends - 1);
        assert_true((lane->issuer == step->src.id && (host || step->src.mem != MEM_HOST)) ||
                    (lane->issuer == step->dst.id && (host || step->dst.mem != MEM_HOST)));
        assert_true(step->src.mem != MEM_DEVICE || step->dst.mem != MEM_DEVICE ||
                    step->src.id == step->dst.id ||
                    peer[lane->issuer * ends + step->src.id + step->dst.id - lane->issuer]);
        assert_true(!lane->is_load || i > launch->lane);
        assert_true(lane->scale == 1 || lane->is_load);
    }
}

static void random_peers_keep_the_rules(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (int round = 0; round < 100; round++) {
        for (int n = 0; n <= 9; n++) {
            bool peer[81];

            for (int i = 0; i < n * n; i++) {
                seed = seed * 1103515245u + 12345u;
                peer[i] = (seed >> 16 & 1) != 0;
            }
            for (size_t t = 0; t < bw_testcase_count; t++) {
                struct bw_plan plan;
                size_t next = 0;

                assert_int_equal(bw_plan_build(&plan, &bw_testcases[t], n, peer), BW_OK);
                for (size_t i = 0; i < plan.launch_count; i++) {
                    assert_int_equal(plan.launches[i].lane, next);
                    check_launch(&plan, &plan.launches[i], n, peer);
                    next += plan.launches[i].lane_count;
                }
                assert_int_equal(next, plan.lane_count);
                bw_plan_free(&plan);
            }
        }
    }
}

static void no_two_rows_have_the_same_traffic(void **state)
{
    (void)state;
    for (size_t i = 0; i < bw_testcase_count; i++) {
        for (size_t k = 0; k < i; k++) {
            struct bw_testcase a = bw_testcases[i];
            struct bw_testcase b = bw_testcases[k];

            assert_string_not_equal(a.name, b.name);
            a.name = b.name = NULL;
            assert_memory_not_equal(&a, &b, sizeof(a));
        }
    }
}

static void names_are_found(void **state)
{
    (void)state;
    assert_int_equal(bw_testcase_find("host_to_device_memcpy_ce"), 0);
    assert_int_equal(bw_testcase_find("device_local_copy"), 34);
    assert_int_equal(bw_testcase_find("multinode_bisect_write_ce"), 47);
    assert_int_equal(bw_testcase_find("cpu_copy"), 48);
    assert_int_equal(bw_testcase_find("cpu_latency"), 51);
    assert_int_equal(bw_testcase_find("device_to_device_memcpy_read_tma"), 52);
    assert_int_equal(bw_testcase_find("device_local_copy_sm"), 56);
    assert_int_equal(bw_testcase_find("device_local_copy_tma"), 60);
    assert_int_equal(bw_testcase_find("all_to_host_memcpy_total_ce"), 61);
    assert_int_equal(bw_testcase_find("host_to_all_memcpy_total_sm"), 65);
    assert_int_equal(bw_testcase_find("host_to_device"), -1);
    assert_string_equal(bw_testcase_nearest("host_to_device_memcopy_ce"),
                        "host_to_device_memcpy_ce");
    assert_string_equal(bw_testcase_nearest("device_local_cpy"), "device_local_copy");
    assert_null(bw_testcase_nearest("zzzz"));
}

static void titles_follow_the_bytes(void **state)
{
    static const struct {
        const char *name;
        int matrix;
        const char *title;
    } cases[] = {
        {"host_to_device_memcpy_ce", 0, "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"},
        {"device_to_host_memcpy_sm", 0, "memcpy SM CPU(row) <- GPU(column) bandwidth (GB/s)"},
        {"host_to_device_bidirectional_memcpy_ce", 0,
         "memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)"},
        {"device_to_device_memcpy_read_ce", 0,
         "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)"},
        {"device_to_device_memcpy_write_ce", 0,
         "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)"},
        {"device_to_device_bidirectional_memcpy_read_sm", 1,
         "memcpy SM GPU(row) <-> GPU(column) Read2 bandwidth (GB/s)"},
        {"device_to_device_bidirectional_memcpy_write_ce", 2,
         "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)"},
        {"one_to_all_read_sm", 0, "memcpy SM GPU(row) -> GPU(column) bandwidth (GB/s)"},
        {"host_device_latency_sm", 0, "memory latency SM CPU(row) <-> GPU(column) (ns)"},
        {"device_to_device_latency_sm", 0, "memory latency SM GPU(row) <-> GPU(column) (ns)"},
        {"device_local_copy", 0, "memcpy local GPU(column) bandwidth (GB/s)"},
        {"cpu_read", 0, "memcpy CPU read CPU(row) <- MEM(column) bandwidth (GB/s)"},
        {"cpu_latency", 0, "memory latency CPU CPU(row) <-> MEM(column) (ns)"},
        {"device_to_device_memcpy_read_tma", 0,
         "memcpy TMA GPU(row) <- GPU(column) bandwidth (GB/s)"},
        {"device_to_device_latency_tma", 0, "memory latency TMA GPU(row) <-> GPU(column) (ns)"},
        {"device_local_copy_sm", 0, "memcpy local SM GPU(column) bandwidth (GB/s)"},
        {"device_local_read_sm", 0, "memcpy local SM read GPU(column) bandwidth (GB/s)"},
        {"all_to_host_memcpy_total_ce", 0, "memcpy CE CPU(row) <- All Gpus total bandwidth (GB/s)"},
        {"host_to_all_bidirectional_memcpy_total_ce", 0,
         "memcpy CE CPU(row) <-> All Gpus total bandwidth (GB/s)"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char title[128];

        bw_testcase_title(&bw_testcases[bw_testcase_find(cases[i].name)], cases[i].matrix, title,
                          sizeof(title));
        assert_string_equal(title, cases[i].title);
    }
}

/* Parsers take a line that begins so for the title, and look for the unit. */
static void titles_are_what_parsers_know(void **state)
{
    (void)state;
    for (size_t i = 0; i < bw_testcase_count; i++) {
        const struct bw_testcase *tc = &bw_testcases[i];

        for (int m = 0; m < bw_testcase_matrix_count(tc); m++) {
            char title[128];

            assert_in_range(bw_testcase_title(tc, m, title, sizeof(title)), 1, sizeof(title) - 1);
            if (bw_testcase_is_latency(tc)) {
                assert_ptr_equal(strstr(title, "memory latency"), title);
                assert_non_null(strstr(title, "(ns)"));
            } else {
                assert_ptr_equal(strstr(title, "memcpy"), title);
                assert_non_null(strstr(title, "bandwidth (GB/s)"));
            }
        }
    }
}

static void needs_follow_the_ends(void **state)
{
    static const struct {
        const char *name;
        unsigned needs;
    } cases[] = {
        {"host_to_device_memcpy_ce", NEED_GPU},
        {"device_to_device_memcpy_read_ce", NEED_GPU | NEED_PEER},
        {"one_to_all_read_sm", NEED_GPU | NEED_PEER},
        {"device_local_copy", NEED_GPU},
        {"multinode_bisect_write_ce", NEED_GPU | NEED_RANKS},
        {"multinode_device_to_device_broadcast_one_to_all_sm",
         NEED_GPU | NEED_RANKS | NEED_MULTICAST},
        {"cpu_copy", 0},
        {"device_local_copy_sm", NEED_GPU},
        {"device_local_copy_tma", NEED_GPU | NEED_TMA},
        {"device_to_device_latency_tma", NEED_GPU | NEED_PEER | NEED_TMA},
        {"host_to_all_memcpy_total_ce", NEED_GPU},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(bw_testcase_needs(&bw_testcases[bw_testcase_find(cases[i].name)]),
                         cases[i].needs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_are_those_of_v08),
        cmocka_unit_test(plans_of_new_rows),
        cmocka_unit_test(random_peers_keep_the_rules),
        cmocka_unit_test(no_two_rows_have_the_same_traffic),
        cmocka_unit_test(names_are_found),
        cmocka_unit_test(titles_follow_the_bytes),
        cmocka_unit_test(titles_are_what_parsers_know),
        cmocka_unit_test(needs_follow_the_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
