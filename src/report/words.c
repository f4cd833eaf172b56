/* SPDX-License-Identifier: Apache-2.0 */
#include "words.h"

#include "bwtool/text.h"

#include <string.h>

#ifdef BWTOOL_HAS_GIT_VERSION
#include "git_version.h"
#else
#define BWTOOL_GIT_VERSION "v" BWTOOL_VERSION
#endif

const char bw_words_version[] = "v" BWTOOL_VERSION;
const char bw_words_git_version[] = BWTOOL_GIT_VERSION;

const char *bw_words_verdict(enum bw_verdict verdict)
{
    switch (verdict) {
    case VERDICT_PASSED:
        return "passed";
    case VERDICT_WAIVED:
        return "waived";
    case VERDICT_FAILED:
        return "failed";
    case VERDICT_UNRELIABLE:
        return "unreliable";
    case VERDICT_NOT_FOUND:
        return "not_found";
    case VERDICT_NOT_RUN:
        return "not_run";
    }
    return "?";
}

const char *bw_words_status(enum bw_status status)
{
    switch (status) {
    case BW_OK:
        return "ok";
    case BW_WAIVED:
        return "waived";
    case BW_ERR_PEER:
        return "peer";
    case BW_ERR_VERIFY:
        return "verify";
    case BW_ERR_MEMORY:
        return "memory";
    case BW_ERR_SYSTEM:
        return "system";
    case BW_ERR_CUDA:
        return "cuda";
    case BW_ERR_TIMEOUT:
        return "timeout";
    case BW_ERR_LOST:
        return "lost";
    case BW_ERR_NO_GPU:
        return "no_gpu";
    case BW_ERR_USAGE:
        return "usage";
    }
    return "?";
}

const char *bw_words_unit(const struct bw_testcase *tc)
{
    return bw_testcase_is_latency(tc) ? "ns" : "GB/s";
}

/* With the place of its cell. */
static char *cell_reason(const struct bw_testcase_result *result)
{
    int row = 0;
    int column = 0;
    const char *reason = bw_result_first_reason(result, &row, &column);

    return reason == NULL ? NULL : bw_text_format("row %d, column %d: %s", row, column, reason);
}

bool bw_words_has_reason(const struct bw_testcase_result *result)
{
    return result->reason != NULL || result->verdict != VERDICT_PASSED;
}

char *bw_words_reason(const struct bw_testcase_result *result)
{
    char *reason = NULL;

    if (result->reason != NULL) {
        return strdup(result->reason);
    }
    switch (result->verdict) {
    case VERDICT_PASSED:
        return NULL;
    case VERDICT_NOT_FOUND:
        return result->by_index
                   ? bw_text_format("testcase index %lld out of bound", result->asked_index)
                   : bw_text_format("testcase %s not found", result->name);
    case VERDICT_WAIVED:
        return strdup("not supported on this machine");
    case VERDICT_NOT_RUN:
        return strdup("the run ended before its turn");
    case VERDICT_FAILED:
    case VERDICT_UNRELIABLE:
        break;
    }
    reason = cell_reason(result);
    return reason != NULL ? reason : strdup(bw_words_status(result->status));
}

char *bw_words_key(const struct bw_testcase_result *result, const struct bw_matrix *matrix)
{
    return bw_text_format("%s%s", result->name, matrix->suffix);
}

void bw_words_put(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        fputc(c < 0x20 || c == 0x7f ? ' ' : c > 0x7f ? '?' : c, out);
    }
}
