/* SPDX-License-Identifier: Apache-2.0 */
#include "operators.h"

#include "baseline.h"

#include "bwtool/log.h"
#include "bwtool/multicast.h"
#include "bwtool/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t bw_operator_suite_bytes(const struct bw_options *options)
{
    return options->has_buffer_bytes ? options->buffer_bytes : BW_SUITE_L_BYTES;
}

/* The options' words were looked at when they were parsed. */
struct bw_shmem_request bw_operator_request(const struct bw_options *options,
                                            const struct bw_suite_case *suite)
{
    struct bw_shmem_request request = {
        .bytes_min = options->buffer_bytes, .bytes_max = options->buffer_bytes, .factor = 2};

    request.profile = options->profile;
    request.no_multicast = options->no_multicast ? "multicast is switched off by --no-multicast"
                           : bw_multicast_is_off()
                               ? "multicast is switched off by NCCL_NVLS_ENABLE=0"
                               : NULL;
    if (options->sweep.is_given) {
        request.bytes_min = options->sweep.min;
        request.bytes_max = options->sweep.max;
        request.factor = options->sweep.factor;
        request.is_swept = true;
    }
    if (options->placement != NULL) {
        (void)bw_placement_find(options->placement, &request.placement);
    }
    if (options->algorithm != NULL) {
        (void)bw_algorithm_find(options->algorithm, &request.algorithm);
    }
    if (options->dtype != NULL) {
        request.has_dtype = bw_dtype_find(options->dtype, &request.dtype);
    }
    for (size_t i = 0; i < options->ctas.count && request.ctas_count < BW_SHMEM_GRIDS_MAX; i++) {
        request.ctas[request.ctas_count++] = (unsigned)strtoul(options->ctas.words[i], NULL, 10);
    }
    request.route = (struct bw_route_shape){.tokens = (uint32_t)options->tokens,
                                            .hidden = (uint32_t)options->hidden,
                                            .top_k = (uint32_t)options->top_k,
                                            .experts = (uint32_t)options->experts,
                                            .skew = options->skew,
                                            .seed = options->route_seed};
    if (suite != NULL) {
        bw_suite_set(suite, bw_operator_suite_bytes(options), &request);
    }
    return request;
}

char *bw_operator_waiver(const struct bw_session *session, const struct bw_options *options,
                         const struct bw_testcase *tc, const struct bw_suite_case *suite)
{
    const struct bw_shmem_request request = bw_operator_request(options, suite);
    bool is_usage = false;
    char *reason = bw_shmem_waiver(session, bw_operator_of(tc), &request, &is_usage);

    if (is_usage) {
        free(reason);
        return NULL;
    }
    return reason;
}

bool bw_operator_is_misuse(const struct bw_options *options, const struct bw_testcase *tc,
                           const struct bw_suite_case *suite, char **reason)
{
    const struct bw_shmem_request request = bw_operator_request(options, suite);

    return bw_shmem_is_misuse(bw_operator_of(tc), &request, reason);
}

uint64_t bw_operator_window_bytes(const struct bw_session *session,
                                  const struct bw_options *options, const struct bw_testcase *tc,
                                  const struct bw_suite_case *suite)
{
    const struct bw_shmem_request request = bw_operator_request(options, suite);

    return bw_shmem_window_bytes(session, bw_operator_of(tc), &request);
}

uint64_t bw_operator_multicast_bytes(const struct bw_session *session,
                                     const struct bw_options *options, const struct bw_testcase *tc,
                                     const struct bw_suite_case *suite)
{
    const struct bw_shmem_request request = bw_operator_request(options, suite);

    return bw_shmem_multicast_bytes(session, bw_operator_of(tc), &request);
}

