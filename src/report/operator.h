/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_OPERATOR_H
#define BW_REPORT_OPERATOR_H

#include "bwtool/result.h"

#include <jansson.h>
#include <stdio.h>

/* Internal to report/: what writers print of operators over symmetric memory. */

/* Definition of an operator's value; snprintf's return value. */
int bw_words_operator(const struct bw_testcase *tc, char *text, size_t room);

/* "passed", "below", "not_judged" */
const char *bw_words_pass(enum bw_shmem_pass pass);

/* What else there is to say of a point, or why it failed; "" for nothing. */
const char *bw_words_note(const struct bw_shmem_point *point);

/*
 * Tables of results, of communication and, for sums, of computing; [PERF] lines
 * if asked for. False, logged, if there was no memory for all of it.
 */
bool bw_text_operator(FILE *out, const struct bw_testcase_result *result);

/* A [PERF] line for every rank of every point. */
void bw_text_perf(FILE *out, const struct bw_shmem_result *shmem);

/* Why its value, or its verdict, is not to be relied on: of point `index`; NULL where it is. */
const char *bw_operator_doubt(const struct bw_testcase_result *result, size_t index);

/* A class that no frame was of: why. */
const char *bw_words_frame_missing(const struct bw_shmem_point *p, enum bw_frame_class of);
/* "largest share; tail: block 3, SM 3, rank 1 (2.10 x)", or a part of it, or nothing. */
void bw_words_bottleneck(const struct bw_frame_row *row, char *text, size_t room);

/* Frames of all points, or why there are none; and of one point. */
void bw_text_frames(FILE *out, const struct bw_testcase_result *result);
json_t *bw_json_frames(const struct bw_shmem_point *point);

/* " KEY=VALUE", or " KEY=N/A". */
void bw_text_key(FILE *out, const char *key, double value, int digits);

/* Members of a testcase in the JSON record. */
json_t *bw_json_operator(const struct bw_testcase_result *result);

/*
 * Of points that differ in their grid only: the one with the best kernel
 * latency, as an index. `index` itself where there is no other.
 */
size_t bw_operator_best(const struct bw_shmem_result *shmem, size_t index);

#endif
