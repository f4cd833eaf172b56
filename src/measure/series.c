/* SPDX-License-Identifier: Apache-2.0 */
#include "series.h"

#include "bwtool/log.h"

#include <stdlib.h>

static enum bw_status push(struct bw_series *series, double ns)
{
    if (series->count == series->room) {
        const size_t room = series->room == 0 ? 64 : 2 * series->room;
        double *more = realloc(series->ns, room * sizeof(*more));

        if (more == NULL) {
            return bw_errno("no memory for %zu samples", room);
        }
        series->ns = more;
        series->room = room;
    }
    series->ns[series->count++] = ns;
    return BW_OK;
}

enum bw_status bw_series_add(struct bw_series *series, const double *marks_ns, unsigned samples,
                             bool is_whole)
{
    double before_ns = 0;
    enum bw_status st = BW_OK;

    for (unsigned i = 0; i < samples; i++) {
        series->part_ns += marks_ns[i] - before_ns;
        before_ns = marks_ns[i];
        if (is_whole) {
            TRY(push(series, series->part_ns));
            series->part_ns = 0;
        }
    }
out:
    return st;
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
