/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SAMPLER_H
#define BW_SAMPLER_H

#include "lane.h"

/*
 * Decides what the next gate measures, and when enough has been measured. A
 * sample whose copies do not fit behind one gate is put together from several.
 */
struct bw_sampler {
    const struct bw_sampling *sampling;
    unsigned long long copies_per_entry;
    bool is_latency;
    unsigned done;                /* samples finished                                   */
    unsigned long long part_left; /* copies that the sample under way still lacks       */
    double load_factor;
    uint32_t seed;
    unsigned rounds;
};

void bw_sampler_begin(struct bw_sampler *sampler, const struct bw_sampling *sampling,
                      const struct bw_engine_ops *ops, bool is_latency);

/* False if enough has been measured. */
bool bw_sampler_next(struct bw_sampler *sampler, struct bw_round *round);

/* The round was measured. True if it ended its samples, false if they go on in the next round. */
bool bw_sampler_took(struct bw_sampler *sampler, const struct bw_round *round);

/*
 * The load ended before what it should load: do more, and measure again. False
 * if that was tried often enough.
 */
bool bw_sampler_more_load(struct bw_sampler *sampler);

#endif
