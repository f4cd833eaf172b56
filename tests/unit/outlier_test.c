/* SPDX-License-Identifier: Apache-2.0 */
/* What stands out of a matrix, and what only seems to. */
#include "unit.h"

#include "bwtool/outlier.h"

#include <math.h>
#include <string.h>

enum { ROOM = 8, SIDE_MAX = 72 };

static double values[SIDE_MAX * SIDE_MAX];
static int groups[SIDE_MAX * SIDE_MAX];
static struct bw_outlier found[ROOM];
static struct bw_outlier_matrix matrix;

/* N x N without a diagonal, all about 396, with a little noise. */
static void fill(int side)
{
    for (int i = 0; i < side * side; i++) {
        values[i] = i / side == i % side ? NAN : 396 + (i * 7 % 5 - 2) * 0.5;
        groups[i] = 0;
    }
    matrix = (struct bw_outlier_matrix){
        .rows = side, .cols = side, .values = values, .groups = groups, .floor = 0.05};
}

static void fill_row(int count, double value)
{
    for (int i = 0; i < count; i++) {
        values[i] = value * (1 + (i * 7 % 5 - 2) * 1e-3);
        groups[i] = 0;
    }
    matrix = (struct bw_outlier_matrix){
        .rows = 1, .cols = count, .values = values, .groups = groups, .floor = 0.05};
}

static void scale(int row, int col, double factor)
{
    values[row * matrix.cols + col] *= factor;
}

static size_t find(void)
{
    return bw_outliers_find(&matrix, found, ROOM);
}

static void assert_is(size_t i, enum bw_outlier_kind kind, int row, int col)
{
    assert_int_equal(found[i].kind, kind);
    assert_int_equal(found[i].row, row);
    assert_int_equal(found[i].col, col);
}

static void nothing_in_healthy_ones(void **state)
{
    (void)state;
    for (int side = 1; side <= SIDE_MAX; side += side < 16 ? 1 : 28) {
        fill(side);
        assert_int_equal(find(), 0);
        fill_row(side, 55);
        assert_int_equal(find(), 0);
    }
    matrix.rows = matrix.cols = 0;
    assert_int_equal(find(), 0);
}

static void two_cannot_say_who_is_wrong(void **state)
{
    (void)state;
    fill(2);
    scale(0, 1, 0.5);
    assert_int_equal(find(), 0);
    fill_row(2, 55);
    scale(0, 1, 0.5);
    assert_int_equal(find(), 0);
}

static void a_source(void **state)
{
    (void)state;
    for (int side = 3; side <= 8; side++) {
        fill(side);
        for (int c = 0; c < side; c++) {
            scale(2, c, 0.62);
        }
        assert_int_equal(find(), 1);
        assert_is(0, OUTLIER_ROW, 2, -1);
        assert_true(fabs(found[0].value / found[0].others - 0.62) < 0.01);
    }
}

static void a_destination(void **state)
{
    (void)state;
    fill(8);
    for (int r = 0; r < 8; r++) {
        scale(r, 5, 0.9);
    }
    assert_int_equal(find(), 1);
    assert_is(0, OUTLIER_COL, -1, 5);
}

/* With 3 and 4 GPUs half of all cells or more are bad, and still it is one. */
static void a_gpu(void **state)
{
    (void)state;
    for (int side = 3; side <= 8; side++) {
        fill(side);
        for (int i = 0; i < side; i++) {
            scale(1, i, 0.4);
            scale(i, 1, 0.4);
        }
        assert_int_equal(find(), 1);
        assert_is(0, OUTLIER_END, 1, -1);
    }
}

static void two_gpus_of_eight(void **state)
{
    (void)state;
    fill(8);
    for (int i = 0; i < 8; i++) {
        scale(1, i, 0.4);
        scale(6, i, 0.7);
    }
    assert_int_equal(find(), 2);
    assert_is(0, OUTLIER_ROW, 1, -1);
    assert_is(1, OUTLIER_ROW, 6, -1);
}

static void a_pair_and_a_cell(void **state)
{
    (void)state;
    for (int side = 3; side <= 16; side += side == 8 ? 8 : 1) {
        fill(side);
        scale(0, 2, 0.8);
        scale(2, 0, 0.8);
        assert_int_equal(find(), 1);
        assert_is(0, OUTLIER_PAIR, 0, 2);
        fill(side);
        scale(2, 1, 0.8);
        assert_int_equal(find(), 1);
        assert_is(0, OUTLIER_CELL, 2, 1);
    }
}

