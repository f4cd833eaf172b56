/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch and combine: sizes of a case, and the sums that are expected against plain arithmetic.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/shmem/shmem.h"

enum { WIDTH = 4, TOKENS = 50, ELEMENTS = 200 };

/* Tables of rank 1 of four: tokens with one to four rows. */
static struct bw_route_check tables(enum bw_shmem_dtype dtype, int32_t *dst, int32_t *slot)
{
    for (int t = 0; t < TOKENS; t++) {
        for (int j = 0; j < WIDTH; j++) {
            dst[t * WIDTH + j] = j <= t % WIDTH ? j : -1;
            slot[t * WIDTH + j] = j <= t % WIDTH ? 100 + t : -1;
        }
    }
    return (struct bw_route_check){.dst = (uint64_t)(uintptr_t)dst,
                                   .slot = (uint64_t)(uintptr_t)slot,
                                   .row_bytes = ELEMENTS * bw_dtype_bytes(dtype),
                                   .pitch_bytes = ELEMENTS * bw_dtype_bytes(dtype),
                                   .rows = TOKENS,
                                   .tokens = TOKENS,
                                   .width = WIDTH,
                                   .dtype = (uint32_t)dtype,
                                   .is_sum = 1,
                                   .rank = 1,
                                   .seed = 99};
}

/* By the definition of the formats, whatever the bits. */
static double value_of(enum bw_shmem_dtype dtype, uint32_t bits)
{
    const int width = dtype == BW_FP32 ? 32 : 16;
    const int fraction_bits = dtype == BW_FP32 ? 23 : dtype == BW_FP16 ? 10 : 7;
    const int bias = dtype == BW_FP16 ? 15 : 127;
    const uint32_t fraction = bits & ((1u << fraction_bits) - 1);
    const int exponent = (int)(bits >> fraction_bits & ((1u << (width - 1 - fraction_bits)) - 1));
    const double amount =
        exponent == 0 ? ldexp(fraction, 1 - bias - fraction_bits)
                      : ldexp((1u << fraction_bits) + fraction, exponent - bias - fraction_bits);

    return bits >> (width - 1) != 0 ? -amount : amount;
}

/* No neighbour is nearer, and of two that are as near it is the even one. */
static void assert_nearest(enum bw_shmem_dtype dtype, uint32_t bits, double exact)
{
    const double distance = fabs(value_of(dtype, bits) - exact);
    const double above = fabs(value_of(dtype, bits + 1) - exact);
    const double below = (bits & 0x7fff) != 0 ? fabs(value_of(dtype, bits - 1) - exact) : INFINITY;

    assert_true(distance < above || (distance <= above && bits % 2 == 0));
    assert_true(distance < below || (distance <= below && bits % 2 == 0));
}

static void float_sums_are_rounded_once(void **state)
{
    static const enum bw_shmem_dtype dtypes[] = {BW_FP16, BW_BF16, BW_FP32};
    int32_t dst[TOKENS * WIDTH];
    int32_t slot[TOKENS * WIDTH];

    (void)state;
    for (size_t d = 0; d < sizeof dtypes / sizeof dtypes[0]; d++) {
        const struct bw_route_check c = tables(dtypes[d], dst, slot);
        unsigned other_orders = 0;

        for (uint32_t t = 0; t < TOKENS; t++) {
            for (uint32_t e = 0; e < ELEMENTS; e++) {
                const uint32_t sum = bw_route_sum(&c, t, e);
                float forth = 0;
                float back = 0;

                for (uint32_t j = 0; j <= t % WIDTH; j++) {
                    const uint32_t bits = bw_route_partial(c.dtype, j, 100 + t, e, c.seed);
                    const uint32_t last =
                        bw_route_partial(c.dtype, t % WIDTH - j, 100 + t, e, c.seed);

                    assert_true(fabs(value_of(dtypes[d], bits)) >= 0.0625);
                    assert_true(fabs(value_of(dtypes[d], bits)) < 16);
                    /* Of two floats a double holds the sum, so that it is rounded once. */
                    forth = (float)((double)forth + value_of(dtypes[d], bits));
                    back = (float)((double)back + value_of(dtypes[d], last));
                }
                other_orders += memcmp(&forth, &back, sizeof forth) != 0;
                if (dtypes[d] == BW_FP32) {
                    assert_true(value_of(BW_FP32, sum) == (double)forth);
                } else {
                    assert_nearest(dtypes[d], sum, (double)forth);
                }
            }
        }
        /* What the pattern is for: another order of adding shows. fp32 sums of bf16 are exact. */
        assert_true(dtypes[d] != BW_FP32 || other_orders > TOKENS * ELEMENTS / 20);
    }
}

