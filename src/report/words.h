/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_WORDS_H
#define BW_REPORT_WORDS_H

#include "bwtool/result.h"

#include <stdio.h>

/* Words that the writers share. */

/* "vX.Y.Z", and what `git describe` said of the sources. */
extern const char bw_words_version[];
extern const char bw_words_git_version[];

/* "passed", "not_found" and so on. */
const char *bw_words_verdict(enum bw_verdict verdict);

/* "verify", "cuda" and so on; "ok" for BW_OK. */
const char *bw_words_status(enum bw_status status);

/* "GB/s" or "ns". */
const char *bw_words_unit(const struct bw_testcase *tc);

/*
 * Why a testcase has no full result, in one line the caller frees; NULL if
 * there is nothing to say (or no memory). For a failed testcase without a
 * reason of its own it is that of its first failed cell.
 */
char *bw_words_reason(const struct bw_testcase_result *result);

/* Whether there is something to say: that of which the words may lack the memory. */
bool bw_words_has_reason(const struct bw_testcase_result *result);

/* What a testcase's values count, as one sentence. snprintf's return value. */
int bw_words_definition(const struct bw_testcase *tc, char *text, size_t room);

/* Key of a matrix as SUM lines have it, the caller frees it; NULL if out of memory. */
char *bw_words_key(const struct bw_testcase_result *result, const struct bw_matrix *matrix);

/* "GPU 3 as source is 38 % below the others (...)"; the caller frees it; NULL if out of memory. */
char *bw_words_outlier(const struct bw_testcase_result *result, const struct bw_matrix *matrix,
                       const struct bw_outlier *outlier);

/* Print text that came from elsewhere: on one line and in ASCII, whatever is in it. */
void bw_words_put(FILE *out, const char *text);

#endif
