/* SPDX-License-Identifier: Apache-2.0 */
/* A testcase of root `bwtool`: every matrix, every cell, numbers as numbers. */
#include "json_document.h"
#include "json_state.h"
#include "json_value.h"
#include "operator.h"
#include "suite.h"
#include "words.h"

#include <stdlib.h>

static json_t *interval_of(const struct bw_stats *stats)
{
    json_t *pair = json_array();

    bw_json_add(pair, bw_json_real(stats->ci_low));
    bw_json_add(pair, bw_json_real(stats->ci_high));
    return pair;
}

static json_t *samples_of(const struct bw_cell *cell)
{
    json_t *list = json_array();

    for (size_t i = 0; i < cell->stats.n; i++) {
        bw_json_add(list, bw_json_real(cell->samples[i]));
    }
    return list;
}

/* Of as many copies as a sample has. */
static json_t *life_of(const struct bw_cell *cell)
{
    const struct bw_life *life = &cell->life;
    json_t *object = json_object();

    bw_json_set(object, "copies", bw_json_count(cell->copies));
    bw_json_set(object, "submit_ns", bw_json_real(life->submit_ns));
    bw_json_set(object, "held_ns", bw_json_real(life->held_ns));
    bw_json_set(object, "queue_ns", bw_json_real(life->queue_ns));
    bw_json_set(object, "engine_ns", bw_json_real(life->engine_ns));
    bw_json_set(object, "completion_ns", bw_json_real(life->completion_ns));
    bw_json_set(
        object, "end_to_end_ns",
        bw_json_real(life->submit_ns + life->queue_ns + life->engine_ns + life->completion_ns));
    return object;
}

static void set_measured(json_t *object, const struct bw_testcase *tc, const struct bw_cell *cell,
                         bool has_samples)
{
    const struct bw_stats *stats = &cell->stats;
    const bool is_latency = tc != NULL && bw_testcase_is_latency(tc);

    if (stats->n > 0) {
        bw_json_set(object, "median", bw_json_real(stats->median));
        bw_json_set(object, "mean", bw_json_real(stats->mean));
        bw_json_set(object, "min", bw_json_real(stats->min));
        bw_json_set(object, "max", bw_json_real(stats->max));
        bw_json_set(object, "cv", bw_json_real(stats->cv));
        bw_json_set(object, "p5", bw_json_real(stats->p5));
        bw_json_set(object, "p95", bw_json_real(stats->p95));
        bw_json_set(object, "ci95", interval_of(stats));
    }
    bw_json_set_peak(object, cell);
    bw_json_set(object, is_latency ? "loads" : "bytes", bw_json_count(cell->bytes));
    bw_json_set(object, "seconds", bw_json_real(cell->seconds));
    if (tc != NULL && bw_testcase_is_split(tc)) {
        bw_json_set(object, "reverse_gb_per_s", bw_json_real(cell->reverse_gb_per_s));
    }
    if (!is_latency && cell->life.engine_ns > 0) {
        bw_json_set(object, "life", life_of(cell));
    }
    if (has_samples && cell->samples != NULL) {
        bw_json_set(object, "samples", samples_of(cell));
    }
}

static json_t *cell_of(const struct bw_testcase *tc, const struct bw_cell *cell, bool has_samples)
{
    json_t *object = json_object();
    const bool has_value = bw_cell_has_value(cell);

    bw_json_set(object, "value", has_value ? bw_json_real(cell->value) : json_null());
    bw_json_set(object, "n", json_integer((json_int_t)cell->stats.n));
    if (has_value) {
        set_measured(object, tc, cell, has_samples);
    }
    if (cell->status != BW_OK) {
        bw_json_set(object, "status", bw_json_text(bw_words_status(cell->status)));
    }
    bw_json_set(object, "reason", bw_json_text(cell->reason));
    if (cell->is_doubtful) {
        bw_json_set(object, "doubt", bw_json_text(bw_cell_doubt(cell)));
    }
    return object;
}

static json_t *summary_of(const struct bw_matrix *matrix)
{
    const struct bw_summary summary = bw_matrix_summary(matrix);
    json_t *object = json_object();

    bw_json_set(object, "n", json_integer((json_int_t)summary.n));
    bw_json_set(object, "sum", bw_json_real(summary.sum));
    bw_json_set(object, "min", bw_json_real(summary.min));
    bw_json_set(object, "max", bw_json_real(summary.max));
    bw_json_set(object, "average", bw_json_real(summary.average));
    bw_json_set(object, "cv", bw_json_real(summary.cv));
    return object;
}