static void whole_numbers_wrap(void **state)
{
    int32_t dst[TOKENS * WIDTH];
    int32_t slot[TOKENS * WIDTH];

    (void)state;
    for (int d = BW_INT32; d <= BW_INT8; d++) {
        const struct bw_route_check c = tables((enum bw_shmem_dtype)d, dst, slot);
        const uint32_t mask = d == BW_INT8 ? 0xff : ~0u;

        for (uint32_t t = 0; t < TOKENS; t++) {
            uint64_t sum = 0;

            for (uint32_t j = 0; j <= t % WIDTH; j++) {
                sum += bw_route_partial(c.dtype, j, 100 + t, 7, c.seed);
            }
            assert_int_equal(bw_route_sum(&c, t, 7), sum & mask);
        }
    }
}

/* A word of an output is its elements' sums; of an input, the elements that they are of. */
static void words_hold_their_elements(void **state)
{
    int32_t dst[TOKENS * WIDTH];
    int32_t slot[TOKENS * WIDTH];

    (void)state;
    for (int d = 0; d < BW_SHMEM_DTYPES; d++) {
        struct bw_route_check c = tables((enum bw_shmem_dtype)d, dst, slot);
        const uint32_t width = bw_shmem_element_bits((uint32_t)d);
        const uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;

        for (uint32_t e = 0; e < ELEMENTS; e++) {
            const uint32_t at = e * width % 32;

            assert_int_equal(bw_route_output_word(&c, 3, e * width / 32) >> at & mask,
                             bw_route_sum(&c, 3, e));
            assert_int_equal(bw_route_input_word(&c, 103, e * width / 32) >> at & mask,
                             bw_route_partial((uint32_t)d, 1, 103, e, c.seed));
        }
        assert_int_equal(bw_route_output_word(&c, TOKENS, 0), bw_route_untouched);
    }
}

static void a_dispatched_row_is_its_token(void **state)
{
    static const uint32_t origin[3] = {5, 2 * 10 + 0, 3 * 10 + 9};
    const struct bw_route_check receiver = {.origin = (uint64_t)(uintptr_t)origin,
                                            .rows = 3,
                                            .pitch_bytes = 64,
                                            .tokens = 10,
                                            .rank = 1,
                                            .seed = 4};

    (void)state;
    for (uint32_t row = 0; row < 3; row++) {
        struct bw_route_check sender = receiver;

        sender.rank = origin[row] / 10;
        for (uint32_t word = 0; word < 16; word++) {
            assert_int_equal(bw_route_output_word(&receiver, row, word),
                             bw_route_input_word(&sender, origin[row] % 10, word));
        }
    }
    assert_int_equal(bw_route_output_word(&receiver, 3, 5), bw_route_untouched);
}

static struct shmem_case c;

static void set_case(const char *name, struct bw_shmem_request *request, int ranks, uint64_t bytes)
{
    const struct shmem_machine machine = {.ranks = ranks, .sm_count = 132, .has_bulk = true};
    char *reason = shmem_case_set(&c, &bw_operators[bw_operator_find(name)], request, &machine,
                                  bytes, request->ctas[0]);

    assert_null(reason);
}

