/* SPDX-License-Identifier: Apache-2.0 */
/* Frames from records made by hand: what a launch took, on which block, and what is left. */
#include "unit.h"

#include "bwtool/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR(a, b) assert_float_equal((a), (b), 1e-9)

enum { LAUNCHES = 4, BLOCKS = 3 };

/* Blocks of 1 us at 2 cycles in a ns; block b on multiprocessor 10 + b. */
static struct bw_frame_cta *records_of(unsigned launches, unsigned blocks)
{
    struct bw_frame_cta *records = calloc((size_t)launches * blocks, sizeof(*records));

    assert_non_null(records);
    for (unsigned l = 0; l < launches; l++) {
        for (unsigned b = 0; b < blocks; b++) {
            records[l * blocks + b] = (struct bw_frame_cta){.begin_ns = 1000 * (2 * l + 1),
                                                            .end_ns = 1000 * (2 * l + 2),
                                                            .cycles = 2000,
                                                            .sm = 10 + b,
                                                            .is_written = 1};
        }
    }
    return records;
}

/* `count` entries of `each` cycles, of which `children` in all were spent inside other frames. */
static void enter(struct bw_frame_cta *record, enum bw_frame frame, uint32_t count, uint64_t each,
                  uint64_t children, uint32_t parents)
{
    record->frames[frame] = (struct bw_frame_record){.count = count,
                                                     .parents = parents,
                                                     .sum = count * each,
                                                     .children = children,
                                                     .min = each,
                                                     .max = each,
                                                     .first = each,
                                                     .last = each};
}

static struct bw_frame_table *table_of(int ranks, double e2e_us, double kernel_us, double plain_us)
{
    struct bw_frame_table *table = calloc(1, sizeof(*table));

    assert_non_null(table);
    table->ranks = calloc((size_t)ranks, sizeof(*table->ranks));
    table->rank_kernel_us = calloc((size_t)ranks, sizeof(*table->rank_kernel_us));
    assert_non_null(table->ranks);
    assert_non_null(table->rank_kernel_us);
    table->rank_count = ranks;
    table->e2e_us = e2e_us;
    table->kernel_us = kernel_us;
    table->plain_us = plain_us;
    for (int r = 0; r < ranks; r++) {
        table->rank_kernel_us[r] = kernel_us;
    }
    return table;
}

static double sum_of_shares(const struct bw_frame_table *table)
{
    double sum = table->unattributed_pct;

    for (size_t i = 0; i < table->count; i++) {
        sum += table->rows[i].share_pct;
    }
    return sum;
}

/* A frame entered a hundred times has a hundred times the share of one entry. */
static void a_launch_is_the_unit(void **state)
{
    struct bw_frame_cta *records = records_of(LAUNCHES, BLOCKS);
    struct bw_frame_table *table = table_of(1, 2, 2, 2);

    (void)state;
    for (size_t i = 0; i < LAUNCHES * BLOCKS; i++) {
        enter(&records[i], FRAME_REMOTE_PUT, 100, 10, 0, 1);
    }
    assert_null(bw_frame_rank_sum(&table->ranks[0], records, LAUNCHES, BLOCKS));
    bw_frame_table_fill(table);
    assert_int_equal(table->count, 1);
    NEAR(table->rows[0].avg_us, 0.5); /* 100 entries of 10 cycles at 2 a ns */
    NEAR(table->rows[0].share_pct, 25);
    assert_int_equal(table->rows[0].count_min, 100);
    assert_int_equal(table->rows[0].count_max, 100);
    NEAR(table->ranks[0].frames[FRAME_REMOTE_PUT].call_max_us, 0.005);
    bw_frame_table_free(table);
    free(records);
}

