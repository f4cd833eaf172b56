/* SPDX-License-Identifier: Apache-2.0 */
#include "series.h"

#include "bwtool/log.h"

#include <stdlib.h>

enum bw_status bw_series_reserve(struct bw_series *series, unsigned samples)
{
    size_t room = series->room == 0 ? 64 : series->room;
    double *more = NULL;

    while (room < series->count + samples) {
        room *= 2;
    }
    if (room == series->room) {
        return BW_OK;
    }
    more = realloc(series->ns, 2 * room * sizeof(*more));
    if (more == NULL) {
        return bw_errno("no memory for %zu samples", room);
    }
    series->ns = more;
    series->room = room;
    return BW_OK;
}

void bw_series_add(struct bw_series *series, const double *marks_ns, unsigned samples,
                   bool is_whole)
{
    double before_ns = 0;

    for (unsigned i = 0; i < samples; i++) {
        series->part_ns += marks_ns[i] - before_ns;
        before_ns = marks_ns[i];
        if (is_whole) {
            series->ns[series->count++] = series->part_ns;
            series->part_ns = 0;
        }
    }
}

struct bw_stats bw_series_stats(const struct bw_series *series)
{
    return bw_stats_in(series->ns, series->count,
                       series->count > 0 ? series->ns + series->room : NULL);
}

void bw_series_reset(struct bw_series *series)
{
    series->count = 0;
    series->part_ns = 0;
}

void bw_series_free(struct bw_series *series)
{
    free(series->ns);
    *series = (struct bw_series){0};
}
