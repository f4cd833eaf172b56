/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of --suite shmem against what the standard wants of them, and the gates of a report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/report/suite.h"
#include "../../src/shmem/shmem.h"

static void cases_are_well_formed(void **state)
{
    (void)state;
    for (size_t i = 0; i < bw_suite_shmem_count; i++) {
        const struct bw_suite_case *c = &bw_suite_shmem[i];

        assert_true(bw_operator_find(c->row) >= 0);
        assert_true(bw_suite_bytes(c, BW_SUITE_L_BYTES) > 0);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(c->name, bw_suite_shmem[k].name);
        }
    }
}

/* On as many GPUs as it wants, or on any number of them, each case is one that can be. */
static void cases_can_run(void **state)
{
    struct shmem_case *c = calloc(1, sizeof(*c));

    (void)state;
    assert_non_null(c);
    for (size_t i = 0; i < bw_suite_shmem_count; i++) {
        const struct bw_suite_case *suite = &bw_suite_shmem[i];

        for (int n = 2; n <= 9; n++) {
            const struct shmem_machine machine = {
                .ranks = suite->ranks > 0 ? suite->ranks : n, .sm_count = 132, .has_bulk = true};
            struct bw_shmem_request request = {.factor = 2};
            double at = 0;

            bw_suite_set(suite, BW_SUITE_L_BYTES, &request);
            assert_null(shmem_case_set(c, &bw_operators[bw_operator_find(suite->row)], &request,
                                       &machine, request.bytes_min, request.ctas[0]));
            assert_int_equal(c->dtype, suite->dtype);
            assert_true(suite->placement == PLACEMENT_AUTO || c->placement == suite->placement);
            /* One point: the report has room for one. */
            assert_true(shmem_next_bytes(c->row, &request, &at) > 0);
            assert_int_equal(shmem_next_bytes(c->row, &request, &at), 0);
            assert_true(request.ctas_count <= 1);
        }
    }
    free(c);
}

static void all_is_covered(void **state)
{
    bool boundaries[BW_SUITE_BOUNDARIES + 1] = {false};
    bool dtypes[BW_SHMEM_DTYPES] = {false};
    bool ranks[9] = {false};

    (void)state;
    assert_true(bw_suite_shmem_count >= BW_SUITE_CASES_MIN);
    for (size_t i = 0; i < bw_suite_shmem_count; i++) {
        assert_in_range(bw_suite_boundary(&bw_suite_shmem[i]), 0, BW_SUITE_BOUNDARIES);
        assert_in_range(bw_suite_shmem[i].ranks, 0, 8);
        boundaries[bw_suite_boundary(&bw_suite_shmem[i])] = true;
        dtypes[bw_suite_shmem[i].dtype] = true;
        ranks[bw_suite_shmem[i].ranks] = true;
    }
    for (int b = 1; b <= BW_SUITE_BOUNDARIES; b++) {
        assert_true(boundaries[b]);
    }
    for (int d = 0; d < BW_SHMEM_DTYPES; d++) {
        assert_true(dtypes[d]);
    }
    assert_true(ranks[2] && ranks[4] && ranks[8]);
}

static void sizes_are_the_standards(void **state)
{
    const struct bw_suite_case small = {.size = SUITE_S};
    const struct bw_suite_case large = {.size = SUITE_L};

    (void)state;
    assert_in_range(bw_suite_bytes(&small, BW_SUITE_L_BYTES), 64 << 10, 1 << 20);
    assert_true(bw_suite_bytes(&large, BW_SUITE_L_BYTES) >= 64u << 20);
    assert_true(2 * bw_suite_bytes(&large, BW_SUITE_L_BYTES) >= 256000000);
    assert_int_equal(bw_suite_bytes(&small, 4096), 1024);
}