static void what_is_inside_counts_once(void **state)
{
    struct bw_frame_cta *records = records_of(LAUNCHES, BLOCKS);
    struct bw_frame_table *table = table_of(1, 1.25, 1.25, 1.25);

    (void)state;
    for (size_t i = 0; i < LAUNCHES * BLOCKS; i++) {
        enter(&records[i], FRAME_TRANSPORT, 1, 1600, 1400, 1);
        enter(&records[i], FRAME_REMOTE_PUT, 2, 500, 0, 1u << (1 + FRAME_TRANSPORT));
        enter(&records[i], FRAME_COPY_IN, 2, 200, 0, 1u << (1 + FRAME_TRANSPORT));
    }
    assert_null(bw_frame_rank_sum(&table->ranks[0], records, LAUNCHES, BLOCKS));
    bw_frame_table_fill(table);
    assert_int_equal(table->count, 3);
    NEAR(table->rows[1].incl_us, 0.8);
    NEAR(table->rows[1].self_us, 0.1);
    NEAR(table->rows[2].self_us, 0.5);
    assert_true(table->rows[2].is_largest);
    assert_false(table->rows[1].is_largest);
    assert_int_equal(table->rows[2].parents, 1u << (1 + FRAME_TRANSPORT));
    NEAR(table->inside_us, 0.2);   /* of a window of 1 us, frames have 0.8 */
    NEAR(table->outside_us, 0.25); /* of e2e, blocks have 1 us */
    NEAR(table->unattributed_us, 0.45);
    NEAR(sum_of_shares(table), 100);
    bw_frame_table_free(table);
    free(records);
}

/* More blocks than any fixed room would have: the slow one is the last. */
static void every_block_of_the_grid_is_seen(void **state)
{
    enum { MANY = 264 };
    struct bw_frame_cta *records = records_of(1, MANY);
    struct bw_frame_table *table = table_of(1, 1, 1, 1);

    (void)state;
    for (unsigned b = 0; b < MANY; b++) {
        enter(&records[b], FRAME_DATA_WAIT, 1, b == MANY - 1 ? 400 : 200, 0, 1);
    }
    assert_null(bw_frame_rank_sum(&table->ranks[0], records, 1, MANY));
    bw_frame_table_fill(table);
    assert_int_equal(table->rows[0].max_block, MANY - 1);
    assert_int_equal(table->rows[0].max_sm, 10 + MANY - 1);
    NEAR(table->rows[0].max_core_us, 0.2);
    assert_true(table->rows[0].is_tail);
    bw_frame_table_free(table);
    free(records);
}

/* The slowest block is another rank's; a rank that has no such frame counts in Self, not in Avg. */
static void all_ranks_are_in_the_table(void **state)
{
    struct bw_frame_cta *records = records_of(1, BLOCKS);
    struct bw_frame_table *table = table_of(3, 1, 1, 1);

    (void)state;
    assert_null(bw_frame_rank_sum(&table->ranks[0], records, 1, BLOCKS));
    for (unsigned b = 0; b < BLOCKS; b++) {
        enter(&records[b], FRAME_REMOTE_PUT, 1, 600, 0, 1);
    }
    assert_null(bw_frame_rank_sum(&table->ranks[1], records, 1, BLOCKS));
    enter(&records[1], FRAME_REMOTE_PUT, 3, 300, 0, 1);
    records[2].end_ns += 500;
    records[2].cycles += 1000;
    table->rank_kernel_us[2] = 1.75;
    assert_null(bw_frame_rank_sum(&table->ranks[2], records, 1, BLOCKS));
    bw_frame_table_fill(table);
    assert_int_equal(table->count, 1);
    assert_int_equal(table->rows[0].max_rank, 2);
    assert_int_equal(table->rows[0].max_block, 1);
    NEAR(table->rows[0].max_core_us, 0.45);
    NEAR(table->rows[0].avg_us, (5 * 0.3 + 0.45) / 6);
    NEAR(table->rows[0].self_us, (5 * 0.3 + 0.45) / 9);
    assert_int_equal(table->rows[0].count_min, 1);
    assert_int_equal(table->rows[0].count_max, 3);
    assert_false(table->rows[0].is_tail); /* 1.38 x */
    NEAR(table->dev_us, 1.5);
    NEAR(table->gap_us, 0.25); /* of the rank that was slowest on its GPU */
    NEAR(sum_of_shares(table), 100);
    bw_frame_table_free(table);
    free(records);
}

