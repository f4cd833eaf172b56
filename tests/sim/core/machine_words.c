/* SPDX-License-Identifier: Apache-2.0 */
#include "machine_words.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int line_wrong(const struct line *at, const char *form, ...)
{
    const int used = snprintf(at->message, at->room, "%s:%d: ", at->source, at->number);
    va_list args;

    if (used >= 0 && (size_t)used < at->room) {
        va_start(args, form);
        vsnprintf(at->message + used, at->room - (size_t)used, form, args);
        va_end(args);
    }
    return -1;
}

static int read_real(const struct line *at, const char *word, struct value *v)
{
    char *end;

    v->a = strtod(word, &end);
    if (end == word || *end != '\0' || !isfinite(v->a) || v->a < 0) {
        return line_wrong(at, "'%s' is not a number from 0 up", word);
    }
    return 0;
}

static int read_count(const struct line *at, const char *word, struct value *v)
{
    char *end;

    v->a = (double)strtoll(word, &end, 10);
    return end != word && *end == '\0' && fabs(v->a) < 0x1p53
               ? 0
               : line_wrong(at, "'%s' is not a whole number", word);
}

static int read_size(const struct line *at, const char *word, struct value *v)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    char *end;
    const double value = strtod(word, &end);

    for (int i = 0; i < 5 && end != word && value >= 0; i++) {
        v->a = floor(value * pow(1024, i));
        if (strcmp(end, units[i]) == 0 && v->a < 0x1p53) {
            return 0;
        }
    }
    return line_wrong(at, "'%s' is not a size such as 80GiB", word);
}

static int read_switch(const struct line *at, const char *word, struct value *v)
{
    v->a = strcmp(word, "on") == 0;
    return v->a != 0 || strcmp(word, "off") == 0 ? 0
                                                 : line_wrong(at, "'%s' is not on or off", word);
}

static int read_text(const struct line *at, const char *word, struct value *v)
{
    (void)at;
    v->text = word;
    return 0;
}

/* n, n-m, or * for all. */
static int read_range(const struct line *at, const char *word, struct value *v)
{
    const double count = at->words[0][0] == 'n' ? SIM_NODES_MAX : at->m->gpu_count;
    int first, last, used = 0, all = 0;

    v->a = 0;
    v->b = count - 1;
    if (strcmp(word, "*") == 0) {
        return 0;
    }
    if (!isdigit((unsigned char)*word) ||
        sscanf(word, "%6d%n-%6d%n", &first, &used, &last, &all) < 1) {
        return line_wrong(at, "'%s' is none of n, n-m, *", word);
    }
    v->a = first;
    v->b = all > 0 ? last : first;
    if (word[all > 0 ? all : used] != '\0' || v->a > v->b || v->b >= count) {
        return line_wrong(at, "'%s' is outside 0-%.0f", word, count - 1);
    }
    return 0;
}

/* A-B, where each is H or D0, D1... */
static int read_link(const struct line *at, const char *word, struct value *v)
{
    int a = SIM_HOST, b = SIM_HOST, used = 0;

    if ((sscanf(word, "D%5d-D%5d%n", &a, &b, &used) < 2 || used == 0) &&
        (sscanf(word, "H-D%5d%n", &b, &used) < 1 || used == 0)) {
        b = SIM_HOST;
        sscanf(word, "D%5d-H%n", &a, &used);
    }
    v->a = a;
    v->b = b;
    return used > 0 && word[used] == '\0' && fmin(a, b) >= SIM_HOST && fmax(a, b) >= 0 &&
                   fmax(a, b) < at->m->gpu_count
               ? 0
               : line_wrong(at, "'%s' is not a link such as D0-D1 or H-D2", word);
}

static const struct {
    const char *word;
    int (*read)(const struct line *at, const char *word, struct value *v);
} readers[] = {
    {"RATE", read_real},     {"NS", read_real},     {"MS", read_real},   {"PART", read_real},
    {"COUNT", read_count},   {"SIZE", read_size},   {"TEXT", read_text}, {"LINK", read_link},
    {"SWITCH", read_switch}, {"RANGE", read_range},
};

int line_read_value(struct line *at, const char *capitals, const char *word)
{
    capitals += *capitals == '[';
    for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
        if (strncmp(capitals, readers[i].word, strlen(readers[i].word)) == 0) {
            return readers[i].read(at, word, &at->values[at->slots]);
        }
    }
    return line_wrong(at, "no reader of %s", capitals);
}
