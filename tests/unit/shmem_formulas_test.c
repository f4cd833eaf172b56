/* SPDX-License-Identifier: Apache-2.0 */
/* The worked examples of the timing standard, and the rules around them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bwtool/shmem_formulas.h"

/* The standard rounds between its steps: 122.02 * 0.875 is 106.77 there, 106.764 in full. */
#define ABOUT(value, expected) assert_true(fabs((value) - (expected)) < 0.0065)

static void all_to_all_example(void **state)
{
    const uint64_t payload = bw_shmem_payload_bytes(SHMEM_ALL_TO_ALL, 8, 8388608, 2);
    const double factor = bw_bus_factor(SHMEM_ALL_TO_ALL, 8);
    const struct bw_shmem_figures f = bw_shmem_figures_of(factor, payload, 1200, 1050, 196);
    const struct bw_shmem_figures b = bw_shmem_figures_of(factor, payload, 1100, 1100, 196);

    (void)state;
    assert_int_equal(payload, 134217728);
    assert_true(factor == 0.875);
    ABOUT(f.algo_gb_per_s, 111.85);
    ABOUT(f.kernel_algo_gb_per_s, 127.83);
    ABOUT(f.e2e_bus_gb_per_s, 97.87);
    ABOUT(f.kernel_bus_gb_per_s, 111.85);
    ABOUT(b.algo_gb_per_s, 122.02);
    ABOUT(b.kernel_bus_gb_per_s, 106.77);
    assert_true(fabs(f.kernel_bus_gb_per_s / b.kernel_bus_gb_per_s * 100 - 104.8) < 0.05);
    assert_true(fabs(f.e2e_bus_gb_per_s / b.kernel_bus_gb_per_s * 100 - 91.7) < 0.05);
    assert_int_equal(bw_shmem_verdict(&f, b.kernel_bus_gb_per_s), SHMEM_PASS);
    /* The trap: algorithm bandwidth is by e2e, bus bandwidth of the kernel is not its product. */
    assert_true(fabs(f.algo_gb_per_s * f.bus_factor - f.kernel_bus_gb_per_s) > 1);
}

static void other_examples(void **state)
{
    (void)state;
    assert_int_equal(bw_shmem_payload_bytes(SHMEM_REDUCE_SCATTER, 8, 8388608, 4), 268435456);
    assert_true(bw_bus_factor(SHMEM_REDUCE_SCATTER, 8) == 0.875);
    assert_int_equal(bw_shmem_routed_payload_bytes(1024, 4096, 2), 8388608);
    assert_true(bw_bus_factor(SHMEM_DISPATCH, 8) == 0.875);
    assert_true(bw_bus_factor(SHMEM_COMBINE, 8) == 0.875);
    assert_true(bw_bus_factor(SHMEM_ALL_REDUCE, 8) == 1.75);
    assert_true(bw_bus_factor(SHMEM_ALL_REDUCE, 2) == 1);
    assert_true(bw_bus_factor(SHMEM_ALL_GATHER, 8) == 0.875);
    assert_true(bw_bus_factor(SHMEM_BROADCAST, 8) == 1);
    assert_true(bw_bus_factor(SHMEM_PUT, 2) == 1);
    assert_true(isnan(bw_bus_factor(SHMEM_BARRIER, 8)));
}

static void one_rank_has_no_utilization(void **state)
{
    (void)state;
    for (int op = SHMEM_ALL_TO_ALL; op <= SHMEM_BROADCAST; op++) {
        const struct bw_shmem_figures f =
            bw_shmem_figures_of(bw_bus_factor((enum bw_shmem_op)op, 1), 1 << 20, 10, 10, 450);

        assert_true(f.bus_factor == 0);
        assert_true(isnan(f.utilization_pct));
        assert_int_equal(bw_shmem_verdict(&f, (double)NAN), SHMEM_PASS_NA);
    }
}

static void verdict_is_by_kernel_bus_bandwidth(void **state)
{
    /* 100 MB in 1 ms: 100 GB/s, 20 % of 500; e2e is far below and does not count. */
    struct bw_shmem_figures f = bw_shmem_figures_of(1, 100000000, 50000, 1000, 500);

    (void)state;
    assert_int_equal(bw_shmem_verdict(&f, (double)NAN), SHMEM_PASS);
    f = bw_shmem_figures_of(1, 100000000, 1000, 1001, 500);
    assert_int_equal(bw_shmem_verdict(&f, (double)NAN), SHMEM_BELOW);
    /* With a baseline, utilization does not matter. */
    assert_int_equal(bw_shmem_verdict(&f, 124.8), SHMEM_PASS);
    assert_int_equal(bw_shmem_verdict(&f, 125), SHMEM_BELOW);
    f = bw_shmem_figures_of(1, 100000000, 1000, 1000, (double)NAN);
    assert_int_equal(bw_shmem_verdict(&f, (double)NAN), SHMEM_PASS_NA);
    /* Sizes for latency are not held against the floor, but against a baseline they are. */
    f = bw_shmem_figures_of(1, BW_SHMEM_FLOOR_BYTES - 1, 1000, 1000, 500);
    assert_int_equal(bw_shmem_verdict(&f, (double)NAN), SHMEM_PASS_NA);
    assert_int_equal(bw_shmem_verdict(&f, 500), SHMEM_BELOW);
    f = bw_shmem_figures_of(1, BW_SHMEM_FLOOR_BYTES, 1000, 1000, 500);
    assert_int_equal(bw_shmem_verdict(&f, (double)NAN), SHMEM_BELOW);
    f = bw_shmem_figures_of(1, 100000000, 0, 0, 500);
    assert_true(isnan(f.kernel_bus_gb_per_s));
}

