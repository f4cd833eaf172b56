/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CLI_BASELINE_PROCESS_H
#define BW_CLI_BASELINE_PROCESS_H

#include "bwtool/baseline.h"
#include "bwtool/options.h"

/*
 * Start the process that measures the baseline, take in what it tells, and see
 * it end: killed, if it says nothing for too long or anything that it should
 * not. What went wrong is in `baseline->reason`.
 */
void bw_baseline_take(const struct bw_options *options, int argc, char **argv,
                      struct bw_baseline *baseline);

#endif
