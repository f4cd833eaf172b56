/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/result.h"

#include <math.h>

bool bw_cell_has_value(const struct bw_cell *cell)
{
    return cell->is_present && isfinite(cell->value);
}

const char *bw_cell_doubt(const struct bw_cell *cell)
{
    if (!cell->is_doubtful) {
        return NULL;
    }
    return cell->doubt != NULL ? cell->doubt : "not to be trusted, and no memory to say why";
}

struct bw_summary bw_matrix_summary(const struct bw_matrix *matrix)
{
    struct bw_summary summary = {.sum = NAN, .min = NAN, .max = NAN, .average = NAN, .cv = NAN};
    const size_t cells = (size_t)matrix->rows * (size_t)matrix->cols;

    for (size_t i = 0; i < cells; i++) {
        const struct bw_cell *cell = &matrix->cells[i];

        if (!bw_cell_has_value(cell)) {
            continue;
        }
        summary.sum = summary.n == 0 ? cell->value : summary.sum + cell->value;
        summary.min = fmin(summary.min, cell->value); /* fmin and fmax pass over NAN */
        summary.max = fmax(summary.max, cell->value);
        summary.cv = fmax(summary.cv, cell->stats.n > 1 ? cell->stats.cv : NAN);
        summary.n++;
    }
    if (summary.n > 0) {
        summary.average = summary.sum / (double)summary.n;
    }
    return summary;
}

enum bw_verdict bw_result_verdict(const struct bw_testcase_result *result)
{
    enum bw_verdict verdict = result->status == BW_OK ? VERDICT_PASSED : VERDICT_FAILED;
    size_t values = 0;
    size_t waived = 0;

    if (result->shmem != NULL && result->shmem->count > 0 && result->shmem->points[0].is_unrun) {
        return VERDICT_NOT_RUN; /* nor, then, any that would have followed */
    }
    for (int m = 0; m < result->matrix_count; m++) {
        const struct bw_matrix *matrix = &result->matrices[m];

        for (int i = 0; i < matrix->rows * matrix->cols; i++) {
            const struct bw_cell *cell = &matrix->cells[i];

            waived += cell->status == BW_WAIVED;
            values += cell->is_present;
            /* Whatever was returned: a cell that could not be measured is a failure. */
            if ((cell->status != BW_OK && cell->status != BW_WAIVED) ||
                (cell->is_present && !bw_cell_has_value(cell))) {
                return VERDICT_FAILED;
            }
            if (cell->is_doubtful && verdict == VERDICT_PASSED) {
                verdict = VERDICT_UNRELIABLE;
            }
        }
    }
    return verdict == VERDICT_PASSED && waived > 0 && values == 0 ? VERDICT_WAIVED : verdict;
}

/* What was asked for contradicts itself: a failure of whoever asked. */
static bool is_misuse(const struct bw_testcase_result *result)
{
    return result->verdict == VERDICT_FAILED && result->status == BW_ERR_USAGE;
}

static bool has_failed(const struct bw_run *run)
{
    for (size_t i = 0; i < run->testcase_count; i++) {
        if (run->testcases[i].verdict == VERDICT_FAILED && !is_misuse(&run->testcases[i])) {
            return true;
        }
    }
    return false;
}

static bool has_misuse(const struct bw_run *run)
{
    for (size_t i = 0; i < run->testcase_count; i++) {
        if (is_misuse(&run->testcases[i])) {
            return true;
        }
    }
    return false;
}

/* An operator below the floor of utilization. */
static bool is_below(const struct bw_run *run)
{
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_shmem_result *shmem = run->testcases[i].shmem;

        for (size_t k = 0; shmem != NULL && k < shmem->count; k++) {
            if (shmem->points[k].status == BW_OK && shmem->points[k].pass == SHMEM_BELOW) {
                return true;
            }
        }
    }
    return false;
}

static bool has_verdict(const struct bw_run *run, enum bw_verdict verdict)
{
    for (size_t i = 0; i < run->testcase_count; i++) {
        if (run->testcases[i].verdict == verdict) {
            return true;
        }
    }
    return false;
}

int bw_run_exit_status(const struct bw_run *run, bool no_gpu, bool usage)
{
    const bool is_usage = usage || has_verdict(run, VERDICT_NOT_FOUND) || has_misuse(run);

    if (has_failed(run)) {
        return 1;
    }
    if (no_gpu) {
        return 3;
    }
    /* Not all that was asked for ran, and no missing GPU explains it. */
    if (has_verdict(run, VERDICT_NOT_RUN) || (bw_run_error(run) != NULL && !usage)) {
        return 1;
    }
    if (is_usage) {
        return 2;
    }
    if (is_below(run)) {
        return 4;
    }
    return has_verdict(run, VERDICT_UNRELIABLE) ? 5 : 0;
}