static void bytes_over_links(void **state)
{
    const struct bw_shmem_bytes a2a = bw_shmem_bytes_of(SHMEM_ALL_TO_ALL, 8, 800);
    const struct bw_shmem_bytes ar = bw_shmem_bytes_of(SHMEM_ALL_REDUCE, 8, 800);
    const struct bw_shmem_bytes bc = bw_shmem_bytes_of(SHMEM_BROADCAST, 8, 800);
    const struct bw_shmem_bytes put = bw_shmem_bytes_of(SHMEM_PUT, 2, 800);

    (void)state;
    assert_int_equal(a2a.sent, 700);
    assert_int_equal(a2a.received, 700);
    assert_int_equal(a2a.local, 100);
    assert_int_equal(ar.sent, 1400);
    assert_int_equal(bc.sent, 5600);
    assert_int_equal(bc.received, 800);
    assert_int_equal(put.sent, 800);
    assert_int_equal(put.local, 0);
}

/* Of the rank with most, one way: by the switch an all-reduce is (n+1)/n of its payload. */
static void bytes_to_and_from_the_switch(void **state)
{
    const struct bw_shmem_bytes ag = bw_shmem_switch_bytes_of(SHMEM_ALL_GATHER, 8, 800);
    const struct bw_shmem_bytes rs = bw_shmem_switch_bytes_of(SHMEM_REDUCE_SCATTER, 8, 800);
    const struct bw_shmem_bytes ar = bw_shmem_switch_bytes_of(SHMEM_ALL_REDUCE, 8, 800);
    const struct bw_shmem_bytes bc = bw_shmem_switch_bytes_of(SHMEM_BROADCAST, 8, 800);

    (void)state;
    assert_int_equal(ag.sent, 100);
    assert_int_equal(ag.received, 800);
    assert_int_equal(rs.sent, 800);
    assert_int_equal(rs.received, 100);
    assert_int_equal(ar.sent, 900);
    assert_int_equal(ar.received, 900);
    assert_int_equal(bc.sent, 800);
    assert_int_equal(bc.received, 800);
    assert_int_equal(ar.local + ag.local + rs.local + bc.local, 0);
}

static void sums_are_counted_and_transport_is_not(void **state)
{
    (void)state;
    assert_true(bw_shmem_operations(SHMEM_REDUCE_SCATTER, 8, 100) == 700);
    assert_true(bw_shmem_operations(SHMEM_ALL_REDUCE, 2, 100) == 100);
    assert_true(bw_shmem_operations(SHMEM_ALL_GATHER, 8, 100) == 0);
}

/* docs/METHOD.md holds "| all_reduce | ... | `2*(n-1)/n` |" for each row of the table. */
static void documents_have_the_same_table(void **state)
{
    char line[1024];
    int found[SHMEM_OPS] = {0};
    FILE *file = fopen(BWTOOL_TESTS_DIR "/../docs/METHOD.md", "r");

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        for (int op = 0; op < SHMEM_OPS; op++) {
            const struct bw_shmem_formula *f = bw_shmem_formula((enum bw_shmem_op)op);
            char name[64];

            snprintf(name, sizeof name, "| %s |", f->name);
            if (strncmp(line, name, strlen(name)) == 0) {
                char factor[64];

                snprintf(factor, sizeof factor, "| `%s` |", f->factor);
                found[op] += strstr(line, factor) != NULL && strstr(line, f->basis) != NULL;
            }
        }
    }
    fclose(file);
    for (int op = 0; op < SHMEM_OPS; op++) {
        if (found[op] != 1) {
            fail_msg("docs/METHOD.md: no such row as that of %s",
                     bw_shmem_formula((enum bw_shmem_op)op)->name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_to_all_example),
        cmocka_unit_test(other_examples),
        cmocka_unit_test(one_rank_has_no_utilization),
        cmocka_unit_test(verdict_is_by_kernel_bus_bandwidth),
        cmocka_unit_test(bytes_over_links),
        cmocka_unit_test(bytes_to_and_from_the_switch),
        cmocka_unit_test(sums_are_counted_and_transport_is_not),
        cmocka_unit_test(documents_have_the_same_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
