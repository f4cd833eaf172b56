/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler.h"

#include "bwtool/clock.h"

/* Copies before the first timed one of a launch, and of each later gate. */
enum { WARM_FIRST = 4, WARM_LATER = 1 };

/* A copy the other way may go up to twice as fast as the measured one; more is found by trying. */
static const double load_factor_first = 1.25;
static const double load_factor_most = 16;

void bw_sampler_begin(struct bw_sampler *sampler, const struct bw_sampling *sampling,
                      const struct bw_engine_ops *ops, bool is_latency)
{
    *sampler = (struct bw_sampler){
        .sampling = sampling,
        .copies_per_entry = ops->copies_per_entry,
        .is_latency = is_latency,
        .load_factor = load_factor_first,
        .seed = (uint32_t)bw_clock_ns(),
    };
}

static unsigned long long copies_in_sample(const struct bw_sampler *sampler)
{
    return sampler->is_latency ? 1 : sampler->sampling->copies;
}

bool bw_sampler_next(struct bw_sampler *sampler, struct bw_round *round)
{
    /* Load is queued behind the same gate, and is more than what is measured. */
    const double entries_max = (BW_ROUND_ENTRIES_MAX - WARM_FIRST - 8) / sampler->load_factor;
    const unsigned long long copies_max =
        (unsigned long long)entries_max * sampler->copies_per_entry;
    const unsigned long long left =
        sampler->part_left != 0 ? sampler->part_left : copies_in_sample(sampler);
    const unsigned long long entries =
        (left + sampler->copies_per_entry - 1) / sampler->copies_per_entry + 1;
    const unsigned samples_left = sampler->sampling->samples - sampler->done;

    if (samples_left == 0) {
        return false;
    }
    *round = (struct bw_round){
        .samples = 1,
        .copies = left < copies_max ? left : copies_max,
        .warm = sampler->rounds == 0 ? WARM_FIRST : WARM_LATER,
        .load_factor = sampler->load_factor,
        .seed = sampler->seed += 0x9e3779b9u, /* far from the seeds of the round before */
    };
    if (sampler->part_left == 0 && left <= copies_max) {
        const unsigned long long fit = copies_max / (entries * sampler->copies_per_entry);

        round->samples = samples_left < BW_ROUND_SAMPLES_MAX ? samples_left : BW_ROUND_SAMPLES_MAX;
        round->samples = round->samples < fit ? round->samples : (unsigned)fit;
        round->samples = round->samples == 0 ? 1 : round->samples;
    }
    sampler->rounds++;
    return true;
}

bool bw_sampler_took(struct bw_sampler *sampler, const struct bw_round *round)
{
    const unsigned long long left =
        sampler->part_left != 0 ? sampler->part_left : copies_in_sample(sampler);

    sampler->part_left = round->samples == 1 ? left - round->copies : 0;
    if (sampler->part_left != 0) {
        return false;
    }
    sampler->done += round->samples;
    return true;
}

bool bw_sampler_more_load(struct bw_sampler *sampler)
{
    sampler->load_factor *= 1.6;
    return sampler->load_factor <= load_factor_most;
}