static void a_case_has_whole_tokens(void **state)
{
    struct bw_shmem_request request = {.bytes_min = 0};

    (void)state;
    set_case("shmem_dispatch_push", &request, 8, 512u << 20);
    assert_int_equal(c.route.shape.hidden, 7168);
    assert_int_equal(c.route.shape.top_k, 8);
    assert_int_equal(c.route.shape.experts, 32);
    assert_int_equal(c.route.shape.tokens, (512u << 20) / 14336); /* no more than asked for */
    assert_int_equal(c.payload_bytes, 14336ull * c.route.shape.tokens);
    assert_int_equal(c.vectors, 896);
    set_case("shmem_combine_pull", &request, 8, 1000);
    assert_int_equal(c.route.shape.tokens, 1);
    request.route.tokens = 4096;
    request.route.hidden = 33;
    request.has_dtype = true;
    request.dtype = BW_INT8;
    set_case("shmem_combine", &request, 1, 1000);
    assert_int_equal(c.row->algorithm, ALGORITHM_TILES);
    assert_int_equal(c.payload_bytes, 4096 * 33);
    assert_int_equal(c.vectors, 3);
}

/* All tokens, each in one tile; a tile is what a block has under way, or a token. */
static void tiles_are_whole_tokens(void **state)
{
    static const uint32_t hiddens[] = {1, 100, 7168, 1 << 20};
    static const uint32_t tokens[] = {1, 7, 128, 5000};
    static const unsigned ctas[] = {0, 1, 13, 500};

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        struct bw_shmem_request request = {
            .route = {.tokens = tokens[i % 4], .hidden = hiddens[i / 4 % 4]},
            .ctas = {ctas[i / 16]}};

        set_case("shmem_dispatch_tiles", &request, 4, 0);
        assert_true(c.tile_tokens >= 1);
        assert_true(c.tile_tokens == 1 ||
                    c.tile_tokens * c.vectors <= BW_SHMEM_THREADS * BW_SHMEM_TILE_VECTORS);
        assert_true((uint64_t)c.tiles * c.tile_tokens >= tokens[i % 4]);
        assert_true((uint64_t)(c.tiles - 1) * c.tile_tokens < tokens[i % 4]);
        assert_true((uint64_t)c.tile_steps * c.ctas >= c.tiles);
        assert_true(ctas[i / 16] != 0 || c.ctas <= tokens[i % 4]);
    }
}

static void sizes_follow_the_route(void **state)
{
    struct bw_shmem_request request = {.route = {.tokens = 100, .hidden = 8, .top_k = 1}};

    (void)state;
    request.route.skew = BW_ROUTE_ONE_RANK;
    set_case("shmem_dispatch_push", &request, 4, 0);
    assert_int_equal(shmem_route_open(&c), BW_OK);
    assert_int_equal(c.in_bytes, 100 * 16);
    assert_int_equal(c.out_bytes, 400 * 16); /* alike on all ranks */
    assert_int_equal(shmem_out_bytes(&c, 0), 400 * 16);
    assert_int_equal(shmem_out_bytes(&c, 3), 0);
    assert_int_equal(shmem_in_bytes(&c, 3), 100 * 16);
    shmem_route_close(&c);
    set_case("shmem_combine_tiles", &request, 4, 0);
    assert_int_equal(shmem_route_open(&c), BW_OK);
    assert_int_equal(shmem_in_bytes(&c, 0), 400 * 16);
    assert_int_equal(shmem_in_bytes(&c, 1), 0);
    assert_int_equal(c.slot_vectors, 128);
    shmem_route_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(float_sums_are_rounded_once),
        cmocka_unit_test(whole_numbers_wrap),
        cmocka_unit_test(words_hold_their_elements),
        cmocka_unit_test(a_dispatched_row_is_its_token),
        cmocka_unit_test(a_case_has_whole_tokens),
        cmocka_unit_test(tiles_are_whole_tokens),
        cmocka_unit_test(sizes_follow_the_route),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
