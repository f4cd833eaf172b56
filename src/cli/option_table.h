/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_OPTION_TABLE_H
#define BW_OPTION_TABLE_H

#include "bwtool/options.h"

/* Internal to cli/: the one table that feeds the parser, the help and the check of README. */

enum bw_option_kind {
    OPTION_FLAG,            /* bool                                                 */
    OPTION_NUMBER,          /* unsigned long long, min to max                       */
    OPTION_OPTIONAL_NUMBER, /* the same, after '=' only; without, it stays as it is */
    OPTION_SIZE,            /* uint64_t, bytes                                      */
    OPTION_PERCENT,         /* double, a fraction: "0.25%" or "0.25" is 0.0025      */
    OPTION_WORDS,           /* struct bw_words: words up to the next option, added  */
    OPTION_PEAK,            /* struct bw_peak_override *, added; may be repeated    */
    OPTION_FORMAT,          /* char *, the name of a writer                         */
    OPTION_SWEEP,           /* struct bw_sweep: MIN:MAX[:FACTOR]                     */
    OPTION_NUMBERS,         /* struct bw_words of numbers from min to max            */
    OPTION_PLACEMENT,       /* char *, a word that operators know                    */
    OPTION_DTYPE,
    OPTION_ALGORITHM,
    OPTION_SKEW,    /* double, 0 to BW_ROUTE_SKEW_MAX; "one": BW_ROUTE_ONE_RANK      */
    OPTION_PROFILE, /* enum bw_profile_mode, after '=' only; without, light        */
    OPTION_BASELINE,
    OPTION_SUITE,   /* char *, the name of one */
    OPTION_COMPARE, /* char *, two names and a comma */
};

struct bw_option {
    const char *name; /* without dashes                       */
    char letter;      /* '\0': none                           */
    enum bw_option_kind kind;
    size_t offset;       /* of the value in struct bw_options    */
    size_t given_offset; /* of a bool that is set; NO_OFFSET: none */
    unsigned long long min, max;
    const char *initial;  /* the default as a user would write it; NULL: zero */
    const char *argument; /* its word in the help; NULL for flags             */
    const char *wanted; /* "a size ...": ends the error line for a bad word; NULL: from min, max */
    const char *help;   /* one or more lines                    */
    bool is_hidden;
};

/* Stands for "no member": offset 0 is a real one. */
#define NO_OFFSET ((size_t)-1)

enum { BW_OPTION_COUNT = 45 };
extern const struct bw_option bw_option_table[BW_OPTION_COUNT];

/* True for "64KB" and its like, which some read as 1000 and some as 1024. */
bool bw_options_size_is_ambiguous(const char *text);

/* True for rows whose word, if any, comes after '='. */
bool bw_options_word_is_optional(const struct bw_option *row);

/* Decimal digits, after an optional '+', of a number from min to max. */
bool bw_options_number(const char *text, unsigned long long min, unsigned long long max,
                       unsigned long long *number);

/* "MIN:MAX" or "MIN:MAX:FACTOR"; sizes as above, from 1B on; FACTOR more than 1, to 1024. */
bool bw_options_sweep(const char *text, struct bw_sweep *sweep);

/* A number from 0 to BW_ROUTE_SKEW_MAX, or "one". */
bool bw_options_skew(const char *text, double *skew);

/* Two names that are not empty, and one comma between them. */
bool bw_options_pair_is_good(const char *text);

/* True for the name of a writer. */
bool bw_options_format_is_known(const char *name);

#endif
