/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table over all ranks. Self times and what is unattributed add up to e2e:
 * a frame inside another one counts once, in its own line.
 */
#include "bwtool/frames.h"

#include <math.h>
#include <stdlib.h>

static void add_rank(struct bw_frame_row *row, const struct bw_frame_sum *sum, int rank,
                     unsigned *entered)
{
    if (sum->blocks == 0) {
        return;
    }
    row->count_min =
        *entered == 0 || sum->count_min < row->count_min ? sum->count_min : row->count_min;
    row->count_max = sum->count_max > row->count_max ? sum->count_max : row->count_max;
    row->parents |= sum->parents;
    if (*entered == 0 || sum->max_us > row->max_core_us) {
        row->max_core_us = sum->max_us;
        row->max_rank = rank;
        row->max_block = sum->max_block;
        row->max_sm = sum->max_sm;
    }
    *entered += sum->blocks;
}

/* A frame on all ranks; false if nobody entered it. */
static bool fill_row(const struct bw_frame_table *table, enum bw_frame frame,
                     struct bw_frame_row *row)
{
    unsigned entered = 0;
    double blocks = 0;
    double incl_us = 0;
    double self_us = 0;

    *row = (struct bw_frame_row){.frame = frame};
    for (int r = 0; r < table->rank_count; r++) {
        const struct bw_frame_rank *rank = &table->ranks[r];

        add_rank(row, &rank->frames[frame], r, &entered);
        incl_us += rank->frames[frame].incl_us * rank->blocks;
        self_us += rank->frames[frame].self_us * rank->blocks;
        blocks += rank->blocks;
    }
    if (entered == 0) {
        return false;
    }
    row->incl_us = incl_us / blocks;
    row->self_us = self_us / blocks;
    row->avg_us = incl_us / entered;
    row->share_pct = row->self_us / table->e2e_us * 100;
    row->is_tail = row->avg_us > 0 && row->max_core_us / row->avg_us > BW_FRAME_TAIL;
    return true;
}

/* Mean over all blocks of all ranks. */
static double window_us(const struct bw_frame_table *table)
{
    double sum = 0;
    double blocks = 0;

    for (int r = 0; r < table->rank_count; r++) {
        sum += table->ranks[r].window_us * table->ranks[r].blocks;
        blocks += table->ranks[r].blocks;
    }
    return blocks > 0 ? sum / blocks : 0;
}

static void find_slowest(struct bw_frame_table *table)
{
    table->dev_us = table->gap_us = NAN;
    for (int r = 0; r < table->rank_count; r++) {
        if (!(table->ranks[r].dev_us <= table->dev_us)) {
            table->dev_us = table->ranks[r].dev_us;
            table->gap_us =
                table->rank_kernel_us != NULL ? table->rank_kernel_us[r] - table->dev_us : NAN;
        }
    }
}

void bw_frame_table_fill(struct bw_frame_table *table)
{
    const double window = window_us(table);
    double self = 0;
    size_t largest = 0;

    table->count = 0;
    for (int f = 0; f < FRAME_COUNT; f++) {
        struct bw_frame_row *row = &table->rows[table->count];

        if (fill_row(table, (enum bw_frame)f, row)) {
            self += row->self_us;
            largest = row->self_us > table->rows[largest].self_us ? table->count : largest;
            table->count++;
        }
    }
    if (table->count > 0) {
        table->rows[largest].is_largest = true;
    }
    table->inside_us = window - self;
    table->outside_us = table->e2e_us - window;
    table->unattributed_us = table->e2e_us - self;
    table->unattributed_pct = table->unattributed_us / table->e2e_us * 100;
    table->perturbation = table->kernel_us / table->plain_us;
    find_slowest(table);
}

void bw_frame_table_free(struct bw_frame_table *table)
{
    if (table != NULL) {
        free(table->reason);
        free(table->ranks);
        free(table->rank_kernel_us);
        free(table);
    }
}

bool bw_frame_table_has(const struct bw_frame_table *table, enum bw_frame_class of)
{
    for (size_t i = 0; i < table->count; i++) {
        if (bw_frame_map[table->rows[i].frame].of == of) {
            return true;
        }
    }
    return false;
}
