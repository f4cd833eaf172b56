/* SPDX-License-Identifier: Apache-2.0 */
/* The table of operators, the choice of a way, and the patterns against plain arithmetic. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bwtool/kernels.h"

#include "../../src/measure/ranks.h"
#include "../../src/measure/session.h"
#include "../../src/shmem/shmem.h"

static void rows_are_well_formed(void **state)
{
    (void)state;
    for (size_t i = 0; i < bw_operator_count; i++) {
        const struct bw_operator *row = &bw_operators[i];
        char text[1024];

        assert_int_equal(bw_operator_find(row->tc.name), i);
        assert_int_equal(bw_all_find(row->tc.name), bw_testcase_count + i);
        assert_ptr_equal(bw_all_at(bw_testcase_count + i), &row->tc);
        assert_ptr_equal(bw_operator_of(&row->tc), row);
        assert_int_equal(bw_testcase_find(row->tc.name), -1);
        assert_true(bw_operator_describe(row, text, sizeof text) < (int)sizeof text);
        assert_true(row->placements != 0);
        assert_true(row->natural == PLACEMENT_AUTO ||
                    (row->placements & (unsigned)row->natural) != 0);
        assert_true(row->slots == 0 || row->spread > 0);
        /* Nobody is told that an outside copy may stand before a kernel that needs none. */
        assert_true(row->algorithm == ALGORITHM_AUTO || row->algorithm == ALGORITHM_MULTICAST ||
                    (row->placements & PLACEMENT_A) == 0 || row->placements == PLACEMENT_A);
    }
    assert_null(bw_operator_of(&bw_testcases[0]));
}

static void auto_always_finds_a_way_that_fits(void **state)
{
    static const enum bw_placement placements[] = {PLACEMENT_AUTO, PLACEMENT_A, PLACEMENT_B,
                                                   PLACEMENT_R};

    (void)state;
    for (size_t i = 0; i < bw_operator_count; i++) {
        for (int dtype = 0; dtype < BW_SHMEM_DTYPES; dtype++) {
            for (int shift = 0; shift <= 34; shift += 2) {
                for (size_t p = 0; p < 4; p++) {
                    const struct bw_operator *row = &bw_operators[i];
                    const struct bw_operator *way = NULL;
                    const bool has_bulk = (shift & 2) != 0;

                    if (row->algorithm != ALGORITHM_AUTO) {
                        continue;
                    }
                    way = bw_operator_choose(row, (uint64_t)1 << shift, placements[p],
                                             (enum bw_shmem_dtype)dtype, has_bulk);
                    assert_non_null(way);
                    assert_int_equal(way->op, row->op);
                    assert_int_not_equal(way->algorithm, ALGORITHM_MULTICAST);
                    assert_true(
                        bw_operator_fits(way, placements[p], (enum bw_shmem_dtype)dtype, has_bulk));
                }
            }
        }
    }
}

static void grids_fit_in_one_wave(void **state)
{
    (void)state;
    for (size_t i = 0; i < bw_operator_count; i++) {
        for (int shift = 0; shift < 32; shift++) {
            const unsigned ctas = bw_operator_ctas(&bw_operators[i], (uint64_t)1 << shift, 132);

            assert_true(ctas >= 1 && ctas <= BW_SHMEM_CTAS_MAX);
            assert_true(ctas == 1 || ctas <= bw_operators[i].blocks_a_sm * 132);
            assert_true(bw_operator_tile_vectors((uint64_t)1 << shift, ctas) <=
                        BW_SHMEM_THREADS * BW_SHMEM_TILE_VECTORS);
        }
    }
}

static double value_of(enum bw_shmem_dtype dtype, uint32_t bits)
{
    float f = 0;
    uint32_t wide = bits << 16;

    switch (dtype) {
    case BW_FP16: /* whole numbers: never below 2^-14 but for zero */
        return bits == 0 ? 0 : ldexp(1024 + (bits & 0x3ff), (int)(bits >> 10) - 25);
    case BW_BF16:
        memcpy(&f, &wide, sizeof f);
        return (double)f;
    case BW_FP32:
        memcpy(&f, &bits, sizeof f);
        return (double)f;
    default:
        return bits;
    }
}

