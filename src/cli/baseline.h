/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CLI_BASELINE_H
#define BW_CLI_BASELINE_H

#include "bwtool/options.h"
#include "bwtool/result.h"
#include "bwtool/select.h"

/*
 * The baseline of a run. NCCL and our own work never share a process: this
 * program starts itself again before it opens the driver, the other process
 * tells what it measured, line by line, and ends before anything else begins.
 */

/*
 * If a baseline is asked for: start the other process and take in what it
 * tells, until it has ended; then leave the GPUs alone for a moment. The
 * driver must not have been opened. What goes wrong there is in the baseline's
 * reason, and in the log as a warning: the run goes on without. Blocks, at most
 * as long as the process goes on telling something. BW_ERR_USAGE, logged, where
 * a baseline makes no sense.
 */
enum bw_status bw_baseline_begin(const struct bw_options *options,
                                 const struct bw_selection *selection, const struct bw_world *world,
                                 struct bw_run *run);

/* Nothing but the baseline is measured. */
bool bw_baseline_is_alone(const struct bw_run *run);

/*
 * Then: why nothing of the operator `tc` can be; the caller's own text; NULL if
 * it can, or if what was asked for contradicts itself.
 */
char *bw_baseline_waiver(const struct bw_options *options, const struct bw_run *run,
                         const struct bw_testcase *tc, const struct bw_suite_case *suite);
/* BW_ERR_USAGE, logged, if what was asked of it contradicts itself. */
enum bw_status bw_baseline_get_ready(const struct bw_options *options,
                                     const struct bw_testcase_result *result);
/* And the result of an operator, of which NCCL is all there is. */
enum bw_status bw_baseline_report_alone(const struct bw_options *options, const struct bw_run *run,
                                        struct bw_testcase_result *result);

/* Be that other process. Returns the exit status. */
int bw_baseline_tell_all(const struct bw_options *options);

/* --compare. Returns the exit status. */
int bw_compare(const struct bw_options *options);

#endif