/* A run of all cases; with data, if `status` is BW_OK. */
static void run_of(struct bw_run *run, int pes, uint64_t large_bytes)
{
    memset(run, 0, sizeof(*run));
    run->rank_count = 1;
    run->device_count = pes;
    run->suite_bytes = large_bytes;
    run->testcase_count = bw_suite_shmem_count;
    run->testcases = calloc(run->testcase_count, sizeof(*run->testcases));
    assert_non_null(run->testcases);
    for (size_t i = 0; i < run->testcase_count; i++) {
        struct bw_testcase_result *result = &run->testcases[i];
        const struct bw_suite_case *c = &bw_suite_shmem[i];

        result->suite = c;
        result->shmem = calloc(1, sizeof(*result->shmem));
        assert_non_null(result->shmem);
        result->shmem->points = calloc(1, sizeof(*result->shmem->points));
        assert_non_null(result->shmem->points);
        result->shmem->count = 1;
        result->shmem->points[0].row = &bw_operators[bw_operator_find(c->row)];
        result->shmem->points[0].dtype = c->dtype;
        result->shmem->points[0].ranks = c->ranks > 0 ? c->ranks : pes;
        result->shmem->points[0].rounds_checked = 6;
    }
}

static size_t count_missed(const struct bw_run *run)
{
    struct bw_suite_gate gates[BW_SUITE_GATES];
    size_t missed = 0;

    bw_suite_gates(run, gates);
    for (int i = 0; i < BW_SUITE_GATES; i++) {
        assert_true(gates[i].is_met == (gates[i].why[0] == '\0'));
        missed += !gates[i].is_met;
    }
    return missed;
}

static struct bw_testcase_result *find(const struct bw_run *run, const char *name)
{
    for (size_t i = 0; i < run->testcase_count; i++) {
        if (strcmp(run->testcases[i].suite->name, name) == 0) {
            return &run->testcases[i];
        }
    }
    fail_msg("there is no case %s", name);
    return NULL;
}

static void gates_are_met_by_all_and_by_no_less(void **state)
{
    struct bw_run run;
    struct bw_testcase_result *result = NULL;

    (void)state;
    run_of(&run, 8, BW_SUITE_L_BYTES);
    assert_int_equal(count_missed(&run), 0);
    run.suite_bytes = BW_SUITE_L_MIN - 1; /* L, and it on 8 PEs */
    assert_int_equal(count_missed(&run), 2);
    run.suite_bytes = 64 << 10; /* S is a quarter of it */
    assert_int_equal(count_missed(&run), 3);
    run.suite_bytes = BW_SUITE_L_BYTES;
    run.device_count = 7; /* not on 8 PEs */
    assert_int_equal(count_missed(&run), 1);
    run.device_count = 8;

    result = find(&run, "B6.repeated_rounds");
    result->verdict = VERDICT_FAILED;
    result->status = BW_ERR_VERIFY; /* B6, and correctness */
    assert_null(bw_suite_point(result));
    assert_int_equal(count_missed(&run), 2);
    result->verdict = VERDICT_WAIVED;
    result->status = BW_OK;
    result->shmem->points[0].status = BW_WAIVED;
    assert_int_equal(count_missed(&run), 1);
    result->shmem->points[0].status = BW_OK;
    result->verdict = VERDICT_PASSED;
    result->shmem->points[0].rounds_checked = 0; /* measured, and never compared */
    assert_int_equal(count_missed(&run), 1);
    result->shmem->points[0].rounds_checked = 6;

    result->status = BW_ERR_TIMEOUT; /* --max-time was over before its turn: no byte is wrong */
    result->shmem->points[0].status = BW_ERR_TIMEOUT;
    result->shmem->points[0].is_unrun = true;
    result->verdict = bw_result_verdict(result);
    assert_int_equal(result->verdict, VERDICT_NOT_RUN);
    assert_int_equal(count_missed(&run), 1);
    result->status = result->shmem->points[0].status = BW_OK;
    result->verdict = VERDICT_PASSED;

    find(&run, "L.dispatch")->verdict = VERDICT_FAILED; /* L, and it on 8 PEs */
    assert_int_equal(count_missed(&run), 2);
    bw_run_free(&run);
}

static void a_run_without_cases_meets_nothing(void **state)
{
    struct bw_run run = {.rank_count = 1, .suite_bytes = BW_SUITE_L_BYTES};

    (void)state;
    assert_int_equal(count_missed(&run), BW_SUITE_GATES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_are_well_formed),
        cmocka_unit_test(cases_can_run),
        cmocka_unit_test(all_is_covered),
        cmocka_unit_test(sizes_are_the_standards),
        cmocka_unit_test(gates_are_met_by_all_and_by_no_less),
        cmocka_unit_test(a_run_without_cases_meets_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
