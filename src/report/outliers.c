/* SPDX-License-Identifier: Apache-2.0 */
/* Which cells are alike, and words for those that are not like their like. */
#include "words.h"

#include "bwtool/log.h"
#include "bwtool/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Differences below are everyday. Latencies vary with where on the chip a load starts. */
static const double floor_of_rates = 0.05;
static const double floor_of_latencies = 0.15;

/* A number for what a GPU is: that of the first of its name. */
static int kind_of(const struct bw_run *run, int gpu)
{
    for (int i = 0; gpu >= 0 && gpu < run->device_count && i < gpu; i++) {
        if (strcmp(run->devices[i].name, run->devices[gpu].name) == 0) {
            return i;
        }
    }
    return gpu < run->device_count ? gpu : 0;
}

static int node_of(const struct bw_run *run, int gpu)
{
    return gpu >= 0 && gpu < run->device_count ? run->devices[gpu].numa_node + 1 : 0;
}

/* Cells with the same number should have the same value. */
static int group_of(const struct bw_run *run, const struct bw_testcase *tc,
                    const struct bw_matrix *matrix, int row, int col)
{
    enum { KINDS = 1024, PLACES = 64 };
    const struct bw_cell *cell = &matrix->cells[row * matrix->cols + col];
    const int row_kind = tc->shape == SHAPE_PAIRS ? kind_of(run, row) : 0;
    int place = 0;

    if (bw_testcase_is_host(tc)) {
        return row == col;
    }
    if (tc->row == MEM_HOST || tc->col == MEM_HOST) {
        place = node_of(run, col); /* each node has its own memory and its own way there */
    } else if (tc->shape == SHAPE_PAIRS) {
        place = cell->peak.group;
    }
    place = (place < 0 ? 0 : place) % PLACES;
    return ((kind_of(run, col) * KINDS + row_kind) * PLACES + place) * 8 + (int)cell->peak.link;
}

/* Half the interval of the median, or the spread where there are too few samples for one. */
static double noise_of(const struct bw_stats *stats)
{
    const double precision = stats->n > 0 ? bw_stats_precision(stats) : NAN;

    return isfinite(precision) ? precision : stats->n > 1 ? stats->cv : NAN;
}

void bw_result_find_outliers(const struct bw_run *run, struct bw_testcase_result *result)
{
    for (int m = 0; m < result->matrix_count; m++) {
        struct bw_matrix *matrix = &result->matrices[m];
        const size_t cells = (size_t)matrix->rows * (size_t)matrix->cols;
        double *values = calloc(cells + 1, sizeof(*values));
        double *noise = calloc(cells + 1, sizeof(*noise));
        int *groups = calloc(cells + 1, sizeof(*groups));
        const bool is_latency = bw_testcase_is_latency(result->tc);
        const struct bw_outlier_matrix searched = {
            matrix->rows,
            matrix->cols,
            values,
            noise,
            groups,
            is_latency,
            is_latency ? floor_of_latencies : floor_of_rates,
        };

        for (size_t i = 0; values != NULL && noise != NULL && groups != NULL && i < cells; i++) {
            const struct bw_cell *cell = &matrix->cells[i];

            values[i] = bw_cell_has_value(cell) ? cell->value : NAN;
            noise[i] = noise_of(&cell->stats);
            groups[i] =
                group_of(run, result->tc, matrix, (int)i / matrix->cols, (int)i % matrix->cols);
        }
        if (values != NULL && noise != NULL && groups != NULL) {
            matrix->outlier_count = bw_outliers_find(&searched, matrix->outliers, BW_OUTLIERS_MAX);
        }
        free(values);
        free(noise);
        free(groups);
    }
}

static char *end_name(const struct bw_testcase *tc, int end)
{
    return bw_text_format("%s %d",
                          bw_testcase_is_host(tc)        ? "node"
                          : bw_testcase_is_multinode(tc) ? "rank"
                                                         : "GPU",
                          end);
}

/* "GPU 3 as source"; what the caller frees. */
static char *subject(const struct bw_testcase *tc, const struct bw_matrix *matrix,
                     const struct bw_outlier *outlier, bool is_reverse)
{
    const bool is_row_source = (tc->flow == FLOW_TO_COL) != is_reverse;
    const bool is_one = matrix->rows == 1;
    char *row = matrix->row_labels != NULL && outlier->row >= 0
                    ? bw_text_format("%s", matrix->row_labels[outlier->row])
                    : end_name(tc, outlier->row);
    char *col = end_name(tc, outlier->col);
    char *text = NULL;

    if (row != NULL && col != NULL) {
        switch (outlier->kind) {
        case OUTLIER_END:
            text = bw_text_format("%s as source and as destination is", row);
            break;
        case OUTLIER_ROW:
            text = bw_text_format("%s as %s is", row, is_row_source ? "source" : "destination");
            break;
        case OUTLIER_COL:
            text = bw_text_format("%s as %s is", col, is_row_source ? "destination" : "source");
            break;
        case OUTLIER_PAIR:
            text = bw_text_format("%s and %s, both ways, are", row, col);
            break;
        case OUTLIER_CELL:
            text = is_one              ? bw_text_format("%s is", col)
                   : matrix->cols == 1 ? bw_text_format("%s is", row)
                   : is_row_source     ? bw_text_format("%s to %s is", row, col)
                                       : bw_text_format("%s to %s is", col, row);
            break;
        }
    }
    free(row);
    free(col);
    return text;
}

char *bw_words_outlier(const struct bw_testcase_result *result, const struct bw_matrix *matrix,
                       const struct bw_outlier *outlier)
{
    const bool is_reverse = matrix == &result->matrices[1];
    const double percent = 100 * (outlier->value / outlier->others - 1);
    char *who = subject(result->tc, matrix, outlier, is_reverse);
    char *text = NULL;

    if (who != NULL) {
        text = bw_text_format("%s %.0f %% %s the others (%.2f against %.2f %s)", who, fabs(percent),
                              percent < 0 ? "below" : "above", outlier->value, outlier->others,
                              bw_words_unit(result->tc));
    }
    free(who);
    return text;
}

void bw_result_say_outliers(const struct bw_testcase_result *result)
{
    for (int m = 0; m < result->matrix_count; m++) {
        const struct bw_matrix *matrix = &result->matrices[m];

        for (size_t i = 0; i < matrix->outlier_count; i++) {
            char *text = bw_words_outlier(result, matrix, &matrix->outliers[i]);

            bw_note("%s%s: %s", result->name, matrix->suffix, text != NULL ? text : "an outlier");
            free(text);
        }
    }
}
