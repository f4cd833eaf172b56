/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/testcase.h"

#include <string.h>

enum { NAME_MAX_BYTES = 96 };

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    const unsigned low = a < b ? a : b;

    return low < c ? low : c;
}

/* Levenshtein distance; names longer than the table's rows are far from everything. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[NAME_MAX_BYTES + 1];
    const size_t a_bytes = strlen(a);
    const size_t b_bytes = strlen(b);

    if (a_bytes > NAME_MAX_BYTES || b_bytes > NAME_MAX_BYTES) {
        return NAME_MAX_BYTES;
    }
    for (size_t k = 0; k <= b_bytes; k++) {
        row[k] = (unsigned)k;
    }
    for (size_t i = 1; i <= a_bytes; i++) {
        unsigned diagonal = row[0];

        row[0] = (unsigned)i;
        for (size_t k = 1; k <= b_bytes; k++) {
            const unsigned above = row[k];

            row[k] = min3(above + 1, row[k - 1] + 1, diagonal + (a[i - 1] != b[k - 1]));
            diagonal = above;
        }
    }
    return row[b_bytes];
}

const char *bw_testcase_nearest(const char *name)
{
    const char *nearest = NULL;
    unsigned best = (unsigned)(strlen(name) / 3 + 1); /* a third of the letters may differ */

    for (size_t i = 0; i < bw_testcase_count; i++) {
        const unsigned d = distance(name, bw_testcases[i].name);

        if (d < best) {
            best = d;
            nearest = bw_testcases[i].name;
        }
    }
    return nearest;
}
