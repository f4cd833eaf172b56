/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/log.h"
#include "bwtool/operators.h"
#include "bwtool/suite.h"
#include "option_error.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

/* What getopt_long answers for a long option is its row plus this, above every letter. */
enum { LONG_BASE = 256 };

struct parser {
    struct bw_options *options;
    int argc;
    char **argv;
    bool seen[BW_OPTION_COUNT];
    char spelling[40]; /* of the option at hand, as the user wrote it: "-b", "--bufferSize" */
};

static void *member(const struct parser *parser, size_t offset)
{
    return (char *)parser->options + offset;
}

static enum bw_status words_add(struct bw_words *words, const char *word)
{
    char **grown = realloc(words->words, (words->count + 1) * sizeof *grown);

    if (grown == NULL) {
        return bw_errno("cannot keep the word '%.80s'", word);
    }
    words->words = grown;
    grown[words->count] = strdup(word);
    if (grown[words->count] == NULL) {
        return bw_errno("cannot keep the word '%.80s'", word);
    }
    words->count++;
    return BW_OK;
}

static enum bw_status keep_word(char **kept, const char *word)
{
    *kept = strdup(word);
    return *kept != NULL ? BW_OK : bw_errno("cannot keep the word '%.80s'", word);
}

static enum bw_status add_peak(struct bw_options *options, struct bw_peak_override given)
{
    struct bw_peak_override *grown =
        realloc(options->peaks, (options->peak_count + 1) * sizeof *grown);

    if (grown == NULL) {
        return bw_errno("cannot keep the peak of %s", bw_link_name(given.link));
    }
    grown[options->peak_count++] = given;
    options->peaks = grown;
    return BW_OK;
}

/* A word that is kept as it was given. */
static bool is_known(enum bw_option_kind kind, const char *word)
{
    enum bw_placement placement;
    enum bw_algorithm algorithm;
    enum bw_shmem_dtype dtype;

    switch (kind) {
    case OPTION_FORMAT:
        return bw_options_format_is_known(word);
    case OPTION_PLACEMENT:
        return bw_placement_find(word, &placement);
    case OPTION_DTYPE:
        return bw_dtype_find(word, &dtype);
    case OPTION_ALGORITHM:
        return bw_algorithm_find(word, &algorithm);
    case OPTION_BASELINE:
        return strcmp(word, "nccl") == 0 || strcmp(word, "nccl-only") == 0;
    case OPTION_SUITE:
        return bw_suite_is_known(word);
    case OPTION_COMPARE:
        return bw_options_pair_is_good(word);
    default: /* numbers, and words that are not */
        return false;
    }
}

/* Put a word where the row says; BW_ERR_USAGE, not logged, if it is not what the row wants. */
static enum bw_status store(const struct parser *parser, const struct bw_option *row,
                            const char *word)
{
    void *value = member(parser, row->offset);
    struct bw_peak_override peak;
    unsigned long long number = 0;
    bool is_good = false;

    switch (row->kind) {
    case OPTION_FLAG:
        *(bool *)value = true;
        return BW_OK;
    case OPTION_OPTIONAL_NUMBER:
        if (word == NULL) {
            return BW_OK;
        }
        is_good = bw_options_number(word, row->min, row->max, value);
        break;
    case OPTION_NUMBER:
        is_good = bw_options_number(word, row->min, row->max, value);
        break;
    case OPTION_PERCENT:
        is_good = bw_options_percent(word, value);
        break;
    case OPTION_SIZE:
        is_good = bw_options_size(word, value);
        break;
    case OPTION_WORDS:
        return word[0] != '\0' ? words_add(value, word) : BW_ERR_USAGE;
    case OPTION_PEAK:
        return bw_peak_parse(word, &peak) ? add_peak(parser->options, peak) : BW_ERR_USAGE;
    case OPTION_FORMAT:
    case OPTION_PLACEMENT:
    case OPTION_DTYPE:
    case OPTION_ALGORITHM:
    case OPTION_BASELINE:
    case OPTION_SUITE:
    case OPTION_COMPARE:
        return is_known(row->kind, word) ? keep_word(value, word) : BW_ERR_USAGE;
    case OPTION_SWEEP:
        is_good = bw_options_sweep(word, value);
        break;
    case OPTION_NUMBERS:
        return bw_options_number(word, row->min, row->max, &number) ? words_add(value, word)
                                                                    : BW_ERR_USAGE;
    case OPTION_SKEW:
        is_good = bw_options_skew(word, value);
        break;
    case OPTION_PROFILE:
        is_good = bw_profile_mode_find(word != NULL ? word : "light", value);
        break;
    }
    return is_good ? BW_OK : BW_ERR_USAGE;
}

