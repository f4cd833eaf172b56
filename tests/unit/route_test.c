/* SPDX-License-Identifier: Apache-2.0 */
/* Route tables of dispatch and combine: what they promise, counted anew. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bwtool/clock.h"
#include "bwtool/route.h"

static const struct bw_route_shape usual = {.ranks = 4,
                                            .tokens = 500,
                                            .hidden = 16,
                                            .element_bytes = 2,
                                            .top_k = 8,
                                            .experts = 32,
                                            .skew = 0,
                                            .seed = 1};

static const int32_t *entries(const int32_t *table, const struct bw_route *route, int rank,
                              uint32_t token)
{
    return &table[((uint64_t)rank * route->shape.tokens + token) * route->width];
}

/* Each rank once and in rising order, at least one; behind the last nothing. */
static void check_token(const struct bw_route *route, int rank, uint32_t token)
{
    const int32_t *dst = entries(route->dst, route, rank, token);
    const int32_t *slot = entries(route->slot, route, rank, token);
    uint32_t j = 0;

    for (; j < route->width && dst[j] >= 0; j++) {
        assert_true(dst[j] < route->shape.ranks);
        assert_true(j == 0 || dst[j] > dst[j - 1]);
        assert_true(slot[j] >= 0);
    }
    assert_true(j > 0);
    for (; j < route->width; j++) {
        assert_int_equal(dst[j], -1);
        assert_int_equal(slot[j], -1);
    }
}

/* Every row of every receive area is one token's, and they lie by rank, then by token. */
static void check_rows(const struct bw_route *route)
{
    const int n = route->shape.ranks;
    uint32_t *next = calloc((size_t)n, sizeof *next);
    uint64_t all = 0;

    assert_non_null(next);
    for (int from = 0; from < n; from++) {
        for (int to = 0; to < n; to++) {
            assert_int_equal(route->base[from * n + to], next[to]);
        }
        for (uint32_t t = 0; t < route->shape.tokens; t++) {
            const int32_t *dst = entries(route->dst, route, from, t);
            const int32_t *slot = entries(route->slot, route, from, t);

            check_token(route, from, t);
            for (uint32_t j = 0; j < route->width && dst[j] >= 0; j++) {
                assert_int_equal(slot[j], next[dst[j]]);
                next[dst[j]]++;
                all++;
            }
        }
    }
    for (int to = 0; to < n; to++) {
        uint32_t rows = 0;

        for (int from = 0; from < n; from++) {
            rows += bw_route_rows(route, from, to);
            assert_true(from == to || bw_route_rows(route, from, to) <= route->pair_max);
        }
        assert_int_equal(rows, next[to]);
        assert_int_equal(rows, bw_route_received(route, to));
        assert_true(rows <= route->rows_max);
        all -= rows;
    }
    assert_true(all == 0);
    free(next);
}

static void tables_are_consistent(void **state)
{
    static const int ranks[] = {1, 2, 3, 4, 8, 72};
    static const double skews[] = {0, 0.5, 1, 3.3, 16, BW_ROUTE_ONE_RANK};

    (void)state;
    for (size_t n = 0; n < sizeof ranks / sizeof ranks[0]; n++) {
        for (size_t s = 0; s < sizeof skews / sizeof skews[0]; s++) {
            for (uint32_t k = 1; k <= 8; k++) {
                struct bw_route_shape shape = usual;
                struct bw_route route;

                shape.ranks = ranks[n];
                shape.tokens = k == 3 ? 1 : 100;
                shape.top_k = k;
                shape.experts = 8;
                shape.skew = skews[s];
                assert_null(bw_route_why_not(&shape));
                assert_int_equal(bw_route_build(&route, &shape), BW_OK);
                assert_int_equal(route.width, k < (uint32_t)ranks[n] ? k : (uint32_t)ranks[n]);
                check_rows(&route);
                bw_route_free(&route);
            }
        }
    }
}

