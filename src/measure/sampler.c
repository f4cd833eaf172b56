/* SPDX-License-Identifier: Apache-2.0 */
#include "sampler.h"

#include "bwtool/clock.h"

#include <math.h>

/*
 * Copies before the first timed one of each gate: as nvbandwidth has them where
 * the counts are its own; else one, which is enough for GPUs that are warm
 * (warm.c) and is left out where a copy takes long.
 */
enum { WARM_FIXED = 4, WARM_ADAPTIVE = 1 };
static const double long_copy_ns = 4e6;

/* Fewest samples of which an interval of the median can be told, and the most that are taken. */
enum { SAMPLES_FLOOR = 6, SAMPLES_CAP = 120 };

/* Timed work of one cell after which its samples must do, once the floor is reached. */
static const double measured_cap_ns = 60e6;

/*
 * A sample lasts at least so long: two events with nothing between them are 3
 * us apart, which is then about 0.1 %.
 */
static const double sample_ns = 2.5e6;

/* Copies of a sample never fill the queue: several samples share a gate. */
enum { COPIES_ENTRIES_MAX = 60 };

/* Load goes on for so much longer than what it loads; how much more is found by trying. */
static const double load_factor_first = 1.25;
static const double load_factor_most = 20;

enum { RESTARTS_MAX = 4 };

void bw_sampler_begin(struct bw_sampler *sampler, const struct bw_sampling *sampling,
                      const struct bw_lane *lane, struct bw_hint *hint)
{
    *sampler = (struct bw_sampler){
        .sampling = sampling,
        .hint = hint,
        .copies_per_entry = lane->ops->copies_per_entry,
        .entries_per_copy = lane->entries_per_copy,
        .bytes = lane->bytes,
        .is_adaptive = sampling->samples == 0,
        .is_latency = bw_testcase_is_latency(lane->plan->tc),
        .seed = (uint32_t)bw_clock_ns(),
    };
    if (hint->load_factor < load_factor_first) {
        hint->load_factor = load_factor_first;
    }
    if (hint->copies == 0) {
        hint->copies = 1;
        hint->samples = SAMPLES_FLOOR;
    }
    sampler->want = sampler->is_adaptive ? hint->samples : sampling->samples;
    sampler->copies = sampler->is_adaptive ? hint->copies : sampling->copies;
    if (sampler->is_latency) {
        sampler->copies = 1; /* one pass over the list */
    }
}

/* Entries that so many copies take in a queue. */
static double entries_of(const struct bw_sampler *sampler, unsigned long long copies)
{
    return ceil((double)copies / (double)sampler->copies_per_entry) * sampler->entries_per_copy;
}

static unsigned warm_wanted(const struct bw_sampler *sampler)
{
    if (!sampler->is_adaptive) {
        return sampler->rounds == 0 ? WARM_FIXED : WARM_ADAPTIVE;
    }
    /* One thread that chases keeps no clock up: it warms up itself. */
    if (sampler->is_latency) {
        return sampler->rounds == 0 ? WARM_ADAPTIVE : 0;
    }
    return sampler->hint->copy_ns > long_copy_ns ? 0 : WARM_ADAPTIVE;
}

/* They are in front of the gate, which waits for nothing longer than its 20 s. */
static unsigned warm_copies(const struct bw_sampler *sampler)
{
    const unsigned wanted = warm_wanted(sampler);
    const uint64_t fit = sampler->bytes > 0 ? BW_WARM_BYTES_MAX / sampler->bytes : wanted;

    return fit < wanted ? (unsigned)fit : wanted;
}

