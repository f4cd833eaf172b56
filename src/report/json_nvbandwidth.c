/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Root `nvbandwidth`: members and types that its clients rely on. Some reject
 * the whole document for a null in a matrix, an empty matrix, or a status that
 * they do not know.
 */
#include "bwtool/log.h"
#include "bwtool/text.h"
#include "json_document.h"
#include "json_value.h"
#include "words.h"

#include <stdlib.h>

static const char *status_of(enum bw_verdict verdict)
{
    switch (verdict) {
    case VERDICT_PASSED:
    case VERDICT_UNRELIABLE:
        return "Passed";
    case VERDICT_WAIVED:
        return "Waived";
    case VERDICT_FAILED:
    case VERDICT_NOT_FOUND:
    case VERDICT_NOT_RUN:
        break;
    }
    return "ERROR";
}

/* The member that holds the reason: `error` makes clients fail. */
static const char *reason_key(enum bw_verdict verdict)
{
    switch (verdict) {
    case VERDICT_WAIVED:
        return "reason";
    case VERDICT_PASSED:
    case VERDICT_UNRELIABLE:
        return "warning";
    case VERDICT_FAILED:
    case VERDICT_NOT_FOUND:
    case VERDICT_NOT_RUN:
        break;
    }
    return "error";
}

static json_t *matrix_of(const struct bw_matrix *matrix)
{
    json_t *rows = json_array();
    char text[40];

    for (int r = 0; r < matrix->rows; r++) {
        json_t *row = json_array();

        for (int c = 0; c < matrix->cols; c++) {
            const struct bw_cell *cell = &matrix->cells[r * matrix->cols + c];

            snprintf(text, sizeof text, "%g", cell->value);
            bw_json_add(row, bw_json_text(bw_cell_has_value(cell) ? text : "N/A"));
        }
        bw_json_add(rows, row);
    }
    return rows;
}

static void set_values(json_t *entry, const struct bw_matrix *matrix, bool verbose)
{
    const struct bw_summary summary = bw_matrix_summary(matrix);

    bw_json_set(entry, "bandwidth_description", bw_json_text(matrix->title));
    if (matrix->rows > 0 && matrix->cols > 0) {
        bw_json_set(entry, "bandwidth_matrix", matrix_of(matrix));
    }
    if (summary.n == 0) {
        return;
    }
    bw_json_set(entry, "sum", bw_json_real(summary.sum));
    if (verbose) {
        bw_json_set(entry, "min", bw_json_real(summary.min));
        bw_json_set(entry, "max", bw_json_real(summary.max));
        bw_json_set(entry, "average", bw_json_real(summary.average));
    }
}

static json_t *testcase_of(const struct bw_testcase_result *result, bool verbose)
{
    json_t *entry = json_object();
    char *reason = bw_words_reason(result);

    bw_json_set(entry, "name", bw_json_text(result->name));
    bw_json_set(entry, "status", bw_json_text(status_of(result->verdict)));
    if (bw_words_has_reason(result)) {
        bw_json_set(entry, reason_key(result->verdict), bw_json_made(reason));
    }
    if (result->matrix_count > 0) {
        /* Of a two-way testcase the last one, the total. */
        set_values(entry, &result->matrices[result->matrix_count - 1], verbose);
    }
    free(reason);
    return entry;
}

static json_t *device_list(const struct bw_run *run)
{
    json_t *list = json_array();

    for (int i = 0; i < run->device_count; i++) {
        const struct bw_device_info *device = &run->devices[i];
        char *text = bw_text_format("%d: %s (%s): (%s)", device->ordinal, device->name, device->pci,
                                    device->host);

        bw_json_add(list, bw_json_made(text));
        free(text);
    }
    return list;
}

/*
 * What ended the run, or the first failure: in nvbandwidth each one ends the
 * run, and clients look here for it.
 */
static void set_error(json_t *root, const struct bw_run *run)
{
    if (bw_run_error(run) != NULL) {
        bw_json_set(root, "error", bw_json_text(bw_run_error(run)));
        return;
    }
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];

        if (result->verdict == VERDICT_FAILED || result->verdict == VERDICT_NOT_RUN) {
            char *reason = bw_words_reason(result);
            char *error = reason == NULL ? NULL : bw_text_format("%s: %s", result->name, reason);

            bw_json_set(root, "error", bw_json_made(error));
            free(reason);
            free(error);
            return;
        }
    }
}

static const char *last_warning(void)
{
    for (size_t i = bw_log_count(); i-- > 0;) {
        if (bw_log_level_at(i) == LOG_WARNING) {
            return bw_log_text_at(i);
        }
    }
    return NULL;
}

json_t *bw_json_nvbandwidth(const struct bw_run *run)
{
    json_t *root = json_object();
    json_t *testcases = json_array();
    char *version = bw_text_format("%s (nvbandwidth v0.8 compatible)", bw_words_version);

    for (size_t i = 0; i < run->testcase_count; i++) {
        bw_json_add(testcases, testcase_of(&run->testcases[i], run->verbose));
    }
    bw_json_set(root, "CUDA Runtime Version", json_integer(run->cuda_version));
    bw_json_set(root, "Driver Version",
                bw_json_text(run->driver_version[0] != '\0' ? run->driver_version : "unknown"));
    if (run->device_count > 0) {
        bw_json_set(root, "GPU Device list", device_list(run));
    }
    set_error(root, run);
    bw_json_set(root, "git_version", bw_json_text(bw_words_git_version));
    bw_json_set(root, "testcases", testcases);
    bw_json_set(root, "version", bw_json_made(version));
    if (last_warning() != NULL) {
        bw_json_set(root, "warning", bw_json_text(last_warning()));
    }
    free(version);
    return root;
}
