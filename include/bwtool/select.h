/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SELECT_H
#define BW_SELECT_H

#include "options.h"
#include "testcase.h"

/* Which testcases to run, in which order. */

struct bw_choice {
    int index;        /* in the table; -1: there is no such testcase */
    const char *word; /* what the user wrote; NULL if nothing was named; the options' own */
    bool is_number;   /* the word is an index                        */
    long long number; /* that index                                  */
};

struct bw_selection {
    struct bw_choice *choices;
    size_t count;
    size_t unknown_count; /* of choices with index -1 */
};

/*
 * -t names and indices in the order given, or -p prefixes in table order, or
 * without either: the rows of nvbandwidth v0.8 (0 to 34; with `ranks` > 1, to
 * 47), or with `host_only` the host testcases. BW_ERR_USAGE, logged, for both
 * -t and -p, for a prefix that matches nothing, and for names none of which
 * exists. An unknown name beside known ones is kept as a choice with index -1,
 * and a suggestion is logged.
 */
enum bw_status bw_selection_build(struct bw_selection *selection, const struct bw_options *options,
                                  int ranks, bool host_only);
void bw_selection_free(struct bw_selection *selection);

#endif
