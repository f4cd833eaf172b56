/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SELECT_H
#define BW_SELECT_H

#include "options.h"
#include "suite.h"
#include "testcase.h"

/* Which testcases to run, in which order. */

struct bw_choice {
    int index;        /* in the table; -1: there is no such testcase */
    const char *word; /* what the user wrote: name, index or prefix; NULL if nothing was named; the
                         options' own */
    bool is_number;   /* the word is an index                        */
    long long number; /* that index                                  */
    const struct bw_suite_case *suite; /* NULL: as the options ask for it */
};

struct bw_selection {
    struct bw_choice *choices;
    size_t count;
    size_t unknown_count; /* of choices with index -1 */
};

/*
 * With --suite its cases; or -t names and indices in the order given, each as often as it was
 * given; or -p prefixes in table order, each testcase once; or without either the rows of
 * nvbandwidth v0.8 (0 to 34; with `ranks` > 1 or for a dry run, to 47) or, with `host_only` and no
 * dry run, the host testcases.
 *
 * A -t word that names no testcase stays in its place as a choice with index
 * -1, also if there is no other, and is logged as an error with a suggestion:
 * the report prints its ERROR line where clients look for it, the others run,
 * and the exit status is that of BW_ERR_USAGE. A prefix that matches nothing
 * is BW_ERR_USAGE, logged. That -t and -p exclude each other is known to
 * bw_options_parse(). Call bw_selection_free() either way.
 */
enum bw_status bw_selection_build(struct bw_selection *selection, const struct bw_options *options,
                                  int ranks, bool host_only);
/* The same for words that only ask about testcases; BW_ERR_USAGE if one is unknown. */
enum bw_status bw_selection_find(struct bw_selection *selection, const struct bw_words *words);
void bw_selection_free(struct bw_selection *selection);

#endif
