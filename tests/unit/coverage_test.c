/* SPDX-License-Identifier: Apache-2.0 */
/* The stated interval covers the true median as often as it says, also when samples are taken
 * until it is narrow enough, which looks again and again. */
#include "bwtool/stats.h"
#include "unit.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../src/measure/sampler.h"

enum { RUNS = 2000, SAMPLES_MOST = 256 };
static const double true_ns = 3e5; /* of a copy: its median */

/* Between 0 and 1, neither of them; the same numbers every time. */
static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
}

/* Median 0, standard deviation near to 1. */
static double bell(uint64_t *seed)
{
    return sqrt(-2 * log(uniform(seed))) * cos(6.283185307179586 * uniform(seed));
}

/* Median 0, with a long tail of slow ones, as a shared link has. */
static double tail(uint64_t *seed)
{
    return -log(uniform(seed)) - 0.6931471805599453;
}

/* Median 0, two levels, as a link that sometimes retries: most are even, a quarter are slow. */
static double steps(uint64_t *seed)
{
    return bell(seed) * 0.3 + (uniform(seed) < 0.25 ? 2 : 0) - 0.13;
}

/* One cell, by the sampler's own rules: true if the interval covers the true median. */
static bool is_covered(double (*noise)(uint64_t *seed), double amount, uint64_t *seed)
{
    double ns[SAMPLES_MOST];
    struct bw_engine_ops ops = {.copies_per_entry = 1};
    struct bw_sampling sampling = {.precision = 0.0025};
    struct bw_plan plan = {.tc = &bw_testcases[0]};
    struct bw_lane lane = {.ops = &ops, .plan = &plan, .entries_per_copy = 1};
    struct bw_hint hint = {0};
    struct bw_sampler sampler;
    struct bw_round round;
    struct bw_stats stats;
    double sum_ns = 0;
    unsigned count = 0;

    bw_sampler_begin(&sampler, &sampling, &lane, &hint);
    while (bw_sampler_next(&sampler, &round)) {
        for (unsigned i = 0; i < round.samples; i++) {
            assert_true(count < SAMPLES_MOST);
            ns[count] = true_ns * (1 + amount * noise(seed));
            sum_ns += ns[count++] * (double)round.copies;
        }
        if (bw_sampler_take(&sampler, &round, true_ns, INFINITY) == TAKE_DISCARD) {
            count = 0;
            sum_ns = 0;
        } else if (bw_sampler_is_due(&sampler)) {
            stats = bw_stats_of(ns, count);
            bw_sampler_judge(&sampler, bw_stats_precision(&stats), sum_ns);
        }
    }
    stats = bw_stats_of(ns, count);
    return stats.ci_low <= true_ns && true_ns <= stats.ci_high;
}

/* By chance it may be 0.5 % off in 2,000 cells; few samples make the interval cover more. */
static void the_interval_covers_what_it_says(void **state)
{
    static double (*const kinds[])(uint64_t * seed) = {bell, tail, steps};
    static const double amounts[] = {0.0005, 0.002, 0.005, 0.02};

    (void)state;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (size_t a = 0; a < sizeof(amounts) / sizeof(amounts[0]); a++) {
            uint64_t seed = 42;
            unsigned covered = 0;

            for (int run = 0; run < RUNS; run++) {
                covered += is_covered(kinds[k], amounts[a], &seed);
            }
            assert_in_range(covered, RUNS * 94 / 100, RUNS * 99 / 100);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_interval_covers_what_it_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