/* All ranks' inputs added up by plain arithmetic are what the check expects, without rounding. */
static void sums_are_exact(void **state)
{
    static const uint32_t ranks[] = {1, 2, 3, 8, 72};

    (void)state;
    for (int d = 0; d < BW_SHMEM_DTYPES; d++) {
        const enum bw_shmem_dtype dtype = (enum bw_shmem_dtype)d;
        const uint32_t width = bw_shmem_element_bits((uint32_t)d);
        const uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
        const double wrap = d == BW_INT8 ? 256 : d == BW_INT32 ? 4294967296.0 : 0;

        for (size_t n = 0; n < sizeof ranks / sizeof ranks[0]; n++) {
            const struct bw_shmem_check c = {
                .dtype = (uint32_t)d, .is_reduced = 1, .ranks = ranks[n], .seed = 77};

            for (uint64_t word = 0; word < 500; word++) {
                for (uint32_t at = 0; at < 32; at += width) {
                    double sum = 0;

                    for (uint32_t r = 0; r < ranks[n]; r++) {
                        sum += value_of(dtype, bw_shmem_input_word(&c, r, word) >> at & mask);
                    }
                    sum = wrap > 0 ? fmod(sum, wrap) : sum;
                    assert_true(sum == value_of(dtype, bw_shmem_sum_word(&c, word) >> at & mask));
                }
            }
        }
    }
}

/* Who gets what from whom, as the operators are defined. */
static void outputs_are_the_inputs_of_the_right_ranks(void **state)
{
    struct bw_shmem_check c = {
        .dtype = BW_FP16, .ranks = 4, .rank = 2, .root = 1, .seed = 5, .pitch_bytes = 64};

    (void)state;
    for (uint64_t word = 0; word < 16; word++) {
        for (uint32_t m = 0; m < 4; m++) {
            c.layout = BW_LAYOUT_ALL_GATHER;
            assert_int_equal(bw_shmem_output_word(&c, m, word), bw_shmem_input_word(&c, m, word));
            c.layout = BW_LAYOUT_ALL_TO_ALL;
            assert_int_equal(bw_shmem_output_word(&c, m, word),
                             bw_shmem_input_word(&c, m, 2 * 16 + word));
        }
        c.layout = BW_LAYOUT_BROADCAST;
        assert_int_equal(bw_shmem_output_word(&c, 0, word), bw_shmem_input_word(&c, 1, word));
        c.layout = BW_LAYOUT_REDUCE_SCATTER;
        assert_int_equal(bw_shmem_output_word(&c, 0, word), bw_shmem_sum_word(&c, 2 * 16 + word));
        c.layout = BW_LAYOUT_ALL_REDUCE;
        assert_int_equal(bw_shmem_output_word(&c, 0, word), bw_shmem_sum_word(&c, word));
    }
}

static void a_case_is_what_was_asked_for(void **state)
{
    const struct bw_operator *row = &bw_operators[bw_operator_find("shmem_all_gather_push")];
    const struct shmem_machine machine = {.ranks = 3, .sm_count = 132, .has_bulk = true};
    struct bw_shmem_request request = {.has_dtype = true, .dtype = BW_INT8};
    static struct shmem_case c;

    (void)state;
    assert_null(shmem_case_set(&c, row, &request, &machine, 100, 0));
    assert_int_equal(c.elements, 34); /* no less than asked for, the same on all ranks */
    assert_int_equal(c.payload_bytes, 102);
    assert_int_equal(c.vectors, 3);
    assert_int_equal(c.in_bytes, 48);
    assert_int_equal(c.out_bytes, 144);
    assert_int_equal(c.placement, PLACEMENT_R);
    request.placement = PLACEMENT_B;
    assert_null(shmem_case_set(&c, row, &request, &machine, 100, 7));
    assert_int_equal(c.ctas, 7);
    assert_int_equal(c.placement, PLACEMENT_B);
    request.placement = PLACEMENT_A;
    {
        char *reason = shmem_case_set(&c, row, &request, &machine, 100, 0);

        assert_non_null(reason);
        assert_non_null(strstr(reason, "would not be honest"));
        free(reason);
    }
}

static void expect_reason(struct shmem_case *c, const struct bw_shmem_request *request,
                          const struct shmem_machine *machine, const char *words)
{
    const struct bw_operator *row = &bw_operators[bw_operator_find("shmem_all_reduce_multicast")];
    char *reason = shmem_case_set(c, row, request, machine, 100, 0);

    assert_non_null(reason);
    assert_non_null(strstr(reason, words));
    free(reason);
}

static void a_multicast_case_says_why_it_cannot_be(void **state)
{
    struct shmem_machine machine = {.ranks = 3, .sm_count = 132, .has_bulk = true};
    struct bw_shmem_request request = {.has_dtype = true, .dtype = BW_FP32};
    const struct bw_operator *row = &bw_operators[bw_operator_find("shmem_all_reduce_multicast")];
    static struct shmem_case c;

    (void)state;
    assert_null(shmem_case_set(&c, row, &request, &machine, 100, 0));
    assert_int_equal(c.total, 7); /* vectors: of the message, and of a rank's part */
    assert_int_equal(c.vectors, 3);
    /* In and out behind the one address, each on pages of its own; in the window signals only. */
    assert_int_equal(shmem_area_bytes(&c), 4 << 20);
    assert_int_equal(shmem_window_bytes(&c), 2 << 20);
    row = &bw_operators[bw_operator_find("shmem_all_reduce_pull")];
    assert_null(shmem_case_set(&c, row, &request, &machine, 100, 0));
    assert_int_equal(shmem_area_bytes(&c), 0);
    machine.no_multicast = "it is switched off";
    expect_reason(&c, &request, &machine, "it is switched off");
    machine.ranks = 1;
    expect_reason(&c, &request, &machine, "needs two GPUs");
    request.dtype = BW_INT8;
    expect_reason(&c, &request, &machine, "no int8");
}