static void one_of_a_row(void **state)
{
    (void)state;
    fill_row(4, 55);
    scale(0, 3, 0.25);
    assert_int_equal(find(), 1);
    assert_is(0, OUTLIER_CELL, 0, 3);
    assert_true(fabs(found[0].others - 55) < 0.5);
}

/* Four near to one node and four to another: two kinds, and nobody is an outlier. */
static void halves(void **state)
{
    (void)state;
    fill_row(8, 55);
    for (int i = 4; i < 8; i++) {
        scale(0, i, 0.7);
    }
    assert_int_equal(find(), 0);
    fill_row(3, 55); /* one at the other node */
    scale(0, 2, 0.7);
    groups[2] = 1;
    assert_int_equal(find(), 0);
}

/* Pairs under one switch are faster than others: that is how it is built. */
static void pairs_by_design(void **state)
{
    (void)state;
    fill(6);
    for (int r = 0; r < 6; r++) {
        for (int c = 0; c < 6; c++) {
            scale(r, c, r / 2 == c / 2 ? 1 : 0.85);
        }
    }
    assert_int_equal(find(), 0);
    fill(6); /* the other way round: three slow pairs of fifteen */
    for (int r = 0; r < 6; r++) {
        for (int c = 0; c < 6; c++) {
            scale(r, c, r / 2 == c / 2 ? 0.85 : 1);
        }
    }
    assert_int_equal(find(), 0);
}

static void groups_are_compared_apart(void **state)
{
    (void)state;
    fill(4); /* 0-1 and 2-3 have twice the links */
    for (int r = 0; r < 4; r++) {
        for (int c = 0; c < 4; c++) {
            groups[r * 4 + c] = r / 2 == c / 2;
            scale(r, c, r / 2 == c / 2 ? 2 : 1);
        }
    }
    assert_int_equal(find(), 0);
    scale(0, 1, 0.7);
    assert_int_equal(find(), 1);
    assert_is(0, OUTLIER_CELL, 0, 1);
}

static void noise_is_no_outlier(void **state)
{
    double noise[64];

    (void)state;
    fill(8);
    for (int i = 0; i < 64; i++) {
        noise[i] = 0.05;
    }
    scale(0, 2, 0.85);
    assert_int_equal(find(), 1);
    matrix.noise = noise;
    assert_int_equal(find(), 0);
    noise[2] = NAN;
    assert_int_equal(find(), 1);
    /* Others that differ among themselves hide a small difference. */
    fill(8);
    for (int i = 0; i < 64; i++) {
        values[i] *= 1 + (i * 29 % 11 - 5) * 0.02;
    }
    scale(0, 2, 0.8);
    assert_int_equal(find(), 0);
}

static void of_latencies_the_long_ones(void **state)
{
    (void)state;
    fill(4);
    matrix.more_is_worse = true;
    for (int c = 0; c < 4; c++) {
        scale(3, c, 1.5);
    }
    assert_int_equal(find(), 1);
    assert_is(0, OUTLIER_ROW, 3, -1);
    fill(4);
    matrix.more_is_worse = true;
    scale(3, 1, 0.5); /* better: nothing to complain about */
    assert_int_equal(find(), 0);
}

static void no_more_than_there_is_room_for(void **state)
{
    (void)state;
    fill_row(12, 55);
    scale(0, 1, 0.5);
    scale(0, 5, 0.5);
    scale(0, 7, 0.5);
    assert_int_equal(bw_outliers_find(&matrix, found, 2), 2);
    assert_int_equal(find(), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_in_healthy_ones),
        cmocka_unit_test(two_cannot_say_who_is_wrong),
        cmocka_unit_test(a_source),
        cmocka_unit_test(a_destination),
        cmocka_unit_test(a_gpu),
        cmocka_unit_test(two_gpus_of_eight),
        cmocka_unit_test(a_pair_and_a_cell),
        cmocka_unit_test(one_of_a_row),
        cmocka_unit_test(halves),
        cmocka_unit_test(pairs_by_design),
        cmocka_unit_test(groups_are_compared_apart),
        cmocka_unit_test(noise_is_no_outlier),
        cmocka_unit_test(of_latencies_the_long_ones),
        cmocka_unit_test(no_more_than_there_is_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
