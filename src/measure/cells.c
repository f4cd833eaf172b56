/* SPDX-License-Identifier: Apache-2.0 */
/* From the times of a launch's lanes to the values of its cells. */
#include "crew.h"

#include "bwtool/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes, or loads, that a lane's sample counts. */
static double counted(const struct bw_crew *crew, size_t lane)
{
    return (double)crew->lanes[lane].unit * (double)crew->copies;
}

static bool is_measured(const struct bw_crew *crew, size_t lane)
{
    return !crew->lanes[lane].lane_plan->is_load;
}

/* Value and statistics from samples, which the cell takes over. */
static void fill_cell(const struct bw_crew *crew, struct bw_cell *cell, double *samples, size_t n,
                      double bytes, double seconds)
{
    cell->stats = bw_stats_of(samples, n);
    cell->samples = samples;
    cell->value = bw_stats_value(&cell->stats, crew->sampling->use_mean);
    cell->bytes = (uint64_t)bytes;
    cell->copies = crew->copies;
    cell->is_precise = crew->is_precise;
    cell->buffer_bytes = crew->lanes[0].bytes;
    cell->seconds = seconds;
    cell->reverse_gb_per_s = NAN;
    cell->is_present = isfinite(cell->value) && cell->value > 0;
    cell->is_doubtful = crew->doubt != NULL;
    cell->doubt = crew->doubt == NULL ? NULL : strdup(crew->doubt);
    if (!cell->is_present) {
        cell->status = BW_ERR_SYSTEM;
        cell->reason = strdup(cell->stats.n < n ? "no memory for its statistics"
                                                : "the time measured was zero");
        bw_error("%s: %s", crew->plan->tc->name,
                 cell->reason != NULL ? cell->reason : "no value, and no memory to say why");
    }
}

static double *new_samples(size_t n)
{
    double *samples = calloc(n + 1, sizeof(*samples));

    if (samples == NULL) {
        (void)bw_errno("no memory for %zu samples", n);
    }
    return samples;
}

/* A cell of one series: a rate in bytes per ns, which is GB/s, or a latency in ns. */
static enum bw_status fill_from(const struct bw_crew *crew, struct bw_cell *cell,
                                const struct bw_series *series, double counted)
{
    double *samples = new_samples(series->count);
    double ns = 0;

    if (samples == NULL) {
        return BW_ERR_MEMORY;
    }
    for (size_t i = 0; i < series->count; i++) {
        const bool is_latency = bw_testcase_is_latency(crew->plan->tc);

        samples[i] = is_latency ? series->ns[i] / counted : counted / series->ns[i];
        ns += series->ns[i];
    }
    fill_cell(crew, cell, samples, series->count, counted, ns * 1e-9);
    return BW_OK;
}

/* A cell whose value is the sum of the rates of all measured lanes. */
static enum bw_status fill_sum(const struct bw_crew *crew, struct bw_cell *cell)
{
    const size_t n = crew->whole.count;
    double *samples = new_samples(n);
    double bytes = 0;
    double ns = 0;

    if (samples == NULL) {
        return BW_ERR_MEMORY;
    }
    for (size_t k = 0; k < crew->launch->lane_count; k++) {
        if (is_measured(crew, k)) {
            bytes += counted(crew, k);
            for (size_t i = 0; i < n; i++) {
                samples[i] += counted(crew, k) / crew->series[k].ns[i];
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        ns += crew->whole.ns[i];
    }
    fill_cell(crew, cell, samples, n, bytes, ns * 1e-9);
    return BW_OK;
}

static double all_bytes(const struct bw_crew *crew)
{
    double bytes = 0;

    for (size_t k = 0; k < crew->launch->lane_count; k++) {
        bytes += is_measured(crew, k) ? counted(crew, k) : 0;
    }
    return bytes;
}

static enum bw_status fill_first(const struct bw_crew *crew, struct bw_cell *cell)
{
    const struct bw_lane *lane = &crew->lanes[0];
    enum bw_status st = BW_OK;

    TRY(fill_from(crew, cell, &crew->series[0], counted(crew, 0)));
    cell->life = lane->life;
    if (lane->lane_plan->is_split && lane->reverse_ns > 0) {
        cell->reverse_gb_per_s = lane->reverse_bytes / lane->reverse_ns;
    }
out:
    return st;
}

/* Each lane has its own cell: in its own matrix or, with one matrix, in its own row. */
static enum bw_status fill_each(const struct bw_crew *crew, struct bw_cell **cells, size_t at,
                                bool is_pair)
{
    enum bw_status st = BW_OK;

    for (size_t k = 0; k < crew->launch->lane_count; k++) {
        struct bw_cell *cell = is_pair ? &cells[k][at] : &cells[0][at + k];

        TRY(fill_from(crew, cell, &crew->series[k], counted(crew, k)));
        cell->life = crew->lanes[k].life;
    }
    if (is_pair) {
        TRY(fill_sum(crew, &cells[2][at]));
    }
out:
    return st;
}

enum bw_status bw_crew_fill_cells(const struct bw_crew *crew, struct bw_cell **cells)
{
    const struct bw_testcase *tc = crew->plan->tc;
    const size_t at =
        (size_t)crew->launch->row * (size_t)crew->plan->cols + (size_t)crew->launch->col;

    switch (bw_testcase_reduce(tc)) {
    case REDUCE_FIRST:
        return fill_first(crew, &cells[0][at]);
    case REDUCE_EACH:
        return fill_each(crew, cells, at, bw_testcase_matrix_count(tc) == 3);
    case REDUCE_SUM:
        return fill_sum(crew, &cells[0][at]);
    case REDUCE_TOTAL:
        return fill_from(crew, &cells[0][at], &crew->whole, all_bytes(crew));
    }
    return BW_ERR_USAGE;
}

void bw_cell_set_doubt(struct bw_cell *cell, char *text)
{
    free(cell->doubt);
    cell->doubt = text;
    cell->is_doubtful = true;
}

void bw_cell_close(struct bw_cell *cell)
{
    free(cell->samples);
    free(cell->reason);
    free(cell->doubt);
    *cell = (struct bw_cell){0};
}
