/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CLI_OPERATORS_H
#define BW_CLI_OPERATORS_H

#include "bwtool/operators.h"
#include "bwtool/options.h"
#include "bwtool/result.h"
#include "bwtool/select.h"
#include "bwtool/suite.h"

/* Operators over symmetric memory, as the options ask for them. */

/*
 * Why the operator `tc` is waived here, for the caller to free; NULL if it is
 * not. A contradiction in what was asked for is no reason to waive it.
 */
char *bw_operator_waiver(const struct bw_session *session, const struct bw_options *options,
                         const struct bw_testcase *tc, const struct bw_suite_case *suite);

/* It contradicts itself, whatever the machine is; as bw_shmem_is_misuse(). */
bool bw_operator_is_misuse(const struct bw_options *options, const struct bw_testcase *tc,
                           const struct bw_suite_case *suite, char **reason);

/* Bytes of symmetric memory that it needs of each rank; without host memory, as much as it ever
 * may, or 0. */
uint64_t bw_operator_window_bytes(const struct bw_session *session,
                                  const struct bw_options *options, const struct bw_testcase *tc,
                                  const struct bw_suite_case *suite);

/* The same behind a multicast address. */
uint64_t bw_operator_multicast_bytes(const struct bw_session *session,
                                     const struct bw_options *options, const struct bw_testcase *tc,
                                     const struct bw_suite_case *suite);

/* A note if an option for operators only has none to apply to. */
void bw_operator_note(const struct bw_options *options, const struct bw_selection *selection);

/* Look at what is asked of it, and make room for its points. BW_ERR_USAGE, logged, too. */
enum bw_status bw_operator_get_ready(const struct bw_session *session,
                                     const struct bw_options *options,
                                     struct bw_testcase_result *result);

/*
 * Measure it, once all ranks are ready, and hold it against the run's baseline: points and, for
 * every size, a row of its one matrix. Collective.
 */
enum bw_status bw_operator_run(struct bw_session *session, const struct bw_options *options,
                               const struct bw_run *run, struct bw_testcase_result *result);

/* "64MiB", "1000B"; the caller frees it. */
char *bw_operator_size_text(uint64_t bytes);

/* What the options ask of operators or, where `suite` is not NULL, its case. */
struct bw_shmem_request bw_operator_request(const struct bw_options *options,
                                            const struct bw_suite_case *suite);
/* Size L of a suite: -b, or the suite's own. */
uint64_t bw_operator_suite_bytes(const struct bw_options *options);

enum bw_status bw_operator_print_plan(const struct bw_testcase *tc,
                                      const struct bw_options *options, const struct bw_gpus *gpus,
                                      int ranks);

#endif