/* "64 MiB", "1000 B" */
char *bw_operator_size_text(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;

    while (unit < 4 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    return bw_text_format("%llu%s", (unsigned long long)bytes, units[unit]);
}

/* A value without a verdict that can be relied on, where that was to come from the baseline. */
static void doubt_baseline(const struct bw_shmem_point *point, struct bw_cell *cell)
{
    const char *doubt =
        point->baseline == NULL
            ? ""
            : bw_baseline_doubt(point->baseline, bw_baseline_class_for(point->placement));

    if (cell->is_present && doubt[0] != '\0') {
        bw_cell_set_doubt(cell, bw_text_format("its baseline: %s", doubt));
    }
}

/* What the point is worth in the one matrix: its bus bandwidth, or its latency in ns. */
static void fill_cell(const struct bw_shmem_point *point, struct bw_cell *cell)
{
    const bool is_latency = bw_shmem_formula(point->row->op)->mode == SHMEM_MODE_NONE;
    const struct bw_shmem_figures *f = &point->figures;

    cell->status = point->status == BW_WAIVED ? BW_OK : point->status;
    cell->reason = point->reason == NULL ? NULL : strdup(point->reason);
    cell->reverse_gb_per_s = NAN;
    cell->buffer_bytes = f->payload_bytes;
    cell->bytes = is_latency ? 1 : f->payload_bytes;
    cell->copies = point->iterations;
    cell->stats.n = 0;
    if (point->status != BW_OK) {
        return;
    }
    cell->value = is_latency         ? f->kernel_us * 1e3
                  : point->ranks > 1 ? f->kernel_bus_gb_per_s
                                     : f->kernel_algo_gb_per_s;
    cell->is_present = isfinite(cell->value) && cell->value > 0;
    cell->seconds = f->kernel_us * 1e-6 * (double)point->iterations * (double)point->kernel_us.n;
    doubt_baseline(point, cell);
}

static enum bw_status shape(struct bw_testcase_result *result)
{
    const struct bw_operator *row = bw_operator_of(result->tc);
    const struct bw_shmem_result *shmem = result->shmem;
    struct bw_matrix *matrix = &result->matrices[0];
    const bool is_latency = bw_shmem_formula(row->op)->mode == SHMEM_MODE_NONE;

    result->matrix_count = 1;
    matrix->suffix = "";
    snprintf(matrix->title, sizeof(matrix->title), "%s, %s", bw_shmem_formula(row->op)->name,
             is_latency ? "latency (ns)" : "kernel bus bandwidth (GB/s)");
    matrix->rows = (int)shmem->count;
    matrix->cols = 1;
    matrix->cells = calloc(shmem->count + 1, sizeof(*matrix->cells));
    matrix->row_labels = calloc(shmem->count + 1, sizeof(*matrix->row_labels));
    if (matrix->cells == NULL || matrix->row_labels == NULL) {
        matrix->rows = 0; /* who sees a row takes its cell for there */
        return bw_errno("no memory for the results of %s", result->name);
    }
    for (size_t i = 0; i < shmem->count; i++) {
        fill_cell(&shmem->points[i], &matrix->cells[i]);
        matrix->row_labels[i] = bw_operator_size_text(shmem->points[i].figures.payload_bytes);
        if (matrix->row_labels[i] == NULL) {
            return bw_errno("no memory for the results of %s", result->name);
        }
    }
    return BW_OK;
}

void bw_operator_note(const struct bw_options *options, const struct bw_selection *selection)
{
    for (size_t i = 0; i < selection->count; i++) {
        const int index = selection->choices[i].index;

        if (index >= 0 && bw_operator_of(bw_all_at((size_t)index)) != NULL) {
            return;
        }
    }
    if (options->profile != PROFILE_OFF) {
        bw_note("--profile: frames are of operators (-p shmem_), and none is among the testcases");
    }
}

/* Why it contradicts itself, logged; BW_OK if it does not. */
static enum bw_status check_request(const struct bw_session *session,
                                    const struct bw_shmem_request *request,
                                    const struct bw_testcase_result *result)
{
    bool is_usage = false;
    char *reason = bw_shmem_waiver(session, bw_operator_of(result->tc), request, &is_usage);

    if (reason == NULL) {
        return BW_OK;
    }
    bw_log_mark();
    bw_error("%s: %s", result->name, reason);
    free(reason);
    /* That it is waived would have been known before, but for want of memory. */
    return is_usage ? BW_ERR_USAGE : BW_ERR_MEMORY;
}

enum bw_status bw_operator_get_ready(const struct bw_session *session,
                                     const struct bw_options *options,
                                     struct bw_testcase_result *result)
{
    const struct bw_shmem_request request = bw_operator_request(options, result->suite);
    enum bw_status st = BW_OK;

    TRY(check_request(session, &request, result));
    result->shmem = calloc(1, sizeof(*result->shmem));
    if (result->shmem == NULL) {
        return bw_errno("no memory for the results of %s", result->name);
    }
    result->shmem->has_perf_lines = options->perf;
out:
    return st;
}

/* Watched from the first of its points to the last, and none is taken again. */
static void watch(struct bw_session *session, const struct bw_testcase_result *result)
{
    const int ranks = result->suite != NULL ? result->suite->ranks : 0;

    if (session->ranks != NULL) {
        bw_state_whole(session->state, session->own, 1);
    } else {
        bw_state_whole(session->state, 0, ranks > 0 ? ranks : session->gpus.count);
    }
}

/*
 * What the GPUs went through while the points were measured: then none is held
 * against a threshold. Collective, whatever `st` is: another rank may have another.
 */
static void doubt_all(struct bw_session *session, enum bw_status st,
                      struct bw_testcase_result *result)
{
    char text[BW_STATE_TEXT_BYTES];
    const char *spoiled = bw_state_spoiled_all(st == BW_OK ? session->state : NULL, session->world,
                                               text, sizeof(text));
    const struct bw_matrix *matrix = &result->matrices[0];

    if (spoiled == NULL) {
        return;
    }
    bw_log(bw_world_is_root(session->world) ? LOG_WARNING : LOG_VERBOSE, "%s: unreliable: %s",
           result->name, spoiled);
    for (size_t i = 0; i < result->shmem->count; i++) {
        result->shmem->points[i].pass = SHMEM_PASS_NA;
    }
    for (int i = 0; i < matrix->rows; i++) {
        if (matrix->cells[i].is_present) {
            bw_cell_set_doubt(&matrix->cells[i], strdup(spoiled));
        }
    }
}

/* Exit status 4 has a line of its own, whatever the format. */
static void warn_if_below(const struct bw_session *session, const struct bw_testcase_result *result)
{
    const struct bw_shmem_point *first = NULL;
    size_t count = 0;
    char *size = NULL;

    for (size_t i = 0; i < result->shmem->count; i++) {
        const struct bw_shmem_point *p = &result->shmem->points[i];

        if (p->status == BW_OK && p->pass == SHMEM_BELOW) {
            first = first == NULL ? p : first;
            count++;
        }
    }
    if (count == 0 || !bw_world_is_root(session->world)) {
        return;
    }
    size = bw_operator_size_text(first->figures.payload_bytes);
    bw_warn("%s: below its threshold in %zu of %zu cases, first at %s: %.2f GB/s on the bus",
            result->name, count, result->shmem->count, size != NULL ? size : "?",
            first->figures.kernel_bus_gb_per_s);
    free(size);
}

enum bw_status bw_operator_run(struct bw_session *session, const struct bw_options *options,
                               const struct bw_run *run, struct bw_testcase_result *result)
{
    const struct bw_shmem_request request = bw_operator_request(options, result->suite);
    enum bw_status st = BW_OK;
    enum bw_status shaped = BW_OK;

    if (bw_baseline_is_alone(run)) {
        return bw_baseline_report_alone(options, run, result);
    }
    watch(session, result);
    st = bw_shmem_measure_all(session, bw_operator_of(result->tc), &request, &run->sampling,
                              result->shmem);
    if (run->baseline != NULL) {
        bw_baseline_join(run->baseline, result->shmem);
    }
    shaped = shape(result);
    st = st != BW_OK ? st : shaped;
    doubt_all(session, st, result);
    warn_if_below(session, result);
    return st;
}

enum bw_status bw_operator_print_plan(const struct bw_testcase *tc,
                                      const struct bw_options *options, const struct bw_gpus *gpus,
                                      int ranks)
{
    const struct bw_shmem_request request = bw_operator_request(options, NULL);

    return bw_shmem_print_plan(bw_operator_of(tc), &request, gpus, ranks, stdout);
}
