/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/measure/series.h"
#include "unit.h"

#include "bwtool/stats.h"

#include <math.h>

static void nothing_says_nothing(void **state)
{
    const struct bw_stats s = bw_stats_of(NULL, 0);

    (void)state;
    assert_int_equal(s.n, 0);
    assert_true(isnan(s.median) && isnan(s.mean) && isnan(s.ci_low) && isnan(s.cv));
    assert_true(isnan(bw_stats_precision(&s)));
}

static void one_sample_has_no_spread(void **state)
{
    const double one[] = {7};
    const struct bw_stats s = bw_stats_of(one, 1);

    (void)state;
    assert_true(s.median == 7 && s.mean == 7 && s.min == 7 && s.max == 7 && s.p95 == 7);
    assert_true(isnan(s.cv) && isnan(s.ci_high));
}

static void order_does_not_matter(void **state)
{
    const double odd[] = {5, 1, 3};
    const double even[] = {4, 1, 3, 2};
    const struct bw_stats a = bw_stats_of(odd, 3);
    const struct bw_stats b = bw_stats_of(even, 4);

    (void)state;
    assert_true(a.median == 3 && a.min == 1 && a.max == 5 && a.mean == 3);
    assert_true(fabs(a.cv - 2.0 / 3) < 1e-12);
    assert_true(b.median == 2.5 && b.mean == 2.5);
    assert_true(fabs(b.p5 - 1.15) < 1e-12 && fabs(b.p95 - 3.85) < 1e-12);
    assert_true(odd[0] == 5); /* the caller's are left alone */
}

/* Ranks (from 1) of the 95 % interval of the median, as printed in tables of order statistics. */
static void interval_is_by_order_statistics(void **state)
{
    static const struct {
        size_t n, low, high;
    } table[] = {{6, 1, 6},   {8, 1, 8},   {9, 2, 8},   {11, 2, 10},
                 {15, 4, 12}, {20, 6, 15}, {50, 18, 33}};
    double values[50];

    (void)state;
    for (size_t i = 0; i < 50; i++) {
        values[i] = (double)(i + 1);
    }
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct bw_stats s = bw_stats_of(values, table[i].n);

        assert_true(s.ci_low == (double)table[i].low);
        assert_true(s.ci_high == (double)table[i].high);
    }
    assert_true(isnan(bw_stats_of(values, 5).ci_low));
}

/* Of many sets drawn around a known median, about 95 % must cover it. */
static void interval_covers_the_median(void **state)
{
    unsigned long long seed = 1;
    unsigned covered = 0;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        double values[17];
        struct bw_stats s;

        for (int i = 0; i < 17; i++) {
            seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
            values[i] = exp((double)(seed >> 33) / 2147483648.0); /* skewed; median exp(1/2) */
        }
        s = bw_stats_of(values, 17);
        covered += s.ci_low <= exp(0.5) && exp(0.5) <= s.ci_high;
    }
    assert_in_range(covered, 1880, 1960);
}

static void many_samples_are_no_trouble(void **state)
{
    enum { N = 100000 };
    static double values[N];
    struct bw_stats s;

    (void)state;
    for (int i = 0; i < N; i++) {
        values[i] = i;
    }
    s = bw_stats_of(values, N);
    assert_true(s.ci_low > 49600 && s.ci_low < 49700 && s.ci_high > 50300 && s.ci_high < 50400);
}

/* The room behind the times is theirs alone, and the times stay in their order. */
static void a_series_is_sorted_beside_its_times(void **state)
{
    struct bw_series series = {.ns = NULL};

    (void)state;
    assert_int_equal(bw_series_stats(&series).n, 0);
    for (int i = 0; i < 150; i++) {
        const double ns = 150 - i;

        assert_int_equal(bw_series_reserve(&series, 1), BW_OK);
        bw_series_add(&series, &ns, 1, true);
        assert_true(bw_series_stats(&series).median == 150 - i / 2.0);
    }
    assert_true(series.count == 150 && series.ns[0] == 150 && series.ns[149] == 1);
    bw_series_free(&series);
}

static void precision_is_half_the_interval(void **state)
{
    const struct bw_stats s = {.n = 9, .median = 50, .ci_low = 45, .ci_high = 55};

    (void)state;
    assert_true(fabs(bw_stats_precision(&s) - 0.1) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_says_nothing),
        cmocka_unit_test(one_sample_has_no_spread),
        cmocka_unit_test(order_does_not_matter),
        cmocka_unit_test(interval_is_by_order_statistics),
        cmocka_unit_test(interval_covers_the_median),
        cmocka_unit_test(precision_is_half_the_interval),
        cmocka_unit_test(many_samples_are_no_trouble),
        cmocka_unit_test(a_series_is_sorted_beside_its_times),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
