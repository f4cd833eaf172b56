/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_TEXT_MATRIX_H
#define BW_REPORT_TEXT_MATRIX_H

#include "bwtool/result.h"

#include <stdio.h>

/* Title, header row, rows, and a blank line. */
void bw_text_matrix(FILE *out, const struct bw_matrix *matrix);

/* A line for each sample of each copy that has one of its own; none for latencies. */
void bw_text_samples(FILE *out, const struct bw_testcase_result *result);

/*
 * "A -> B", or the words for values that several copies make together;
 * is_reverse: of the copy the other way.
 */
void bw_text_ends(FILE *out, const struct bw_testcase *tc, const struct bw_matrix *matrix, int row,
                  int col, bool is_reverse);

/* text_state.c: a line for each value's part of its peak, and one for each GPU's state. */
void bw_text_peaks(FILE *out, const struct bw_testcase_result *result);
void bw_text_state(FILE *out, const struct bw_testcase_result *result);

#endif
