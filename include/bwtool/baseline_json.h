/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_BASELINE_JSON_H
#define BW_BASELINE_JSON_H

#include "baseline.h"

#include <jansson.h>

/* A point of the baseline as JSON: in records, and from the process that measured it. */

/* NULL without memory. */
json_t *bw_baseline_point_json(const struct bw_baseline_point *point);
/* False if it is not the form that the above makes; `point` is spoilt then. */
bool bw_baseline_point_parse(const json_t *object, struct bw_baseline_point *point);

#endif
