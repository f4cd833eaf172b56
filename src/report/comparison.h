/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_COMPARISON_H
#define BW_REPORT_COMPARISON_H

#include "bwtool/baseline.h"
#include "bwtool/result.h"
#include "bwtool/shmem.h"

#include <jansson.h>
#include <stdio.h>

/* Internal to report/: an operator beside NCCL, in a run or from two files. */

/* One case. Zeroed but for `shmem`: without a baseline, and nothing is in doubt. */
struct bw_comparison {
    char metric[96]; /* "all_gather 64MiB fp16 n_pes=2" */
    enum bw_placement placement;
    struct bw_shmem_figures shmem;
    enum bw_shmem_pass pass;

    /* Like with like: of the class that the placement has. */
    bool has_baseline;
    enum bw_baseline_class kind;
    enum bw_baseline_mode mode;
    struct bw_shmem_figures baseline;
    char api[32];

    /* And the best of all its classes and modes. */
    bool has_best;
    enum bw_baseline_class best_kind;
    enum bw_baseline_mode best_mode;
    struct bw_shmem_figures best;

    char reason[BW_BASELINE_REASON]; /* why there is no baseline; "" */
    char doubt[BW_BASELINE_REASON];  /* why it is not judged although it was measured; "" */
    bool is_refused;                 /* of two files: they are not of the same thing */
};

/* Set all but `metric`, `placement`, `shmem` and, of the operator itself, `doubt`, which are there.
 * `point` NULL: `reason` says why. */
void bw_comparison_set(struct bw_comparison *row, const struct bw_baseline_point *point,
                       const char *reason);
void bw_comparison_name(struct bw_comparison *row, enum bw_shmem_op op, uint64_t payload_bytes,
                        enum bw_shmem_dtype dtype, int ranks);

/*
 * A case of a record and its partner among the points of a baseline, into a zeroed row; where it
 * has none, it is refused. False if the case is not of the form that bwtool writes.
 */
bool bw_comparison_read(struct bw_comparison *row, const json_t *member,
                        const struct bw_baseline *baseline);

/* The table with its latencies, and the one of the best mode of all. */
void bw_text_comparison(FILE *out, const struct bw_comparison *rows, size_t count,
                        const char *version);
/* The same of one case; NULL without memory. */
json_t *bw_json_comparison(const struct bw_comparison *row);

/*
 * For an operator's result: the table of its cases, false without memory;
 * [BASELINE_PERF] lines; the baseline alone.
 */
bool bw_text_baseline(FILE *out, const struct bw_testcase_result *result);
void bw_text_baseline_perf(FILE *out, const struct bw_baseline *baseline, enum bw_shmem_op op);
void bw_text_baseline_alone(FILE *out, const struct bw_baseline *baseline, enum bw_shmem_op op);

/* Of a case in the record: what it was held against. */
json_t *bw_json_case_baseline(const struct bw_shmem_result *shmem, const struct bw_shmem_point *p);
/* All points of the operator. */
json_t *bw_json_baselines(const struct bw_baseline *baseline, enum bw_shmem_op op);
/* Of the run. */
json_t *bw_json_baseline(const struct bw_baseline *baseline);

#endif