static void least_most_first_and_last_are_kept(void **state)
{
    struct bw_frame_cta *records = records_of(2, 1);
    struct bw_frame_rank rank = {.tick = {.divisor_ns = 32}};
    const struct bw_frame_sum *sum = &rank.frames[FRAME_TILE_WAIT];

    (void)state;
    records[0].frames[FRAME_TILE_WAIT] = (struct bw_frame_record){
        .count = 3, .parents = 1, .sum = 600, .min = 100, .max = 300, .first = 200, .last = 300};
    records[1].frames[FRAME_TILE_WAIT] = (struct bw_frame_record){
        .count = 2, .parents = 1, .sum = 100, .min = 40, .max = 60, .first = 60, .last = 40};
    assert_null(bw_frame_rank_sum(&rank, records, 2, 1));
    NEAR(sum->call_min_us, 0.02);
    NEAR(sum->call_max_us, 0.15);
    NEAR(sum->first_us, 0.1);
    NEAR(sum->last_us, 0.02);
    assert_int_equal(sum->count_min, 2);
    assert_int_equal(sum->count_max, 3);
    assert_int_equal(rank.tick.divisor_ns, 32);
    /* Summed up anew: nothing of before is left */
    memset(records[0].frames, 0, sizeof(records[0].frames));
    assert_null(bw_frame_rank_sum(&rank, records, 2, 1));
    NEAR(sum->call_max_us, 0.03);
    assert_int_equal(sum->count_min, 0); /* one of the launches did not enter it */
    free(records);
}

/* Cycles are those of the launch: at half the clock they are twice as long. */
static void each_launch_has_its_own_clock(void **state)
{
    struct bw_frame_cta *records = records_of(2, BLOCKS);
    struct bw_frame_rank rank = {.launches = 0};

    (void)state;
    for (unsigned b = 0; b < BLOCKS; b++) {
        records[BLOCKS + b].cycles = 1000;
        enter(&records[b], FRAME_REDUCE, 1, 500, 0, 1);
        enter(&records[BLOCKS + b], FRAME_REDUCE, 1, 500, 0, 1);
    }
    assert_null(bw_frame_rank_sum(&rank, records, 2, BLOCKS));
    NEAR(rank.frames[FRAME_REDUCE].incl_us, (0.25 + 0.5) / 2);
    NEAR(rank.ghz, 1.5);
    NEAR(rank.ghz_min, 1);
    NEAR(rank.ghz_max, 2);
    /* A launch in which the timer made no step takes the mean of all */
    records[BLOCKS].end_ns = records[BLOCKS].begin_ns;
    records[BLOCKS + 1].end_ns = records[BLOCKS + 1].begin_ns;
    records[BLOCKS + 2].end_ns = records[BLOCKS + 2].begin_ns;
    assert_null(bw_frame_rank_sum(&rank, records, 2, BLOCKS));
    NEAR(rank.ghz, 3);
    NEAR(rank.frames[FRAME_REDUCE].call_max_us, 0.25);
    free(records);
}

static void records_of_no_use_are_explained(void **state)
{
    struct bw_frame_cta *records = records_of(2, 2);
    struct bw_frame_rank rank = {.launches = 0};

    (void)state;
    assert_non_null(strstr(bw_frame_rank_sum(&rank, records, 0, 2), "no launch"));
    records[3].is_written = 0;
    assert_non_null(strstr(bw_frame_rank_sum(&rank, records, 2, 2), "left no record"));
    records[3].is_written = 1;
    records[2].end_ns = records[2].begin_ns - 1;
    assert_non_null(strstr(bw_frame_rank_sum(&rank, records, 2, 2), "backwards"));
    for (int i = 0; i < 4; i++) {
        records[i].end_ns = records[i].begin_ns;
    }
    assert_non_null(strstr(bw_frame_rank_sum(&rank, records, 2, 2), "no step"));
    free(records);
}

static void device_time_is_from_the_first_begin_to_the_last_end(void **state)
{
    struct bw_frame_cta *records = records_of(3, 2);
    struct bw_frame_rank rank = {.launches = 0};

    (void)state;
    records[0].begin_ns -= 200;
    records[1].end_ns += 300;
    records[5].end_ns += 100;
    assert_null(bw_frame_rank_sum(&rank, records, 3, 2));
    NEAR(rank.dev_us, 1.1);
    NEAR(rank.dev_min_us, 1);
    NEAR(rank.dev_max_us, 1.5);
    NEAR(rank.window_us, (6 + 0.2 + 0.3 + 0.1) / 6);
    free(records);
}

