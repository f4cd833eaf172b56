/* SPDX-License-Identifier: Apache-2.0 */
#include "option_table.h"

#include "bwtool/route.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const uint64_t bytes_min = 1024;
static const uint64_t bytes_max = (uint64_t)1 << 46;

/* Digits at the start of `text`, as a number that stays at `max` + 1 once it is above `max`. */
static const char *digits(const char *text, unsigned long long max, unsigned long long *number)
{
    unsigned long long n = 0;

    for (; *text >= '0' && *text <= '9'; text++) {
        const unsigned digit = (unsigned)(*text - '0');

        n = n > (max - digit) / 10 || digit > max ? max + 1 : 10 * n + digit;
    }
    *number = n;
    return text;
}

/* Past an optional '+' that a digit follows; NULL if there is no digit. */
static const char *number_start(const char *text)
{
    text += *text == '+';
    return *text >= '0' && *text <= '9' ? text : NULL;
}

bool bw_options_number(const char *text, unsigned long long min, unsigned long long max,
                       unsigned long long *number)
{
    unsigned long long n = 0;
    const char *start = number_start(text);

    if (start == NULL || *digits(start, max, &n) != '\0' || n < min || n > max) {
        return false;
    }
    *number = n;
    return true;
}

/* The power of two that a suffix stands for; -1 if it is none. */
static int suffix_shift(const char *suffix)
{
    static const struct {
        const char *letter, *word;
        int shift;
    } suffixes[] = {
        {"", "MiB", 20},  {"B", "B", 0},    {"K", "KiB", 10},
        {"M", "MiB", 20}, {"G", "GiB", 30}, {"T", "TiB", 40},
    };

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
        if (strcasecmp(suffix, suffixes[i].letter) == 0 ||
            strcasecmp(suffix, suffixes[i].word) == 0) {
            return suffixes[i].shift;
        }
    }
    return -1;
}

static bool size_from(const char *text, uint64_t least, uint64_t *bytes)
{
    unsigned long long n = 0;
    const char *start = number_start(text);
    int shift = 0;

    if (start == NULL) {
        return false;
    }
    shift = suffix_shift(digits(start, bytes_max, &n));
    if (shift < 0 || n > bytes_max >> shift || n << shift < least) {
        return false;
    }
    *bytes = n << shift;
    return true;
}

bool bw_options_size(const char *text, uint64_t *bytes)
{
    return size_from(text, bytes_min, bytes);
}

/* A number with a fraction, from 1.1 to 1024. */
static bool factor_of(const char *text, double *factor)
{
    char *end = NULL;

    *factor = strtod(text, &end);
    return *text >= '0' && *text <= '9' && *end == '\0' && *factor >= 1.1 && *factor <= 1024;
}

bool bw_options_sweep(const char *text, struct bw_sweep *sweep)
{
    char part[3][40] = {"", "", "2"};
    size_t count = 0;

    for (; count < 3; count++) {
        const size_t length = strcspn(text, ":");

        if (length >= sizeof(part[0])) {
            return false;
        }
        memcpy(part[count], text, length);
        part[count][length] = '\0';
        text += length;
        if (*text == '\0') {
            break;
        }
        text++;
    }
    *sweep = (struct bw_sweep){.is_given = true};
    return count >= 1 && count < 3 && size_from(part[0], 1, &sweep->min) &&
           size_from(part[1], 1, &sweep->max) && factor_of(part[2], &sweep->factor) &&
           sweep->min <= sweep->max;
}

bool bw_options_size_is_ambiguous(const char *text)
{
    unsigned long long n = 0;
    const char *start = number_start(text);

    if (start == NULL) {
        return false;
    }
    start = digits(start, bytes_max, &n);
    return strlen(start) == 2 && strchr("KkMmGgTt", start[0]) != NULL &&
           strchr("Bb", start[1]) != NULL;
}

bool bw_options_skew(const char *text, double *skew)
{
    char *end = NULL;

    if (strcmp(text, "one") == 0) {
        *skew = BW_ROUTE_ONE_RANK;
        return true;
    }
    if (text[0] < '0' || text[0] > '9' || strspn(text, "0123456789.") != strlen(text)) {
        return false; /* strtod() knows more than numbers */
    }
    *skew = strtod(text, &end);
    return *end == '\0' && *skew <= BW_ROUTE_SKEW_MAX;
}

bool bw_options_percent(const char *text, double *fraction)
{
    char *end = NULL;
    double percent = 0;

    if (text[0] < '0' || text[0] > '9') {
        return false; /* strtod() knows more than numbers */
    }
    percent = strtod(text, &end);
    end += *end == '%';
    if (*end != '\0' || !(percent >= 0.01 && percent <= 50)) {
        return false;
    }
    *fraction = percent / 100;
    return true;
}
