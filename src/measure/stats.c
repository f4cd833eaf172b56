/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Linear between the two nearest samples; `sorted` has n > 0 of them. */
static double quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t low = (size_t)at;
    const size_t high = low + 1 < n ? low + 1 : low;

    return sorted[low] + (at - (double)low) * (sorted[high] - sorted[low]);
}

/*
 * Rank, from 0, of the lower end of the 95 % interval of the median by order
 * statistics: the greatest r with P(Binomial(n, 1/2) <= r) <= 2.5 %. The upper
 * end is as far from the other side. Without any assumption on how the samples
 * are spread; -1 below 6 samples, where even the extremes are not enough.
 */
static long interval_rank(size_t n)
{
    const double half = -(double)n * log(2);
    double log_choose = 0; /* of n over k */
    double tail = 0;
    long rank = -1;

    for (size_t k = 0; k < n; k++) {
        tail += exp(log_choose + half);
        if (tail > 0.025) {
            break;
        }
        rank = (long)k;
        log_choose += log((double)(n - k)) - log((double)(k + 1));
    }
    return rank;
}

static double deviation(const double *values, size_t n, double mean)
{
    double squares = 0;

    for (size_t i = 0; i < n; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
    }
    return n < 2 ? NAN : sqrt(squares / (double)(n - 1));
}

struct bw_stats bw_stats_in(const double *values, size_t n, double *sorted)
{
    struct bw_stats s = {n, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double sum = 0;
    long rank = -1;

    if (n == 0) {
        return s;
    }
    memcpy(sorted, values, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare);
    for (size_t i = 0; i < n; i++) {
        sum += sorted[i];
    }
    s.mean = sum / (double)n;
    s.median = quantile(sorted, n, 0.5);
    s.min = sorted[0];
    s.max = sorted[n - 1];
    s.p5 = quantile(sorted, n, 0.05);
    s.p95 = quantile(sorted, n, 0.95);
    s.cv = deviation(values, n, s.mean) / s.mean;
    rank = interval_rank(n);
    if (rank >= 0) {
        s.ci_low = sorted[rank];
        s.ci_high = sorted[n - 1 - (size_t)rank];
    }
    return s;
}

struct bw_stats bw_stats_of(const double *values, size_t n)
{
    double *sorted = n == 0 ? NULL : malloc(n * sizeof(*sorted));
    const struct bw_stats s = bw_stats_in(values, sorted == NULL ? 0 : n, sorted);

    free(sorted);
    return s;
}

double bw_stats_value(const struct bw_stats *stats, bool use_mean)
{
    return use_mean ? stats->mean : stats->median;
}

double bw_stats_precision(const struct bw_stats *stats)
{
    return (stats->ci_high - stats->ci_low) / 2 / stats->median;
}