static void a_tail_begins_above_one_and_a_half(void **state)
{
    static const struct {
        uint64_t slow;
        bool is_tail;
    } cases[] = {{299, false}, {301, true}}; /* two blocks: 100 and so much, 1.4975 and 1.5012 x */

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct bw_frame_cta *records = records_of(1, 2);
        struct bw_frame_table *table = table_of(1, 1, 1.1, 1);

        enter(&records[0], FRAME_PUBLISH, 1, 100, 0, 1);
        enter(&records[1], FRAME_PUBLISH, 1, cases[i].slow, 0, 1);
        assert_null(bw_frame_rank_sum(&table->ranks[0], records, 1, 2));
        bw_frame_table_fill(table);
        assert_int_equal(table->rows[0].is_tail, cases[i].is_tail);
        NEAR(table->perturbation, 1.1);
        bw_frame_table_free(table);
        free(records);
    }
}

/* Names never change, and none is missing; all five phases of the standard are there. */
static void the_frame_map_is_whole(void **state)
{
    static const char *const names[FRAME_COUNT] = {
        "copy_in",    "copy_out",  "transport", "remote_put", "remote_get",
        "entry_wait", "data_wait", "tile_wait", "word_wait",  "publish",
        "bulk_wait",  "reduce",    "layout",    "finalize"};
    unsigned classes = 0;

    (void)state;
    for (int f = 0; f < FRAME_COUNT; f++) {
        assert_string_equal(bw_frame_map[f].name, names[f]);
        assert_non_null(bw_frame_map[f].contents);
        classes |= 1u << bw_frame_map[f].of;
    }
    assert_int_equal(classes, (1u << FRAME_CLASSES) - 1);
    assert_true(FRAME_COUNT <= FRAMES_MAX);
}

/* METHOD.md has the map in the same words. */
static void the_page_has_the_same_map(void **state)
{
    static char page[1 << 20];
    FILE *file = fopen(BWTOOL_TESTS_DIR "/../docs/METHOD.md", "r");
    char line[256];

    (void)state;
    assert_non_null(file);
    page[fread(page, 1, sizeof(page) - 1, file)] = '\0';
    fclose(file);
    for (int f = 0; f < FRAME_COUNT; f++) {
        snprintf(line, sizeof(line), "| %d | `%s` | %s | %s |\n", f, bw_frame_map[f].name,
                 bw_frame_class_name(bw_frame_map[f].of), bw_frame_map[f].contents);
        assert_non_null(strstr(page, line));
    }
}

static void modes_have_names(void **state)
{
    enum bw_profile_mode mode = PROFILE_OFF;

    (void)state;
    assert_true(bw_profile_mode_find("sync", &mode));
    assert_int_equal(mode, PROFILE_SYNC);
    assert_true(bw_profile_mode_find("light", &mode));
    assert_int_equal(mode, PROFILE_LIGHT);
    assert_false(bw_profile_mode_find("off", &mode));
    assert_false(bw_profile_mode_find("", &mode));
    assert_string_equal(bw_profile_mode_name(PROFILE_SYNC), "sync");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_launch_is_the_unit),
        cmocka_unit_test(what_is_inside_counts_once),
        cmocka_unit_test(every_block_of_the_grid_is_seen),
        cmocka_unit_test(all_ranks_are_in_the_table),
        cmocka_unit_test(least_most_first_and_last_are_kept),
        cmocka_unit_test(each_launch_has_its_own_clock),
        cmocka_unit_test(records_of_no_use_are_explained),
        cmocka_unit_test(device_time_is_from_the_first_begin_to_the_last_end),
        cmocka_unit_test(a_tail_begins_above_one_and_a_half),
        cmocka_unit_test(the_frame_map_is_whole),
        cmocka_unit_test(the_page_has_the_same_map),
        cmocka_unit_test(modes_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
