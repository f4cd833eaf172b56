/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_JSON_STATE_H
#define BW_REPORT_JSON_STATE_H

#include "bwtool/result.h"

#include <jansson.h>

/* What the machine could do, and what it went through. */

/* Members of a cell with a value: its link, peak, and part of it; none if it was not asked for. */
void bw_json_set_peak(json_t *object, const struct bw_cell *cell);

/* Per GPU, before, after and extremes; null if nothing is known. */
json_t *bw_json_state(const struct bw_testcase_result *result);

/* What in the matrix is worse than its like. */
json_t *bw_json_outliers(const struct bw_testcase_result *result, const struct bw_matrix *matrix);

#endif
