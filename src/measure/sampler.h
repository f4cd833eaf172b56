/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SAMPLER_H
#define BW_SAMPLER_H

#include "lane.h"

/*
 * Decides what the next gate measures, and when enough has been measured.
 *
 * With fixed counts, samples and copies are as asked for; a sample whose
 * copies do not fit behind one gate is put together from several. Else the
 * copies of a sample are chosen so that it lasts long against what events
 * cost, and samples are taken until the interval of the median is as narrow as
 * asked for, or a cap is reached.
 */

/* What one cell of a testcase has found out for the next. Zeroed: nothing. */
struct bw_hint {
    unsigned long long copies; /* in a sample                                    */
    unsigned samples;          /* that it took: the next takes them at one gate  */
    double copy_ns;
    double load_factor;
};

struct bw_sampler {
    const struct bw_sampling *sampling;
    struct bw_hint *hint;
    unsigned long long copies_per_entry; /* of the queue                    */
    unsigned entries_per_copy;           /* 1, but for a chase in many parts */
    uint64_t bytes;                      /* of a copy                        */
    bool is_adaptive, is_latency;
    unsigned long long copies;    /* in a sample                                      */
    unsigned long long part_left; /* copies that the sample under way still lacks     */
    bool is_load_short;           /* of a sample since the last restart, or a part of one */
    unsigned done;                /* samples finished                                 */
    unsigned want;                /* samples to finish before the next look           */
    unsigned rounds, restarts;
    uint32_t seed;
};

/* `lane` stands for all: they do the same. */
void bw_sampler_begin(struct bw_sampler *sampler, const struct bw_sampling *sampling,
                      const struct bw_lane *lane, struct bw_hint *hint);

/* False if enough has been measured. */
bool bw_sampler_next(struct bw_sampler *sampler, struct bw_round *round);

/* What to do with the times of the round that was just measured. */
enum bw_take {
    TAKE_WHOLE,   /* its samples are complete                                 */
    TAKE_PART,    /* its one sample goes on in the next round                 */
    TAKE_DISCARD, /* forget everything of this cell so far: it starts anew    */
    TAKE_DOUBT,   /* like WHOLE, but the load ended before what it should load */
};

/*
 * `copy_ns`: time of one copy in this round. `load_ratio`: how long the
 * shortest load lasted, in units of what it should outlast; INFINITY without.
 */
enum bw_take bw_sampler_take(struct bw_sampler *sampler, const struct bw_round *round,
                             double copy_ns, double load_ratio);

/*
 * Look at what there is so far, when bw_sampler_is_due(): go on or not.
 * `precision` as bw_stats_precision() says it, `measured_ns` all timed work.
 */
bool bw_sampler_is_due(const struct bw_sampler *sampler);
void bw_sampler_judge(struct bw_sampler *sampler, double precision, double measured_ns);

#endif
