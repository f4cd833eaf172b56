/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/outlier.h"

#include "bwtool/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* So many noises of a value, and of the spread of the others, are no outlier. */
enum { NOISES = 4, SPREADS = 6 };
/* Of the others, so many must be there, and this part of them agree. */
enum { OTHERS_MIN = 2 };
static const double agreeing_part = 0.6;
/* More single cells or pairs than this part of all are how the machine is built. */
static const double single_part = 0.125;

struct search {
    const struct bw_outlier_matrix *matrix;
    size_t cells;
    bool *is_named;  /* belongs to what was found already */
    bool *is_in;     /* belongs to the suspect            */
    double *others;  /* room for values                   */
    double *spreads; /* likewise                          */
    bool has_pairs;  /* row i and column i are the same end */
    int known_group; /* whose median over all that counts this is; NAN: nobody's yet */
    double known_median;
};

static int group_of(const struct search *s, size_t cell)
{
    return s->matrix->groups == NULL ? 0 : s->matrix->groups[cell];
}

static double noise_of(const struct search *s, size_t cell)
{
    const double noise = s->matrix->noise == NULL ? 0 : s->matrix->noise[cell];

    return isfinite(noise) && noise > 0 ? noise : 0;
}

static bool counts(const struct search *s, size_t cell)
{
    return isfinite(s->matrix->values[cell]) && s->matrix->values[cell] > 0 && !s->is_named[cell];
}

/* The others that a cell compares with: their median and their typical distance from it. */
static size_t look_at_others(const struct search *s, int group, double *median, double *spread)
{
    size_t n = 0;

    for (size_t i = 0; i < s->cells; i++) {
        if (counts(s, i) && !s->is_in[i] && group_of(s, i) == group) {
            s->others[n++] = s->matrix->values[i];
        }
    }
    if (n < OTHERS_MIN) {
        return n;
    }
    *median = bw_stats_of(s->others, n).median;
    for (size_t i = 0; i < n; i++) {
        s->spreads[i] = fabs(s->others[i] - *median) / *median;
    }
    *spread = bw_stats_of(s->spreads, n).median;
    return n;
}

/* What a difference must exceed, as a part of the value. */
static double threshold_of(const struct search *s, size_t cell, double spread)
{
    return fmax(s->matrix->floor, fmax(NOISES * noise_of(s, cell), SPREADS * spread));
}

static bool others_agree(const struct search *s, size_t n, double median, double threshold)
{
    size_t near = 0;

    for (size_t i = 0; i < n; i++) {
        near += fabs(s->others[i] - median) <= threshold * median;
    }
    return (double)near >= agreeing_part * (double)n && near >= OTHERS_MIN;
}

/* 1: worse than its like; 0: not; -1: there is nothing to compare it with. */
static int judge_cell(const struct search *s, size_t cell, double *others)
{
    const double value = s->matrix->values[cell];
    double median = 0;
    double spread = 0;
    double threshold = 0;
    const size_t n = look_at_others(s, group_of(s, cell), &median, &spread);

    if (n < OTHERS_MIN) {
        return -1;
    }
    threshold = threshold_of(s, cell, spread);
    if (!others_agree(s, n, median, threshold)) {
        return -1;
    }
    *others = median;
    return s->matrix->more_is_worse ? value > median * (1 + threshold)
                                    : value < median * (1 - threshold);
}

static bool belongs(const struct bw_outlier *suspect, int row, int col)
{
    switch (suspect->kind) {
    case OUTLIER_END:
        return row == suspect->row || col == suspect->row;
    case OUTLIER_ROW:
        return row == suspect->row;
    case OUTLIER_COL:
        return col == suspect->col;
    case OUTLIER_PAIR:
        return (row == suspect->row && col == suspect->col) ||
               (row == suspect->col && col == suspect->row);
    case OUTLIER_CELL:
        return row == suspect->row && col == suspect->col;
    }
    return false;
}

/* True if all of the suspect's cells are worse than the others. */
static bool holds(struct search *s, struct bw_outlier *suspect)
{
    const struct bw_outlier_matrix *m = s->matrix;
    const size_t wanted = suspect->kind == OUTLIER_CELL ? 1 : 2;
    double *values = NULL;
    size_t n = 0;
    bool is_worse = true;

    for (size_t i = 0; i < s->cells; i++) {
        s->is_in[i] = belongs(suspect, (int)i / m->cols, (int)i % m->cols);
    }
    values = calloc(s->cells, sizeof(*values));
    for (size_t i = 0; values != NULL && is_worse && i < s->cells; i++) {
        if (counts(s, i) && s->is_in[i]) {
            const int verdict = judge_cell(s, i, &suspect->others);

            is_worse = verdict != 0;
            values[n] = m->values[i];
            n += verdict == 1;
        }
    }
    is_worse = values != NULL && is_worse && n >= wanted;
    suspect->value = is_worse ? bw_stats_of(values, n).median : NAN;
    free(values);
    return is_worse;
}