/* All experts of a token: it goes to every rank, wherever the dice fall. */
static void a_token_of_all_experts_goes_everywhere(void **state)
{
    struct bw_route_shape shape = usual;
    struct bw_route route;

    (void)state;
    shape.experts = 2;
    shape.skew = 2;
    assert_int_equal(bw_route_build(&route, &shape), BW_OK);
    for (int from = 0; from < 4; from++) {
        for (int to = 0; to < 4; to++) {
            assert_int_equal(bw_route_rows(&route, from, to), shape.tokens);
        }
    }
    bw_route_free(&route);
}

static void the_same_seed_gives_the_same_route(void **state)
{
    struct bw_route_shape shape = usual;
    struct bw_route a;
    struct bw_route b;
    size_t bytes = 0;

    (void)state;
    assert_int_equal(bw_route_build(&a, &shape), BW_OK);
    assert_int_equal(bw_route_build(&b, &shape), BW_OK);
    bytes = 4 * (size_t)shape.tokens * a.width * sizeof *a.dst;
    assert_memory_equal(a.dst, b.dst, bytes);
    assert_memory_equal(a.slot, b.slot, bytes);
    bw_route_free(&b);
    shape.seed = 2;
    assert_int_equal(bw_route_build(&b, &shape), BW_OK);
    assert_true(memcmp(a.dst, b.dst, bytes) != 0);
    bw_route_free(&a);
    bw_route_free(&b);
    /* A record's route can be made again anywhere: these are kept. */
    shape = usual;
    shape.tokens = 4;
    shape.top_k = 2;
    shape.skew = 1.25;
    shape.seed = 7;
    assert_int_equal(bw_route_build(&a, &shape), BW_OK);
    {
        static const int32_t kept[4 * 4 * 2] = {0,  -1, 1,  -1, 0,  -1, 0, -1, 0, -1, 0,
                                                -1, 0,  -1, 0,  -1, 0,  3, 0,  1, 0,  -1,
                                                0,  -1, 0,  -1, 0,  3,  0, 1,  0, -1};

        for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
            if (a.dst[i] != kept[i]) {
                fail_msg("entry %zu is %d, and was %d", i, (int)a.dst[i], (int)kept[i]);
            }
        }
    }
    bw_route_free(&a);
}

/* Part of all rows that come to `rank`, with that skew. */
static double share_of(double skew, int rank, uint32_t top_k)
{
    struct bw_route_shape shape = usual;
    struct bw_route route;
    uint64_t all = 0;
    double share = 0;

    shape.tokens = 4000;
    shape.top_k = top_k;
    shape.skew = skew;
    assert_int_equal(bw_route_build(&route, &shape), BW_OK);
    for (int to = 0; to < shape.ranks; to++) {
        all += bw_route_received(&route, to);
    }
    share = (double)bw_route_received(&route, rank) / (double)all;
    bw_route_free(&route);
    return share;
}

/* A single expert: uniform is a quarter each; Zipf's law is a sum that anybody can add up. */
static void skew_is_zipfs_law(void **state)
{
    static const double skews[] = {0, 0.25, 1, 1.7};

    (void)state;
    for (size_t s = 0; s < sizeof skews / sizeof skews[0]; s++) {
        double all = 0;

        for (int e = 0; e < 128; e++) {
            all += pow(e + 1, -skews[s]);
        }
        for (int rank = 0; rank < 4; rank++) {
            double expected = 0;

            for (int e = 32 * rank; e < 32 * (rank + 1); e++) {
                expected += pow(e + 1, -skews[s]) / all;
            }
            /* Of 16,000 draws: five standard deviations. */
            assert_true(fabs(share_of(skews[s], rank, 1) - expected) <
                        5 * sqrt(expected * (1 - expected) / 16000) + 1e-9);
        }
    }
    assert_true(share_of(16, 3, 1) == 0); /* and then a rank has no token at all */
    assert_true(share_of(BW_ROUTE_ONE_RANK, 0, 8) == 1);
    assert_true(share_of(BW_ROUTE_ONE_RANK, 1, 8) == 0);
}

