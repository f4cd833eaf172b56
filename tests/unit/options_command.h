/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_OPTIONS_COMMAND_H
#define BW_OPTIONS_COMMAND_H

#include "bwtool/log.h"
#include "bwtool/options.h"
#include "stderr_of.h"
#include "unit.h"

#include <string.h>

/* Tables of command lines with what comes of them. */

enum { WORDS_MAX = 20 };

/* Words of a command line, and what the options are then; or the error line. */
struct command {
    const char *words[WORDS_MAX]; /* NULL behind the last */
    const char *wanted;
};

__attribute__((format(printf, 2, 3))) static inline void append(char *text, const char *format, ...)
{
    const size_t length = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + length, 1024 - length, format, args);
    va_end(args);
}

static inline void append_words(char *text, const char *name, const struct bw_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        append(text, "%s%s", i == 0 ? name : "|", words->words[i]);
    }
}

static inline void append_flag(char *text, const char *name, bool flag)
{
    append(text, "%s", flag ? name : "");
}

/* All that is not as it is by default. */
static inline void describe(const struct bw_options *options, char text[static 1024])
{
    text[0] = '\0';
    if (options->buffer_bytes != (uint64_t)512 << 20) {
        append(text, " bytes=%llu", (unsigned long long)options->buffer_bytes);
    }
    append_flag(text, " list", options->list);
    append_flag(text, " help", options->help);
    append_flag(text, " version", options->version);
    append_words(text, " t=", &options->testcases);
    append_words(text, " p=", &options->prefixes);
    append_words(text, " explain=", &options->explain);
    for (size_t i = 0; i < options->peak_count; i++) {
        append(text, " %s=%g%s", bw_link_name(options->peaks[i].link), options->peaks[i].gb_per_s,
               options->peaks[i].why != NULL ? " why" : "");
    }
    append_flag(text, " verbose", options->verbose);
    append_flag(text, " skip", options->skip_verification);
    append_flag(text, " unbound", options->disable_affinity);
    if (options->test_samples != 3 || options->has_test_samples) {
        append(text, " samples=%llu%s", options->test_samples,
               options->has_test_samples ? "" : " not given");
    }
    append_flag(text, " mean", options->use_mean);
    append_flag(text, " json", options->json);
    append_flag(text, " perf", options->perf_formatter);
    if (options->format != NULL) {
        append(text, " format=%s", options->format);
    }
    if (options->loop_count != 16 || options->has_loop_count) {
        append(text, " loops=%llu%s", options->loop_count,
               options->has_loop_count ? "" : " not given");
    }
    if (options->dry_run || options->dry_run_gpus != 0) {
        append(text, " dry=%llu%s", options->dry_run_gpus, options->dry_run ? "" : " not given");
    }
    if (options->corrupt_word != UINT64_MAX) {
        append(text, " corrupt=%llu", options->corrupt_word);
    }
}

static inline enum bw_status parse(struct bw_options *options, const char *const *words, char *said,
                                   size_t room)
{
    char *argv[WORDS_MAX + 2] = {strdup("bwtool")};
    int argc = 1;
    enum bw_status st = BW_OK;
    struct stderr_of of = stderr_begin();

    for (; words[argc - 1] != NULL; argc++) {
        argv[argc] = strdup(words[argc - 1]);
    }
    st = bw_options_parse(options, argc, argv);
    stderr_end(&of, said, room);
    for (int i = 0; i < argc; i++) {
        free(argv[i]);
    }
    return st;
}

static inline void check_good(const struct command *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bw_options options;
        char text[1024];
        char said[1024];

        print_message("case %zu: %s\n", i, commands[i].wanted);
        assert_int_equal(parse(&options, commands[i].words, said, sizeof said), BW_OK);
        describe(&options, text);
        assert_string_equal(text, commands[i].wanted);
        assert_string_equal(said, "");
        bw_options_free(&options);
    }
}

static inline void check_bad(const struct command *commands, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct bw_options options;
        char wanted[1024];
        char said[1024];

        snprintf(wanted, sizeof wanted, "bwtool: error: %s\n", commands[i].wanted);
        assert_int_equal(parse(&options, commands[i].words, said, sizeof said), BW_ERR_USAGE);
        assert_string_equal(said, wanted);
        bw_options_free(&options);
    }
}

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

#endif
