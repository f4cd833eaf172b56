/* SPDX-License-Identifier: Apache-2.0 */
/* Wall time counts to one phase at a time, and none of it is lost. */
#include "bwtool/clock.h"
#include "bwtool/phase.h"
#include "unit.h"

#include <string.h>

static void spend_us(unsigned us)
{
    const uint64_t until_ns = bw_clock_ns() + us * 1000ULL;

    while (bw_clock_ns() < until_ns) {
    }
}

static double sum_of(const struct bw_phases *phases)
{
    double sum = 0;

    for (int i = 0; i < PHASE_COUNT; i++) {
        assert_true(phases->s[i] >= 0);
        sum += phases->s[i];
    }
    return sum;
}

static void time_counts_to_the_phase_it_is_in(void **state)
{
    const enum bw_phase outer = bw_phase_enter(PHASE_SAMPLES);
    const uint64_t earliest_ns = bw_clock_ns();
    const struct bw_phases before = bw_phases_so_far();
    const uint64_t begun_ns = bw_clock_ns();
    uint64_t ending_ns = 0;
    struct bw_phases spent;

    (void)state;
    spend_us(3000);
    assert_int_equal(bw_phase_enter(PHASE_STATE), PHASE_SAMPLES);
    spend_us(2000);
    assert_int_equal(bw_phase_enter(PHASE_SAMPLES), PHASE_STATE);
    spend_us(1000);
    ending_ns = bw_clock_ns();
    spent = bw_phases_since(&before);
    assert_true(sum_of(&spent) <= (double)(bw_clock_ns() - earliest_ns) * 1e-9 + 1e-6);
    assert_true(sum_of(&spent) >= (double)(ending_ns - begun_ns) * 1e-9 - 1e-6);
    assert_true(spent.s[PHASE_SAMPLES] >= 0.004 - 1e-6);
    assert_true(spent.s[PHASE_STATE] >= 0.002 - 1e-6);
    assert_true(spent.s[PHASE_VERIFY] == 0);
    (void)bw_phase_enter(outer);
}

static void each_has_a_name(void **state)
{
    (void)state;
    for (int i = 0; i < PHASE_COUNT; i++) {
        assert_non_null(bw_phase_name((enum bw_phase)i));
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(bw_phase_name((enum bw_phase)i),
                                    bw_phase_name((enum bw_phase)j));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_counts_to_the_phase_it_is_in),
        cmocka_unit_test(each_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