/* Vectors are counted in 32 bits; beyond that a place would be another one. */
static void a_case_is_no_larger_than_kernels_count(void **state)
{
    static const char *const names[] = {"shmem_all_gather_push", "shmem_all_reduce_pull",
                                        "shmem_all_to_all_ce", "shmem_broadcast_tma"};
    const struct shmem_machine machine = {.ranks = 8, .sm_count = 132, .has_bulk = true};
    const struct bw_shmem_request request = {.factor = 2};
    static struct shmem_case c;

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct bw_operator *row = &bw_operators[bw_operator_find(names[i])];
        char *reason = shmem_case_set(&c, row, &request, &machine, 1ULL << 36, 0);

        assert_non_null(reason);
        assert_non_null(strstr(reason, "64.0 GiB on each rank"));
        free(reason);
        assert_null(shmem_case_set(&c, row, &request, &machine, 1ULL << 35, 0));
        assert_true(c.vectors > 0);
    }
    assert_null(shmem_case_set(&c, &bw_operators[bw_operator_find("shmem_put")], &request, &machine,
                               1ULL << 36, 0));
}

/* One block moves a ping-pong's message: 64 of 1 GiB in each of 40 launches took minutes. */
static void a_launch_of_long_messages_has_few(void **state)
{
    static const struct {
        uint64_t bytes;
        unsigned rounds;
    } expected[] = {{8, 32}, {512u << 10, 32}, {1u << 20, 16}, {16u << 20, 1}, {64u << 20, 1}};
    const struct bw_operator *row = &bw_operators[bw_operator_find("shmem_put_signal")];
    const struct shmem_machine machine = {.ranks = 2, .sm_count = 132, .has_bulk = true};

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        const struct bw_shmem_request request = {.is_swept = true};
        struct shmem_case c;

        assert_null(shmem_case_set(&c, row, &request, &machine, expected[i].bytes, 0));
        assert_int_equal(c.rounds, expected[i].rounds);
    }
}

static void a_ping_pong_of_a_message_that_is_too_long_says_so(void **state)
{
    const struct bw_operator *row = &bw_operators[bw_operator_find("shmem_put_signal")];
    const struct shmem_machine machine = {.ranks = 2, .sm_count = 132, .has_bulk = true};
    const struct bw_shmem_request request = {.is_swept = true};
    struct shmem_case c;
    char *reason = shmem_case_set(&c, row, &request, &machine, 65u << 20, 0);

    (void)state;
    assert_non_null(reason);
    assert_non_null(strstr(reason, "one block moves a ping-pong's message"));
    free(reason);
}

static void more_ranks_than_a_case_holds_need_no_window(void **state)
{
    enum { RANKS = 100 };
    struct bw_rank_facts facts[RANKS] = {{.rank = 0}};
    struct bw_ranks ranks = {.facts = facts};
    struct bw_world world = {.ranks = BW_SHMEM_RANKS_MAX};
    struct bw_session session = {.world = &world, .ranks = &ranks};
    const struct bw_operator *row = &bw_operators[bw_operator_find("shmem_dispatch")];
    const struct bw_shmem_request request = {
        .bytes_min = 1 << 20, .bytes_max = 1 << 20, .factor = 2};

    (void)state;
    for (int i = 0; i < RANKS; i++) {
        facts[i].sm_count = 132;
    }
    assert_true(bw_shmem_window_bytes(&session, row, &request) > 0);
    world.ranks = RANKS;
    assert_int_equal(bw_shmem_window_bytes(&session, row, &request), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_well_formed),
        cmocka_unit_test(auto_always_finds_a_way_that_fits),
        cmocka_unit_test(grids_fit_in_one_wave),
        cmocka_unit_test(sums_are_exact),
        cmocka_unit_test(outputs_are_the_inputs_of_the_right_ranks),
        cmocka_unit_test(a_case_is_what_was_asked_for),
        cmocka_unit_test(a_multicast_case_says_why_it_cannot_be),
        cmocka_unit_test(a_case_is_no_larger_than_kernels_count),
        cmocka_unit_test(a_launch_of_long_messages_has_few),
        cmocka_unit_test(a_ping_pong_of_a_message_that_is_too_long_says_so),
        cmocka_unit_test(more_ranks_than_a_case_holds_need_no_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