static void bytes_are_counted_by_pair(void **state)
{
    struct bw_route_shape shape = usual;
    struct bw_route route;

    (void)state;
    shape.skew = 1;
    assert_int_equal(bw_route_build(&route, &shape), BW_OK);
    for (int r = 0; r < 4; r++) {
        const struct bw_shmem_bytes sent = bw_route_bytes_of(&route, SHMEM_DISPATCH, r);
        const struct bw_shmem_bytes back = bw_route_bytes_of(&route, SHMEM_COMBINE, r);
        uint64_t out = 0;

        for (int p = 0; p < 4; p++) {
            out += p != r ? 32ull * bw_route_rows(&route, r, p) : 0;
            assert_int_equal(bw_route_bytes(&route, SHMEM_DISPATCH, r, p),
                             32ull * bw_route_rows(&route, r, p));
            assert_int_equal(bw_route_bytes(&route, SHMEM_COMBINE, p, r),
                             bw_route_bytes(&route, SHMEM_DISPATCH, r, p));
        }
        assert_int_equal(sent.sent, out);
        assert_int_equal(sent.sent, back.received);
        assert_int_equal(sent.received, back.sent);
        assert_int_equal(sent.local, 32ull * bw_route_rows(&route, r, r));
        assert_int_equal(sent.local, back.local);
    }
    bw_route_free(&route);
    /* All to rank 0, from three others: its port has three times what one sends. */
    shape.skew = BW_ROUTE_ONE_RANK;
    assert_int_equal(bw_route_build(&route, &shape), BW_OK);
    assert_int_equal(bw_route_busiest(&route, SHMEM_DISPATCH), 0);
    {
        const struct bw_shmem_bytes most = bw_route_bytes_of(&route, SHMEM_DISPATCH, 0);

        assert_int_equal(most.received, 3ull * 500 * 32);
        assert_int_equal(most.sent, 0);
        assert_true(bw_bus_factor_counted(bw_shmem_remote_bytes(&most), 500ull * 32) == 3);
    }
    bw_route_free(&route);
}

static void expect_reason(struct bw_route_shape shape, const char *words)
{
    char *reason = bw_route_why_not(&shape);

    assert_non_null(reason);
    assert_non_null(strstr(reason, words));
    free(reason);
}

static void what_cannot_be_is_explained(void **state)
{
    struct bw_route_shape shape = usual;

    (void)state;
    assert_null(bw_route_why_not(&shape));
    shape.experts = 1;
    expect_reason(shape, "8 experts where there are 4 (1 on each of 4 ranks)");
    shape.experts = 2;
    assert_null(bw_route_why_not(&shape));
    shape.skew = BW_ROUTE_ONE_RANK;
    expect_reason(shape, "8 experts of one rank that has 2");
    shape = usual;
    shape.tokens = BW_ROUTE_TOKENS_MAX / 4;
    assert_null(bw_route_why_not(&shape));
    shape.tokens++;
    expect_reason(shape, "give fewer --tokens");
    shape = usual;
    shape.hidden = BW_ROUTE_HIDDEN_MAX;
    shape.tokens = 8192;
    assert_null(bw_route_why_not(&shape));
    shape.tokens++;
    expect_reason(shape, "more than 16 GiB a rank");
}

/* Ranks watch each other's main thread: one that neither naps nor signs for long is ended. */
static void a_long_work_shows_signs_of_life(void **state)
{
    const struct bw_route_shape shape = {
        .ranks = 2, .tokens = 1 << 17, .hidden = 1, .element_bytes = 2, .top_k = 1, .experts = 1};
    const unsigned long before = bw_clock_naps();
    struct bw_route route;

    (void)state;
    assert_int_equal(bw_route_build(&route, &shape), BW_OK);
    assert_int_equal(bw_clock_naps() - before, 4);
    bw_route_free(&route);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_consistent),
        cmocka_unit_test(a_token_of_all_experts_goes_everywhere),
        cmocka_unit_test(the_same_seed_gives_the_same_route),
        cmocka_unit_test(skew_is_zipfs_law),
        cmocka_unit_test(bytes_are_counted_by_pair),
        cmocka_unit_test(what_cannot_be_is_explained),
        cmocka_unit_test(a_long_work_shows_signs_of_life),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
