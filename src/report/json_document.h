/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_JSON_DOCUMENT_H
#define BW_REPORT_JSON_DOCUMENT_H

#include "bwtool/result.h"

#include <jansson.h>

/* The two roots of the document. Without memory they are spoilt (json_value.h). */

/* As clients of nvbandwidth v0.8 read it. */
json_t *bw_json_nvbandwidth(const struct bw_run *run);

/* Everything, with numbers as numbers. */
json_t *bw_json_bwtool(const struct bw_run *run);

/* A testcase of the latter. */
json_t *bw_json_testcase(const struct bw_testcase_result *result, bool has_samples);

/* The member phase_seconds, if there is anything in it. */
void bw_json_set_phases(json_t *object, const struct bw_phases *phases);

#endif
