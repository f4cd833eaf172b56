/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_STATS_H
#define BW_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* What a set of samples says. NAN where there are too few samples to tell. */
struct bw_stats {
    size_t n;
    double median, mean, min, max;
    double p5, p95;
    double cv;              /* standard deviation over mean; NAN below 2 samples             */
    double ci_low, ci_high; /* 95 % interval of the median by order statistics; NAN below 6 */
};

/* `values` (finite, n of them) are the caller's, and are not changed. n = 0, or no memory, gives n
 * = 0 and NANs. */
struct bw_stats bw_stats_of(const double *values, size_t n);
/* The same, sorted in room for n that the caller has: it cannot fail. */
struct bw_stats bw_stats_in(const double *values, size_t n, double *sorted);

/* What stands for the samples: the median, or the mean. */
double bw_stats_value(const struct bw_stats *stats, bool use_mean);

/* Half the width of the interval over the median: what --precision is compared with. NAN if
 * unknown. */
double bw_stats_precision(const struct bw_stats *stats);

#endif
