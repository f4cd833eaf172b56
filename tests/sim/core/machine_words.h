/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_MACHINE_WORDS_H
#define SIM_MACHINE_WORDS_H

#include "machine.h"

/* Reading the words of a description's line. */

enum { WORDS_MAX = 12, VALUES_MAX = 6 };

/* What a word of a line says: a number, a range or pair (two), or a text. */
struct value {
    double a, b;
    const char *text;
};

/* One line: where to complain about it, its words, and what they say. */
struct line {
    struct sim_machine *m;
    const char *source;
    char *message;
    size_t room;
    int number;
    char *words[WORDS_MAX];
    int count;
    struct value values[VALUES_MAX];
    int slots; /* values that the form has; 0 where an optional one is absent */
};

/* Put "source:line: ..." into the line's message; -1. */
__attribute__((format(printf, 2, 3))) int line_wrong(const struct line *at, const char *form, ...);

/* Read `word`, which stands where a form has `capitals`, into the next value; 0 or -1. */
int line_read_value(struct line *at, const char *capitals, const char *word);

/* Do what the line says; 0 or -1. In machine_forms.c. */
int line_apply(struct line *at);

#endif
