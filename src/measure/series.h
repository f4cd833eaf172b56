/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SERIES_H
#define BW_SERIES_H

#include "bwtool/stats.h"
#include "bwtool/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Times of samples, in ns, as they come in; the last may still lack parts. */
struct bw_series {
    double *ns; /* twice the room: behind the times there is as much for bw_series_stats() */
    size_t count, room;
    double part_ns;
};

/* Have room for so many samples more. */
enum bw_status bw_series_reserve(struct bw_series *series, unsigned samples);
/*
 * Add a round, for which there is room: marks_ns[i] is the time from its start
 * to the end of its i-th sample. `is_whole`: the samples end with this round;
 * else its one sample goes on in the next.
 */
void bw_series_add(struct bw_series *series, const double *marks_ns, unsigned samples,
                   bool is_whole);
/*
 * In ns; it cannot fail. Without memory of its own: a rank that got none would
 * go on for longer, or shorter, than others.
 */
struct bw_stats bw_series_stats(const struct bw_series *series);
/* Forget all samples. */
void bw_series_reset(struct bw_series *series);
void bw_series_free(struct bw_series *series);

#endif
