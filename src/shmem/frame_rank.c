/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one rank recorded, summed up. Times are of launches, not of entries: a
 * frame that is entered a hundred times counts a hundred times. Cycles become
 * time by the ratio of the launch that they are of, all blocks together, since
 * the timer's steps may be as long as a block.
 */
#include "bwtool/frames.h"

#include "bwtool/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct records {
    const struct bw_frame_cta *all;
    unsigned launches, blocks;
};

static const struct bw_frame_cta *record_of(const struct records *r, unsigned launch,
                                            unsigned block)
{
    return &r->all[(size_t)launch * r->blocks + block];
}

static const char *check(const struct records *r)
{
    if (r->launches == 0 || r->blocks == 0) {
        return "no launch was recorded";
    }
    for (size_t i = 0; i < (size_t)r->launches * r->blocks; i++) {
        if (r->all[i].is_written != 1) {
            return "a block left no record: it did not run to its end";
        }
        if (r->all[i].end_ns < r->all[i].begin_ns) {
            return "the GPU's timer went backwards";
        }
    }
    return NULL;
}

/* Cycles in a ns over some launches; NAN if the timer stood still. */
static double rate_of(const struct records *r, unsigned first, unsigned end)
{
    double cycles = 0;
    double ns = 0;

    for (unsigned l = first; l < end; l++) {
        for (unsigned b = 0; b < r->blocks; b++) {
            const struct bw_frame_cta *record = record_of(r, l, b);

            cycles += (double)record->cycles;
            ns += (double)(record->end_ns - record->begin_ns);
        }
    }
    return ns > 0 && cycles > 0 ? cycles / ns : (double)NAN;
}

/* Cycles in a us, a launch; the mean of all where the timer made no step in one. */
static bool find_rates(const struct records *r, struct bw_frame_rank *rank, double *per_us)
{
    rank->ghz = rate_of(r, 0, r->launches);
    rank->ghz_min = rank->ghz_max = rank->ghz;
    for (unsigned l = 0; l < r->launches; l++) {
        const double rate = rate_of(r, l, l + 1);

        per_us[l] = (isnan(rate) ? rank->ghz : rate) * 1e3;
        rank->ghz_min = fmin(rank->ghz_min, rate);
        rank->ghz_max = fmax(rank->ghz_max, rate);
    }
    return !isnan(rank->ghz);
}

static void find_windows(const struct records *r, struct bw_frame_rank *rank, double *dev_us)
{
    struct bw_stats stats;

    for (unsigned l = 0; l < r->launches; l++) {
        uint64_t begin = UINT64_MAX;
        uint64_t end = 0;

        for (unsigned b = 0; b < r->blocks; b++) {
            const struct bw_frame_cta *record = record_of(r, l, b);

            begin = record->begin_ns < begin ? record->begin_ns : begin;
            end = record->end_ns > end ? record->end_ns : end;
            rank->window_us += (double)(record->end_ns - record->begin_ns) * 1e-3;
        }
        dev_us[l] = (double)(end - begin) * 1e-3;
    }
    rank->window_us /= (double)r->launches * r->blocks;
    stats = bw_stats_of(dev_us, r->launches);
    rank->dev_us = stats.median;
    rank->dev_min_us = stats.min;
    rank->dev_max_us = stats.max;
}

/* One block's entries of a frame, over all launches. */
struct of_block {
    double incl_us, self_us;
    unsigned entered; /* launches that it entered the frame in */
    double first_us, last_us;
    int sm;
};

static void add_entry(struct bw_frame_sum *sum, const struct bw_frame_record *record, double per_us,
                      struct of_block *block)
{
    const bool is_first = sum->count_max == 0;

    block->incl_us += (double)record->sum / per_us;
    block->self_us += (double)(record->sum - record->children) / per_us;
    if (block->entered++ == 0) {
        block->first_us = (double)record->first / per_us;
    }
    block->last_us = (double)record->last / per_us;
    sum->parents |= record->parents;
    sum->count_min = is_first || record->count < sum->count_min ? record->count : sum->count_min;
    sum->count_max = record->count > sum->count_max ? record->count : sum->count_max;
    sum->call_min_us = is_first ? (double)record->min / per_us
                                : fmin(sum->call_min_us, (double)record->min / per_us);
    sum->call_max_us = fmax(sum->call_max_us, (double)record->max / per_us);
}

static void add_block(struct bw_frame_sum *sum, const struct of_block *block, int number,
                      const struct records *r)
{
    const double incl_us = block->incl_us / r->launches;

    sum->incl_us += incl_us / r->blocks;
    sum->self_us += block->self_us / r->launches / r->blocks;
    sum->first_us += block->first_us;
    sum->last_us += block->last_us;
    sum->count_min = block->entered < r->launches ? 0 : sum->count_min;
    if (sum->blocks++ == 0 || incl_us > sum->max_us) {
        sum->max_us = incl_us;
        sum->max_block = number;
        sum->max_sm = block->sm;
    }
}

static void sum_frame(const struct records *r, int frame, const double *per_us,
                      struct bw_frame_sum *sum)
{
    for (unsigned b = 0; b < r->blocks; b++) {
        struct of_block block = {.sm = (int)record_of(r, 0, b)->sm};

        for (unsigned l = 0; l < r->launches; l++) {
            const struct bw_frame_record *record = &record_of(r, l, b)->frames[frame];

            if (record->count > 0) {
                add_entry(sum, record, per_us[l], &block);
                block.sm = (int)record_of(r, l, b)->sm;
            }
        }
        if (block.entered > 0) {
            add_block(sum, &block, (int)b, r);
        }
    }
    if (sum->blocks > 0) {
        sum->first_us /= sum->blocks;
        sum->last_us /= sum->blocks;
    }
}

const char *bw_frame_rank_sum(struct bw_frame_rank *rank, const struct bw_frame_cta *records,
                              unsigned launches, unsigned blocks)
{
    const struct records r = {records, launches, blocks};
    const struct bw_frame_tick tick = rank->tick;
    const char *reason = check(&r);
    double *of_launches = NULL;

    *rank = (struct bw_frame_rank){.launches = launches, .blocks = blocks, .tick = tick};
    if (reason != NULL) {
        return reason;
    }
    of_launches = calloc(launches, sizeof(*of_launches));
    if (of_launches == NULL) {
        return "no memory for frames";
    }
    find_windows(&r, rank, of_launches);
    if (find_rates(&r, rank, of_launches)) {
        for (int f = 0; f < FRAME_COUNT; f++) {
            sum_frame(&r, f, of_launches, &rank->frames[f]);
        }
    } else {
        reason = "the GPU's timer made no step while the kernel ran";
    }
    free(of_launches);
    return reason;
}
