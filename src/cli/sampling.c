/* SPDX-License-Identifier: Apache-2.0 */
/* How samples are taken, from the options: the same in all processes of a run. */
#include "run.h"

#include "bwtool/clock.h"
#include "bwtool/measure.h"

void bw_run_sampling(struct bw_sampling *sampling, const struct bw_options *options)
{
    /* Either count fixes both, as nvbandwidth's defaults do. */
    const bool is_fixed = options->has_test_samples || options->has_loop_count;

    *sampling = (struct bw_sampling){
        .buffer_bytes = options->buffer_bytes,
        .samples = is_fixed ? (unsigned)options->test_samples : 0,
        .copies = is_fixed ? options->loop_count : 0,
        .precision = options->precision,
        .deadline_ns = options->max_time_s == 0
                           ? UINT64_MAX
                           : bw_clock_ns() + options->max_time_s * 1000000000ULL,
        .use_mean = options->use_mean,
        .skip_verification = options->skip_verification,
        .no_multicast = options->no_multicast,
        .multicast_width = options->multicast_width < 16 ? 4 : 16,
        .bind = !options->disable_affinity,
        .corrupt_word = options->corrupt_word,
        .created_memory = options->created_memory,
        .peaks = options->peaks,
        .peak_count = options->peak_count,
    };
}
