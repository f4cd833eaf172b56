/* SPDX-License-Identifier: Apache-2.0 */
#include "option_error.h"

#include "bwtool/log.h"

#include <ctype.h>
#include <string.h>

/* What a row wants, in words. */
static const char *wanted(const struct bw_option *row, char *text, size_t room)
{
    if (row->wanted != NULL) {
        return row->wanted;
    }
    snprintf(text, room, "a whole number from %llu to %llu", row->min, row->max);
    return text;
}

enum bw_status bw_option_error_value(const struct bw_option *row, const char *spelling,
                                     const char *word)
{
    char text[80];

    if (row->kind == OPTION_SIZE && bw_options_size_is_ambiguous(word)) {
        const int digits = (int)strspn(word, "+0123456789");
        const char letter = (char)toupper((unsigned char)word[digits]);

        bw_error("%s: '%.80s' may count in 1000 or in 1024: write '%.*s%ciB' for 1024", spelling,
                 word, digits < 76 ? digits : 76, word, letter);
    } else {
        bw_error("%s: '%.80s' is not %s", spelling, word, wanted(row, text, sizeof text));
    }
    return BW_ERR_USAGE;
}

enum bw_status bw_option_error_missing(const struct bw_option *row, const char *spelling)
{
    char text[80];

    bw_error("%s: must be followed by %s", spelling, wanted(row, text, sizeof text));
    return BW_ERR_USAGE;
}

enum bw_status bw_option_error_letter(int letter)
{
    bw_error("there is no option '-%c' (--help lists them)", letter);
    return BW_ERR_USAGE;
}

/* Equal up to case, dashes and underlines: "--buffer-size" meant --bufferSize. */
static bool looks_like(const char *name, const char *word, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (word[i] == '-' || word[i] == '_') {
            continue;
        }
        name += *name == '-';
        if (tolower((unsigned char)*name) != tolower((unsigned char)word[i])) {
            return false;
        }
        name++;
    }
    return *name == '\0';
}

static const char *likely_name(const char *word, size_t bytes)
{
    for (size_t i = 0; i < BW_OPTION_COUNT; i++) {
        if (looks_like(bw_option_table[i].name, word, bytes)) {
            return bw_option_table[i].name;
        }
    }
    return NULL;
}

/* "--a, --b or --c": all options that start so. Their number. */
static int candidates(const char *word, size_t bytes, char *text, size_t room)
{
    const char *found[BW_OPTION_COUNT] = {0};
    int count = 0;
    size_t length = 0;

    for (size_t i = 0; i < BW_OPTION_COUNT && bytes > 0; i++) {
        if (strncmp(bw_option_table[i].name, word, bytes) == 0) {
            found[count++] = bw_option_table[i].name;
        }
    }
    text[0] = '\0';
    for (int i = 0; i < count && length < room; i++) {
        const char *separator = i == 0 ? "" : i == count - 1 ? " or " : ", ";

        length += (size_t)snprintf(text + length, room - length, "%s--%s", separator, found[i]);
    }
    return count;
}

enum bw_status bw_option_error_name(const char *word)
{
    char text[32 * BW_OPTION_COUNT];
    const char *name = word + 2; /* past the dashes */
    const size_t bytes = strcspn(name, "=");
    const char *likely = likely_name(name, bytes);

    if (candidates(name, bytes, text, sizeof text) > 1) {
        bw_error("'%.80s' is ambiguous: %s?", word, text);
    } else if (likely != NULL) {
        bw_error("there is no option '%.80s' (did you mean --%s?)", word, likely);
    } else {
        bw_error("there is no option '%.80s' (--help lists them)", word);
    }
    return BW_ERR_USAGE;
}

enum bw_status bw_option_error_positional(const char *before, const char *word)
{
    if (strncmp(before, "--dry", 5) == 0 && strchr(before, '=') == NULL &&
        isdigit((unsigned char)word[0])) {
        bw_error("'%.80s' belongs to no option (write --dry-run=%.80s)", word, word);
    } else {
        bw_error("'%.80s' belongs to no option (there are no other arguments; --help lists all)",
                 word);
    }
    return BW_ERR_USAGE;
}

/* The suite has its own cases; without a correctness pass none of them has valid data. */
static const struct {
    const char *name, *why;
} not_with_suite[] = {
    {"testcase", "the suite has its own cases"},
    {"testcasePrefixes", "the suite has its own cases"},
    {"sweep", "the suite has its own sizes; -b is the size L"},
    {"placement", "each case of the suite has its own"},
    {"dtype", "each case of the suite has its own"},
    {"algorithm", "each case of the suite has its own"},
    {"ctas", "the suite takes the default grids"},
    {"tokens", "each case of the suite has its own"},
    {"hidden", "each case of the suite has its own"},
    {"top-k", "each case of the suite has its own"},
    {"skipVerification", "without a correctness pass its data are not valid"},
    {"perfFormatter", "the suite prints its report, or JSON with -j"},
    {"compare", "the suite measures, and --compare reads what was measured"},
};

enum bw_status bw_option_error_suite(const struct bw_options *options, const bool *seen)
{
    if (options->suite == NULL) {
        return BW_OK;
    }
    for (size_t i = 0; i < sizeof(not_with_suite) / sizeof(not_with_suite[0]); i++) {
        for (size_t k = 0; k < BW_OPTION_COUNT; k++) {
            if (seen[k] && strcmp(bw_option_table[k].name, not_with_suite[i].name) == 0) {
                bw_error("--suite: cannot be given together with --%s: %s", not_with_suite[i].name,
                         not_with_suite[i].why);
                return BW_ERR_USAGE;
            }
        }
    }
    if (options->format != NULL && strcmp(options->format, "json") != 0) {
        bw_error("--suite: cannot be given together with '-F %s': the suite prints its report, or "
                 "JSON with -j",
                 options->format);
        return BW_ERR_USAGE;
    }
    return BW_OK;
}
