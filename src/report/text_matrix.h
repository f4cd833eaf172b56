/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_TEXT_MATRIX_H
#define BW_REPORT_TEXT_MATRIX_H

#include "bwtool/result.h"

#include <stdio.h>

/* Title, header row, rows, and a blank line. */
void bw_text_matrix(FILE *out, const struct bw_matrix *matrix);

/* A line for each sample of each copy that has one of its own; none for latencies. */
void bw_text_samples(FILE *out, const struct bw_testcase_result *result);

#endif