bool bw_sampler_next(struct bw_sampler *sampler, struct bw_round *round)
{
    /* Load is queued behind the same gate, and is more than what is measured. */
    const double room = BW_ROUND_ENTRIES_MAX / sampler->hint->load_factor;
    const unsigned long long left = sampler->part_left != 0 ? sampler->part_left : sampler->copies;
    const unsigned long long fit =
        (unsigned long long)(room / sampler->entries_per_copy) * sampler->copies_per_entry;
    const double samples_fit = floor(room / (entries_of(sampler, left) + 1));
    unsigned samples = sampler->want - sampler->done;

    if (sampler->done >= sampler->want) {
        return false;
    }
    samples = samples < BW_ROUND_SAMPLES_MAX ? samples : BW_ROUND_SAMPLES_MAX;
    if (sampler->part_left != 0 || samples_fit < 1) {
        samples = 1;
    } else if (samples > samples_fit) {
        samples = (unsigned)samples_fit;
    }
    *round = (struct bw_round){
        .samples = samples,
        .copies = left < fit ? left : fit,
        .warm = warm_copies(sampler),
        .load_factor = sampler->hint->load_factor,
        .seed = sampler->seed += 0x9e3779b9u, /* far from the seeds of the round before */
    };
    sampler->rounds++;
    return true;
}

/* Copies that make a sample long enough. */
static unsigned long long copies_wanted(const struct bw_sampler *sampler, double copy_ns)
{
    const double most = (double)COPIES_ENTRIES_MAX * (double)sampler->copies_per_entry;
    const double wanted = ceil(sample_ns / (copy_ns > 0 ? copy_ns : 1));

    return (unsigned long long)(wanted < most ? wanted : most);
}

static enum bw_take restart(struct bw_sampler *sampler)
{
    sampler->restarts++;
    sampler->done = 0;
    sampler->part_left = 0;
    sampler->is_load_short = false;
    sampler->want = sampler->is_adaptive ? sampler->hint->samples : sampler->sampling->samples;
    return TAKE_DISCARD;
}

enum bw_take bw_sampler_take(struct bw_sampler *sampler, const struct bw_round *round,
                             double copy_ns, double load_ratio)
{
    const bool may_restart = sampler->restarts < RESTARTS_MAX;
    const unsigned long long left = sampler->part_left != 0 ? sampler->part_left : sampler->copies;
    bool is_short = false;

    sampler->hint->copy_ns = copy_ns;
    if (sampler->is_adaptive && !sampler->is_latency && may_restart) {
        const unsigned long long wanted = copies_wanted(sampler, copy_ns);

        is_short = wanted > sampler->copies + sampler->copies / 2;
        if (is_short) {
            sampler->copies = sampler->hint->copies = wanted;
        }
    }
    if (load_ratio < 1 && may_restart && sampler->hint->load_factor < load_factor_most) {
        sampler->hint->load_factor *= fmin(1.15 / fmax(load_ratio, 0.1), 4);
        return restart(sampler);
    }
    if (is_short) {
        return restart(sampler);
    }
    sampler->is_load_short |= load_ratio < 1;
    sampler->part_left = left - round->copies;
    if (sampler->part_left != 0) {
        return TAKE_PART;
    }
    sampler->done += round->samples;
    return sampler->is_load_short ? TAKE_DOUBT : TAKE_WHOLE;
}

bool bw_sampler_is_due(const struct bw_sampler *sampler)
{
    return sampler->is_adaptive && sampler->done >= sampler->want;
}

void bw_sampler_judge(struct bw_sampler *sampler, double precision, double measured_ns)
{
    const double one_ns = measured_ns / sampler->done;
    const double fit = floor((measured_cap_ns - measured_ns) / one_ns);
    unsigned more = sampler->done < 12 ? SAMPLES_FLOOR : sampler->done / 2;

    /* The next cell of this testcase is likely to need as many. */
    sampler->hint->samples = sampler->done;
    if (precision <= sampler->sampling->precision) {
        sampler->hint->samples = sampler->done > SAMPLES_FLOOR ? sampler->done - 1 : SAMPLES_FLOOR;
        return;
    }
    if (fit < 2 || sampler->done >= SAMPLES_CAP) {
        return;
    }
    more = more < fit ? more : (unsigned)fit;
    sampler->want = sampler->done + more;
}