static enum bw_status store_word(const struct parser *parser, const struct bw_option *row,
                                 const char *word)
{
    const enum bw_status st = store(parser, row, word);

    return st == BW_ERR_USAGE ? bw_option_error_value(row, parser->spelling, word) : st;
}

/* "-1" is a number, "-" a word; all else that starts with a dash is an option. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !(word[1] >= '0' && word[1] <= '9');
}

bool bw_options_word_is_optional(const struct bw_option *row)
{
    return row->kind == OPTION_OPTIONAL_NUMBER || row->kind == OPTION_PROFILE;
}

static bool takes_word(const struct bw_option *row)
{
    return row->kind != OPTION_FLAG && !bw_options_word_is_optional(row);
}

static bool takes_many(const struct bw_option *row)
{
    return row->kind == OPTION_WORDS || row->kind == OPTION_NUMBERS;
}

/* One option with its words: getopt_long has taken the first, -t and -p take more. */
static enum bw_status take_option(struct parser *parser, const struct bw_option *row)
{
    const size_t index = (size_t)(row - bw_option_table);
    enum bw_status st = BW_OK;

    if (parser->seen[index] && !takes_many(row) && row->kind != OPTION_PEAK) {
        bw_error("%s: given more than once", parser->spelling);
        return BW_ERR_USAGE;
    }
    parser->seen[index] = true;
    /* getopt_long takes any next word as the value, also another option */
    if (takes_word(row) && optarg == parser->argv[optind - 1] && is_option(optarg)) {
        return bw_option_error_missing(row, parser->spelling);
    }
    TRY(store_word(parser, row, optarg));
    while (takes_many(row) && optind < parser->argc && !is_option(parser->argv[optind])) {
        TRY(store_word(parser, row, parser->argv[optind++]));
    }
    if (row->given_offset != NO_OFFSET) {
        *(bool *)member(parser, row->given_offset) = true;
    }
out:
    return st;
}

/* The row that getopt_long's answer (or optopt) stands for; NULL if it is none. */
static const struct bw_option *find_row(struct parser *parser, int answer)
{
    for (size_t i = 0; i < BW_OPTION_COUNT; i++) {
        const struct bw_option *row = &bw_option_table[i];

        if (answer == LONG_BASE + (int)i) {
            snprintf(parser->spelling, sizeof parser->spelling, "--%s", row->name);
            return row;
        }
        if (row->letter != '\0' && answer == row->letter) {
            snprintf(parser->spelling, sizeof parser->spelling, "-%c", row->letter);
            return row;
        }
    }
    return NULL;
}

static enum bw_status take_answer(struct parser *parser, int answer)
{
    const struct bw_option *row =
        find_row(parser, answer == '?' || answer == ':' ? optopt : answer);

    if (answer == ':' && row != NULL) {
        return bw_option_error_missing(row, parser->spelling);
    }
    if (answer == '?' && row != NULL) {
        bw_error("%s: takes no value, unlike in '%.80s'", parser->spelling,
                 parser->argv[optind - 1]);
        return BW_ERR_USAGE;
    }
    if (answer == '?') {
        return optopt != 0 ? bw_option_error_letter(optopt)
                           : bw_option_error_name(parser->argv[optind - 1]);
    }
    return take_option(parser, row);
}

/* getopt's own tables, from ours. The string: stop at the first positional, tell ':' from '?'. */
static void getopt_tables(char *letters, struct option *longs)
{
    *letters++ = '+';
    *letters++ = ':';
    for (size_t i = 0; i < BW_OPTION_COUNT; i++) {
        const struct bw_option *row = &bw_option_table[i];

        if (row->letter != '\0') {
            *letters++ = row->letter;
            if (takes_word(row)) {
                *letters++ = ':';
            }
        }
        longs[i] = (struct option){.name = row->name, .val = LONG_BASE + (int)i};
        longs[i].has_arg = takes_word(row)                    ? required_argument
                           : bw_options_word_is_optional(row) ? optional_argument
                                                              : no_argument;
    }
    *letters = '\0';
    longs[BW_OPTION_COUNT] = (struct option){0};
}

