/* SPDX-License-Identifier: Apache-2.0 */
#include "text_matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_WIDTH = 9, LABEL_WIDTH = 2, NUMBER_BYTES = 320 };

/* A double in %.2f has at most 312 characters. */
static int cell_text(char text[static NUMBER_BYTES], const struct bw_cell *cell)
{
    return bw_cell_has_value(cell) ? snprintf(text, NUMBER_BYTES, "%.2f", cell->value)
                                   : snprintf(text, NUMBER_BYTES, "N/A");
}

static int label_width(const struct bw_matrix *matrix)
{
    int width = matrix->row_labels != NULL ? 0 : snprintf(NULL, 0, "%2d", matrix->rows - 1);

    for (int r = 0; matrix->row_labels != NULL && r < matrix->rows; r++) {
        const int length = (int)strlen(matrix->row_labels[r]);

        width = length > width ? length : width;
    }
    return width > LABEL_WIDTH ? width : LABEL_WIDTH;
}

/* A column is as wide as its widest cell, so that cells never touch and stay in line. */
static int column_width(const struct bw_matrix *matrix, int column)
{
    char text[NUMBER_BYTES];
    int width = CELL_WIDTH;

    for (int r = 0; r < matrix->rows; r++) {
        const int length = cell_text(text, &matrix->cells[r * matrix->cols + column]);

        width = length > width ? length : width;
    }
    return width;
}

static void print_row(FILE *out, const struct bw_matrix *matrix, int row)
{
    char text[NUMBER_BYTES];
    const int width = label_width(matrix);

    if (matrix->row_labels != NULL) {
        fprintf(out, "%*s", width, matrix->row_labels[row]);
    } else {
        fprintf(out, "%*d", width, row);
    }
    for (int c = 0; c < matrix->cols; c++) {
        cell_text(text, &matrix->cells[row * matrix->cols + c]);
        fprintf(out, " %*s", column_width(matrix, c), text);
    }
    fputc('\n', out);
}

void bw_text_matrix(FILE *out, const struct bw_matrix *matrix)
{
    fprintf(out, "%s\n", matrix->title);
    if (matrix->rows > 0 && matrix->cols > 0) {
        fprintf(out, "%*s", label_width(matrix), "");
        for (int c = 0; c < matrix->cols; c++) {
            fprintf(out, " %*d", column_width(matrix, c), c);
        }
        fputc('\n', out);
        for (int r = 0; r < matrix->rows; r++) {
            print_row(out, matrix, r);
        }
    }
    fputc('\n', out);
}

/* An end of a copy as sample lines name it. */
static void print_end(FILE *out, const struct bw_testcase *tc, enum bw_mem mem, int id)
{
    if (bw_testcase_is_host(tc)) {
        fprintf(out, "Node %d", id);
    } else if (mem == MEM_HOST) {
        fputs("Host", out);
    } else if (mem == MEM_MULTICAST) {
        fputs("Multicast", out);
    } else {
        fprintf(out, "%s %d", bw_testcase_is_multinode(tc) ? "Multinode node" : "Device", id);
    }
}

/* "A -> B", or the words for values that several copies make together. */
void bw_text_ends(FILE *out, const struct bw_testcase *tc, const struct bw_matrix *matrix, int row,
                  int col, bool is_reverse)
{
    const bool is_to_col = (tc->flow == FLOW_TO_COL) != is_reverse;
    int row_end = row, col_end = col;

    if (tc->shape == SHAPE_FAN || tc->shape == SHAPE_EVERY) {
        fputs("Total Bandwidth ", out);
        return;
    }
    if (tc->shape == SHAPE_EACH) {
        row_end = col;
    } else if (tc->shape == SHAPE_BISECT) {
        col_end = (row + matrix->rows / 2) % matrix->rows;
    }
    print_end(out, tc, is_to_col ? tc->row : tc->col, is_to_col ? row_end : col_end);
    fputs(" -> ", out);
    print_end(out, tc, is_to_col ? tc->col : tc->row, is_to_col ? col_end : row_end);
}

static void print_samples(FILE *out, const struct bw_testcase_result *result, int m, int row,
                          int col)
{
    const struct bw_matrix *matrix = &result->matrices[m];
    const struct bw_cell *cell = &matrix->cells[row * matrix->cols + col];

    for (size_t i = 0; cell->samples != NULL && i < cell->stats.n; i++) {
        if (isfinite(cell->samples[i])) {
            fprintf(out, "\tSample %zu: ", i);
            bw_text_ends(out, result->tc, matrix, row, col, m == 1);
            fprintf(out, ": %.2f GB/s\n", cell->samples[i]);
        }
    }
}

void bw_text_samples(FILE *out, const struct bw_testcase_result *result)
{
    const int count = result->matrix_count > 2 ? 2 : result->matrix_count;

    if (result->tc == NULL || bw_testcase_is_latency(result->tc) || count == 0) {
        return;
    }
    /* The third matrix is the sum of the first two: no copy of its own. */
    for (int r = 0; r < result->matrices[0].rows; r++) {
        for (int c = 0; c < result->matrices[0].cols; c++) {
            for (int m = 0; m < count; m++) {
                print_samples(out, result, m, r, c);
            }
        }
    }
}
