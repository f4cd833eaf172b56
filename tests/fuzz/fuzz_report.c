/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes where a name or a reason is, any bits where a value is: the document is JSON. */
#include "fuzz.h"

#include "bwtool/log.h"
#include "bwtool/report.h"

#include <jansson.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_be_quiet();
    return 0;
}

static void check(const struct bw_report_ops *ops, struct bw_run *run, bool is_json)
{
    char *text = NULL;
    size_t bytes = 0;
    json_t *document = NULL;
    struct bw_report report = {.out = open_memstream(&text, &bytes), .run = run};

    MUST(report.out != NULL);
    ops->begin(&report);
    ops->devices(&report);
    for (size_t i = 0; i < run->testcase_count; i++) {
        ops->running(&report, run->testcases[i].name);
        ops->testcase(&report, &run->testcases[i]);
    }
    ops->end(&report);
    fclose(report.out);
    if (is_json) {
        document = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        MUST(json_is_object(document) && json_object_get(document, "bwtool") != NULL);
        json_decref(document);
    }
    free(text);
}

/* A matrix of one row. */
static void shape(struct bw_testcase_result *result, const uint8_t *data, size_t size)
{
    struct bw_matrix *matrix = &result->matrices[0];
    const int cols = size == 0 ? 0 : data[0] % 9;

    matrix->rows = cols > 0;
    matrix->cols = cols;
    matrix->cells = calloc((size_t)cols + 1, sizeof(*matrix->cells));
    matrix->row_labels = calloc(2, sizeof(*matrix->row_labels));
    MUST(matrix->cells != NULL && matrix->row_labels != NULL);
    matrix->row_labels[0] = cols > 0 ? strdup("0") : NULL; /* as many labels as rows */
    result->matrix_count = 1;
    for (int i = 0; i < cols; i++) {
        struct bw_cell *cell = &matrix->cells[i];
        const size_t at = 1 + 8 * (size_t)i;

        cell->is_present = at + 8 <= size && data[at] % 4 != 0;
        if (cell->is_present) {
            memcpy(&cell->value, data + at, sizeof(cell->value));
        } else {
            cell->status = BW_ERR_CUDA;
            cell->reason = fuzz_text(data, size < 40 ? size : 40);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bw_run run;
    struct bw_testcase_result *result = NULL;
    char *text = fuzz_text(data, size);
    char *argv[] = {text, text, NULL};

    bw_run_init(&run, 2, argv);
    run.error = size % 3 == 0 ? fuzz_text(data, size) : NULL;
    result = bw_run_add(&run, size % 2 == 0 ? "device_local_copy" : text);
    MUST(result != NULL);
    result->verdict = result->tc == NULL ? VERDICT_NOT_FOUND : VERDICT_FAILED;
    result->reason = fuzz_text(data, size);
    if (result->tc != NULL) {
        shape(result, data, size);
    }
    bw_error("%s", text);
    check(&bw_report_json, &run, true);
    check(&bw_report_text, &run, false);
    check(&bw_report_perf, &run, false);
    bw_run_free(&run);
    bw_log_fini();
    free(text);
    return 0;
}
