/* SPDX-License-Identifier: Apache-2.0 */
/* Any words on the command line: an answer, values in their ranges, nothing leaked. */
#include "fuzz.h"

#include "bwtool/log.h"
#include "bwtool/options.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_be_quiet();
    return 0;
}

static void check(const struct bw_options *options)
{
    MUST(options->buffer_bytes >= 1024 && options->buffer_bytes <= 1ULL << 46);
    MUST(options->precision >= 0.0001 && options->precision <= 0.5);
    MUST(options->test_samples >= 1 && options->test_samples <= 1000000);
    MUST(options->loop_count >= 1 && options->loop_count <= 1000000000);
    MUST(options->max_time_s <= 1000000);
    MUST(options->testcases.count == 0 || options->prefixes.count == 0);
    MUST(!options->dry_run || options->dry_run_gpus <= 576);
    for (size_t i = 0; i < options->peak_count; i++) {
        MUST(options->peaks[i].gb_per_s > 0);
    }
    if (options->sweep.is_given) {
        MUST(options->sweep.min >= 1 && options->sweep.min <= options->sweep.max);
        MUST(options->sweep.max <= 1ULL << 46 && options->sweep.factor > 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bw_options options;
    char *words[64];
    char *text = fuzz_text(data, size);
    const int count = fuzz_words(text, words, 64);
    const size_t errors = bw_log_error_count();
    const enum bw_status st = bw_options_parse(&options, count, words);

    MUST(st == BW_OK || st == BW_ERR_USAGE);
    MUST(bw_log_error_count() == errors + (st != BW_OK)); /* one line, and only if it is bad */
    if (st == BW_OK) {
        check(&options);
    }
    bw_options_free(&options);
    bw_log_fini();
    free(text);
    return 0;
}