static enum bw_status take_all(struct parser *parser)
{
    char letters[2 * BW_OPTION_COUNT + 3];
    struct option longs[BW_OPTION_COUNT + 1];
    enum bw_status st = BW_OK;
    int answer = 0;

    getopt_tables(letters, longs);
    optind = 0; /* start anew: forget where a call before this one was */
    opterr = 0;
    while ((answer = getopt_long(parser->argc, parser->argv, letters, longs, NULL)) != -1) {
        TRY(take_answer(parser, answer));
    }
    if (optind < parser->argc) {
        st = bw_option_error_positional(parser->argv[optind - 1], parser->argv[optind]);
    }
out:
    return st;
}

static bool is_format(const struct bw_options *options, const char *format)
{
    return options->format != NULL && strcmp(options->format, format) == 0;
}

/* -j and --perfFormatter are -F in other words; -j wins over --perfFormatter, as in v0.8. */
static enum bw_status agree_on_format(struct bw_options *options)
{
    if (options->format != NULL && options->json && !is_format(options, "json")) {
        bw_error("-j: contradicts '-F %s' (-j is -F json: give one of the two)", options->format);
        return BW_ERR_USAGE;
    }
    if (options->perf_formatter && is_format(options, "text")) {
        bw_error("--perfFormatter: contradicts '-F text' (it is -F perf: give one of the two)");
        return BW_ERR_USAGE;
    }
    options->json = options->json || is_format(options, "json");
    options->perf_formatter = options->perf_formatter || is_format(options, "perf");
    return BW_OK;
}

static enum bw_status set_initial(const struct parser *parser)
{
    for (size_t i = 0; i < BW_OPTION_COUNT; i++) {
        const struct bw_option *row = &bw_option_table[i];
        const enum bw_status st = row->initial != NULL ? store(parser, row, row->initial) : BW_OK;

        if (st != BW_OK) {
            return st;
        }
    }
    return BW_OK;
}

/* Words of which there may be so many only; what was given is never left out without a word. */
static enum bw_status check_counts(const struct bw_options *options)
{
    if (options->pair.count != 0 && options->pair.count != 2) {
        bw_error("--pair: wants the UUIDs of two GPUs, and there %s %zu",
                 options->pair.count == 1 ? "is" : "are", options->pair.count);
        return BW_ERR_USAGE;
    }
    if (options->ctas.count > BW_SHMEM_GRIDS_MAX) {
        bw_error("--ctas: takes up to %d grids, and there are %zu", (int)BW_SHMEM_GRIDS_MAX,
                 options->ctas.count);
        return BW_ERR_USAGE;
    }
    return BW_OK;
}

enum bw_status bw_options_parse(struct bw_options *options, int argc, char **argv)
{
    struct parser parser = {.options = options, .argc = argc, .argv = argv};
    enum bw_status st = BW_OK;

    *options = (struct bw_options){.corrupt_word = UINT64_MAX};
    TRY(set_initial(&parser));
    TRY(take_all(&parser));
    if (options->testcases.count > 0 && options->prefixes.count > 0) {
        bw_error("-p: cannot be given together with -t (names and indices, or prefixes)");
        st = BW_ERR_USAGE;
        goto out;
    }
    TRY(check_counts(options));
    TRY(bw_option_error_suite(options, parser.seen));
    st = agree_on_format(options);
out:
    return st;
}

static void words_free(struct bw_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        free(words->words[i]);
    }
    free(words->words);
    *words = (struct bw_words){0};
}

void bw_options_free(struct bw_options *options)
{
    words_free(&options->testcases);
    words_free(&options->prefixes);
    words_free(&options->ctas);
    words_free(&options->pair);
    words_free(&options->explain);
    free(options->peaks);
    options->peaks = NULL;
    options->peak_count = 0;
    free(options->format);
    free(options->placement);
    free(options->dtype);
    free(options->algorithm);
    free(options->baseline);
    free(options->suite);
    free(options->compare);
    options->baseline = options->compare = options->suite = NULL;
    options->format = options->placement = options->dtype = options->algorithm = NULL;
}
