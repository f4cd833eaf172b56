/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_OUTLIER_H
#define BW_OUTLIER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What in a matrix is worse than its like, by more than the noise: an end, a
 * row, a column, a pair or a cell. The largest thing that explains what is
 * seen is named, and its parts are not. With too few others to compare with,
 * or others that do not agree among themselves, nothing is.
 */

enum bw_outlier_kind {
    OUTLIER_END, /* row and column `row` */
    OUTLIER_ROW,
    OUTLIER_COL,
    OUTLIER_PAIR, /* (row, col) and (col, row) */
    OUTLIER_CELL,
};

struct bw_outlier {
    enum bw_outlier_kind kind;
    int row, col;         /* -1 where it has none           */
    double value, others; /* medians of it, and of its like */
};

struct bw_outlier_matrix {
    int rows, cols;
    const double *values; /* rows x cols, row-major; NAN: no value                  */
    const double *noise;  /* of each value, as a part of it; NAN: unknown; or NULL  */
    const int *groups;    /* values compare within theirs; or NULL: all are alike   */
    bool more_is_worse;   /* as of latencies                                        */
    double floor;         /* differences up to this part of the value are never one */
};

/* Returns how many there are, at most `room`. */
size_t bw_outliers_find(const struct bw_outlier_matrix *matrix, struct bw_outlier *found,
                        size_t room);

#endif