/* Of a large matrix, single cells are looked at only if they stand out from all. */
static bool is_worth_it(struct search *s, const struct bw_outlier *suspect)
{
    enum { LARGE = 8 };
    const struct bw_outlier_matrix *m = s->matrix;
    const size_t cell = (size_t)suspect->row * (size_t)m->cols + (size_t)suspect->col;
    if (!counts(s, cell)) {
        return false;
    }
    if (m->rows <= LARGE || m->cols <= LARGE) {
        return true;
    }
    if (!isfinite(s->known_median) || s->known_group != group_of(s, cell)) {
        double spread = 0;

        memset(s->is_in, 0, s->cells * sizeof(*s->is_in));
        s->known_group = group_of(s, cell);
        if (look_at_others(s, s->known_group, &s->known_median, &spread) <= OTHERS_MIN) {
            return false;
        }
    }
    return fabs(m->values[cell] - s->known_median) > m->floor * s->known_median;
}

/* The first suspect of a kind that holds. */
static bool find_kind(struct search *s, enum bw_outlier_kind kind, struct bw_outlier *suspect)
{
    const struct bw_outlier_matrix *m = s->matrix;
    const bool is_cell = kind == OUTLIER_PAIR || kind == OUTLIER_CELL;
    const bool has_rows = kind != OUTLIER_COL;
    const bool has_cols = kind == OUTLIER_COL || is_cell;

    for (int r = 0; r < (has_rows ? m->rows : 1); r++) {
        for (int c = kind == OUTLIER_PAIR ? r + 1 : 0; c < (has_cols ? m->cols : 1); c++) {
            *suspect = (struct bw_outlier){
                .kind = kind, .row = has_rows ? r : -1, .col = has_cols ? c : -1};
            if ((!is_cell || is_worth_it(s, suspect)) && holds(s, suspect)) {
                return true;
            }
        }
    }
    return false;
}

static bool find_next(struct search *s, struct bw_outlier *found)
{
    s->known_median = NAN;
    if (s->has_pairs && (find_kind(s, OUTLIER_END, found) || find_kind(s, OUTLIER_ROW, found) ||
                         find_kind(s, OUTLIER_COL, found) || find_kind(s, OUTLIER_PAIR, found))) {
        return true;
    }
    return find_kind(s, OUTLIER_CELL, found);
}

/* Many pairs or cells that differ are no faults. */
static size_t drop_singles(const struct search *s, struct bw_outlier *found, size_t count)
{
    size_t singles = 0;
    size_t kept = 0;
    size_t cells = 0;

    for (size_t i = 0; i < s->cells; i++) {
        cells += isfinite(s->matrix->values[i]) ? 1 : 0;
    }
    for (size_t i = 0; i < count; i++) {
        singles += found[i].kind == OUTLIER_PAIR ? 2 : found[i].kind == OUTLIER_CELL;
    }
    if (!s->has_pairs || (double)singles <= fmax(2, single_part * (double)cells)) {
        return count;
    }
    for (size_t i = 0; i < count; i++) {
        if (found[i].kind != OUTLIER_PAIR && found[i].kind != OUTLIER_CELL) {
            found[kept++] = found[i];
        }
    }
    return kept;
}

size_t bw_outliers_find(const struct bw_outlier_matrix *matrix, struct bw_outlier *found,
                        size_t room)
{
    struct search s = {.matrix = matrix, .cells = (size_t)matrix->rows * (size_t)matrix->cols};
    size_t count = 0;

    s.has_pairs = matrix->rows == matrix->cols && matrix->rows > 1;
    s.is_named = calloc(s.cells + 1, sizeof(*s.is_named));
    s.is_in = calloc(s.cells + 1, sizeof(*s.is_in));
    s.others = calloc(s.cells + 1, sizeof(*s.others));
    s.spreads = calloc(s.cells + 1, sizeof(*s.spreads));
    if (s.is_named != NULL && s.is_in != NULL && s.others != NULL && s.spreads != NULL) {
        while (count < room && find_next(&s, &found[count])) {
            for (size_t i = 0; i < s.cells; i++) {
                s.is_named[i] |=
                    belongs(&found[count], (int)i / matrix->cols, (int)i % matrix->cols);
            }
            count++;
        }
        count = drop_singles(&s, found, count);
    }
    free(s.is_named);
    free(s.is_in);
    free(s.others);
    free(s.spreads);
    return count;
}