static json_t *labels_of(const struct bw_matrix *matrix)
{
    json_t *list = json_array();

    for (int r = 0; r < matrix->rows; r++) {
        bw_json_add(list, bw_json_text(matrix->row_labels[r]));
    }
    return list;
}

static json_t *matrix_of(const struct bw_testcase_result *result, const struct bw_matrix *matrix,
                         bool has_samples)
{
    json_t *object = json_object();
    json_t *rows = json_array();
    char *key = bw_words_key(result, matrix);

    for (int r = 0; r < matrix->rows; r++) {
        json_t *row = json_array();

        for (int c = 0; c < matrix->cols; c++) {
            bw_json_add(row,
                        cell_of(result->tc, &matrix->cells[r * matrix->cols + c], has_samples));
        }
        bw_json_add(rows, row);
    }
    bw_json_set(object, "key", bw_json_made(key));
    bw_json_set(object, "title", bw_json_text(matrix->title));
    bw_json_set(object, "rows", json_integer(matrix->rows));
    bw_json_set(object, "cols", json_integer(matrix->cols));
    if (matrix->row_labels != NULL) {
        bw_json_set(object, "row_labels", labels_of(matrix));
    }
    bw_json_set(object, "summary", summary_of(matrix));
    if (matrix->outlier_count > 0) {
        bw_json_set(object, "outliers", bw_json_outliers(result, matrix));
    }
    bw_json_set(object, "cells", rows);
    free(key);
    return object;
}

static void set_definition(json_t *object, const struct bw_testcase *tc)
{
    char text[1024];

    (void)bw_words_definition(tc, text, sizeof text);
    bw_json_set(object, "unit", bw_json_text(bw_words_unit(tc)));
    bw_json_set(object, "engine", bw_json_text(bw_engine_name(tc->engine)));
    bw_json_set(object, "definition", bw_json_text(text));
}

/* By what memory travelled between ranks, and what they have cost each other. */
static json_t *ranks_of(const struct bw_testcase_result *result)
{
    json_t *object = json_object();

    bw_json_set(object, "memory", bw_json_text(result->shared_by));
    bw_json_set(object, "start_skew_ns", bw_json_real(result->skew_ns));
    bw_json_set(object, "collectives", bw_json_count(result->use.collectives));
    bw_json_set(object, "bytes", bw_json_count(result->use.bytes));
    bw_json_set(object, "seconds", bw_json_real(result->use.seconds));
    return object;
}

void bw_json_set_phases(json_t *object, const struct bw_phases *phases)
{
    json_t *seconds = NULL;

    for (int i = 0; i < PHASE_COUNT; i++) {
        if (phases->s[i] > 0) {
            seconds = seconds == NULL ? json_object() : seconds;
            bw_json_set(seconds, bw_phase_name((enum bw_phase)i), bw_json_real(phases->s[i]));
        }
    }
    if (seconds != NULL) {
        bw_json_set(object, "phase_seconds", seconds);
    }
}

json_t *bw_json_testcase(const struct bw_testcase_result *result, bool has_samples)
{
    json_t *object = json_object();
    json_t *matrices = json_array();
    char *reason = bw_words_reason(result);

    for (int m = 0; m < result->matrix_count; m++) {
        bw_json_add(matrices, matrix_of(result, &result->matrices[m], has_samples));
    }
    bw_json_set(object, "index", result->tc != NULL ? json_integer(result->index) : json_null());
    bw_json_set(object, "name", bw_json_text(result->name));
    bw_json_set(object, "verdict", bw_json_text(bw_words_verdict(result->verdict)));
    bw_json_set(object, "reason", bw_words_has_reason(result) ? bw_json_made(reason) : json_null());
    if (result->tc != NULL) {
        set_definition(object, result->tc);
    }
    bw_json_set(object, "buffer_bytes",
                result->tc != NULL && result->buffer_bytes > 0 ? bw_json_count(result->buffer_bytes)
                                                               : json_null());
    bw_json_set(object, "wall_seconds", bw_json_real(result->wall_seconds));
    bw_json_set_phases(object, &result->phases);
    if (result->shared_by != NULL) {
        bw_json_set(object, "ranks", ranks_of(result));
    }
    bw_json_set(object, "matrices", matrices);
    if (result->suite != NULL) {
        bw_json_set(object, "suite_case", bw_json_suite_case(result->suite));
    }
    if (result->shmem != NULL) {
        bw_json_set(object, "operator", bw_json_operator(result));
    }
    if (result->records != NULL) {
        bw_json_set(object, "state", bw_json_state(result));
    }
    free(reason);
    return object;
}
