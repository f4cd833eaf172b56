/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/result.h"

#include "bwtool/log.h"
#include "bwtool/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static void say_started(char *text, size_t room)
{
    const time_t now = time(NULL);
    struct tm parts = {0};

    if (gmtime_r(&now, &parts) != NULL) {
        strftime(text, room, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
}

void bw_run_init(struct bw_run *run, int argc, char **argv)
{
    struct utsname names = {0};

    memset(run, 0, sizeof *run);
    run->argc = argc;
    run->argv = argv;
    run->rank_count = 1;
    run->sampling.corrupt_word = UINT64_MAX;
    if (gethostname(run->host, sizeof run->host - 1) != 0) {
        snprintf(run->host, sizeof run->host, "unknown");
    }
    if (uname(&names) == 0) {
        snprintf(run->system, sizeof run->system, "%.80s %.80s %.80s", names.sysname, names.release,
                 names.machine);
    }
    if (getcwd(run->workdir, sizeof run->workdir) == NULL) {
        run->workdir[0] = '\0'; /* deleted, or longer than any sane path: not worth a failure */
    }
    say_started(run->started, sizeof run->started);
}

static void matrix_free(struct bw_matrix *matrix)
{
    const size_t rows = (size_t)matrix->rows;
    const size_t cells = rows * (size_t)matrix->cols;

    for (size_t i = 0; matrix->cells != NULL && i < cells; i++) {
        bw_cell_close(&matrix->cells[i]);
    }
    for (size_t i = 0; matrix->row_labels != NULL && i < rows; i++) {
        free(matrix->row_labels[i]);
    }
    free(matrix->cells);
    free(matrix->row_labels);
    *matrix = (struct bw_matrix){0};
}

void bw_result_drop(struct bw_testcase_result *result)
{
    for (int m = 0; m < result->matrix_count; m++) {
        matrix_free(&result->matrices[m]);
    }
    result->matrix_count = 0;
    if (result->shmem != NULL) {
        bw_shmem_result_free(result->shmem);
        free(result->shmem);
    }
    result->shmem = NULL;
}

static void testcase_result_free(struct bw_testcase_result *result)
{
    bw_result_drop(result);
    free(result->name);
    free(result->reason);
    free(result->records);
}

void bw_run_set_error(struct bw_run *run, char *reason)
{
    run->has_error = true;
    if (run->error == NULL) {
        run->error = reason;
    } else {
        free(reason);
    }
}

const char *bw_run_error(const struct bw_run *run)
{
    if (run->error != NULL) {
        return run->error;
    }
    return run->has_error ? "it failed, and there was no memory to say why" : NULL;
}

void bw_run_free(struct bw_run *run)
{
    for (size_t i = 0; i < run->testcase_count; i++) {
        testcase_result_free(&run->testcases[i]);
    }
    free(run->testcases);
    free(run->devices);
    free(run->nodes);
    free(run->peer);
    free(run->error);
    if (run->baseline != NULL) {
        bw_baseline_free(run->baseline);
        free(run->baseline);
    }
    memset(run, 0, sizeof *run);
}

struct bw_testcase_result *bw_run_add(struct bw_run *run, const char *name)
{
    struct bw_testcase_result *result = NULL;
    char *copy = strdup(name);

    if (copy == NULL) {
        return NULL;
    }
    if (run->testcase_count == run->testcase_room) {
        const size_t room = run->testcase_room > 0 ? 2 * run->testcase_room : 64;
        struct bw_testcase_result *more = realloc(run->testcases, room * sizeof *more);

        if (more == NULL) {
            free(copy);
            return NULL;
        }
        run->testcases = more;
        run->testcase_room = room;
    }
    result = &run->testcases[run->testcase_count++];
    memset(result, 0, sizeof *result);
    result->name = copy;
    result->index = bw_all_find(name);
    result->tc = result->index < 0 ? NULL : bw_all_at((size_t)result->index);
    return result;
}

/* "0->2": the ends of the copy whose rate the row is. Without a copy, the row's number. */
static char *bisect_label(const struct bw_plan *plan, int row)
{
    const struct bw_launch *launch = plan->launch_count > 0 ? &plan->launches[0] : NULL;

    if (launch != NULL && (size_t)row < launch->lane_count) {
        const struct bw_lane_plan *lane = &plan->lanes[launch->lane + (size_t)row];

        if (lane->step_count > 0) {
            const struct bw_step *step = &plan->steps[lane->step];

            return bw_text_format("%d->%d", step->src.id, step->dst.id);
        }
    }
    return bw_text_format("%d", row);
}

static enum bw_status matrix_shape(struct bw_matrix *matrix, const struct bw_plan *plan, int number)
{
    const size_t rows = (size_t)plan->rows;
    const size_t cells = rows * (size_t)plan->cols;

    matrix->suffix = bw_testcase_suffix(plan->tc, number);
    (void)bw_testcase_title(plan->tc, number, matrix->title, sizeof matrix->title);
    matrix->rows = plan->rows;
    matrix->cols = plan->cols;
    matrix->cells = calloc(cells > 0 ? cells : 1, sizeof *matrix->cells);
    if (matrix->cells == NULL) {
        return BW_ERR_MEMORY;
    }
    if (plan->tc->shape != SHAPE_BISECT) {
        return BW_OK;
    }
    matrix->row_labels = calloc(rows > 0 ? rows : 1, sizeof *matrix->row_labels);
    if (matrix->row_labels == NULL) {
        return BW_ERR_MEMORY;
    }
    for (int r = 0; r < plan->rows; r++) {
        matrix->row_labels[r] = bisect_label(plan, r);
        if (matrix->row_labels[r] == NULL) {
            return BW_ERR_MEMORY;
        }
    }
    return BW_OK;
}

enum bw_status bw_result_shape(struct bw_testcase_result *result, const struct bw_plan *plan)
{
    const int count = bw_testcase_matrix_count(plan->tc);

    for (int m = 0; m < count; m++) {
        if (matrix_shape(&result->matrices[m], plan, m) != BW_OK) {
            bw_error("%s: not enough host memory for its results", result->name);
            for (int i = 0; i <= m; i++) {
                matrix_free(&result->matrices[i]);
            }
            return BW_ERR_MEMORY;
        }
    }
    result->matrix_count = count; /* not before: who sees a matrix takes its cells for there */
    return BW_OK;
}

void bw_result_set_reason(struct bw_testcase_result *result, const char *reason)
{
    free(result->reason);
    result->reason = reason == NULL ? NULL : strdup(reason);
}

void bw_result_set_buffer_bytes(struct bw_testcase_result *result)
{
    for (int i = 0;
         result->matrix_count != 0 && i < result->matrices[0].rows * result->matrices[0].cols;
         i++) {
        if (result->matrices[0].cells[i].is_present) {
            result->buffer_bytes = result->matrices[0].cells[i].buffer_bytes;
            return;
        }
    }
}

/* The more, the sooner it stands for the testcase. A failure that lacks the memory for its reason
 * gives way to another failure only. */
static int weight_of(const struct bw_cell *cell)
{
    if (cell->status != BW_OK && cell->status != BW_WAIVED) {
        return cell->reason != NULL ? 4 : 3;
    }
    return cell->is_doubtful ? 2 : cell->reason != NULL;
}

const char *bw_result_first_reason(const struct bw_testcase_result *result, int *row, int *column)
{
    const char *reason = NULL;
    int most = 0;

    for (int m = 0; m < result->matrix_count; m++) {
        const struct bw_matrix *matrix = &result->matrices[m];

        for (int i = 0; i < matrix->rows * matrix->cols; i++) {
            const struct bw_cell *cell = &matrix->cells[i];

            if (weight_of(cell) <= most) {
                continue;
            }
            most = weight_of(cell);
            reason = most == 2 ? bw_cell_doubt(cell) : cell->reason;
            if (row != NULL && column != NULL) {
                *row = i / matrix->cols;
                *column = i % matrix->cols;
            }
        }
    }
    return reason;
}
