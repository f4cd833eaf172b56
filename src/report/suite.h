/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_SUITE_H
#define BW_REPORT_SUITE_H

#include "comparison.h"

#include "bwtool/result.h"

#include <jansson.h>
#include <stdio.h>

/*
 * Internal to report/: the report of a suite, sections 1, 2, 3 and 6 of the
 * standard's. Each case has one point; one whose bytes were not found right has
 * no valid data, and none of its numbers is printed.
 */

/* The case's point; NULL if it has none with valid data. */
const struct bw_shmem_point *bw_suite_point(const struct bw_testcase_result *result);
/* Ranks, or GPUs of the one process. */
int bw_suite_pes(const struct bw_run *run);

/* The case beside its baseline, as the comparison of a single operator has it. */
void bw_suite_compare(const struct bw_run *run, const struct bw_shmem_point *point,
                      struct bw_comparison *row);
/* "80 % of the baseline", "20 % utilization", "none"; of the verdict on the case. */
const char *bw_suite_target(const struct bw_comparison *row);

/* What the standard wants to be covered. */
struct bw_suite_gate {
    char name[96];
    bool is_must; /* else it is recommended */
    bool is_met;
    char why[400]; /* it is not; "" */
};
enum { BW_SUITE_GATES = 9 + BW_SUITE_BOUNDARIES };
/* All of them. */
void bw_suite_gates(const struct bw_run *run, struct bw_suite_gate gates[BW_SUITE_GATES]);

void bw_md_suite_info(FILE *out, const struct bw_run *run);
void bw_md_suite_baseline(FILE *out, const struct bw_run *run);
void bw_md_suite_results(FILE *out, const struct bw_run *run);
void bw_md_suite_frames(FILE *out, const struct bw_run *run);
void bw_md_suite_final(FILE *out, const struct bw_run *run);

/* For the JSON record: the suite and its gates; and a testcase's case. */
json_t *bw_json_suite(const struct bw_run *run);
json_t *bw_json_suite_case(const struct bw_suite_case *c);

#endif
