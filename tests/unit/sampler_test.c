/* SPDX-License-Identifier: Apache-2.0 */
/* How many copies and samples a cell gets, and when it is enough. */
#include "unit.h"

#include "bwtool/testcase.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "../../src/measure/sampler.h"

static struct bw_sampling sampling;
static struct bw_engine_ops ops;
static struct bw_plan plan;
static struct bw_lane lane;
static struct bw_hint hint;
static struct bw_sampler sampler;
static struct bw_round measured;

/* `samples` 0: adaptive. One copy is one entry of the queue. */
static void begin(const char *testcase, unsigned samples, unsigned long long copies)
{
    sampling = (struct bw_sampling){.samples = samples, .copies = copies, .precision = 0.0025};
    ops = (struct bw_engine_ops){.copies_per_entry = 1};
    assert_true(bw_testcase_find(testcase) >= 0);
    plan = (struct bw_plan){.tc = &bw_testcases[bw_testcase_find(testcase)]};
    lane = (struct bw_lane){.ops = &ops, .plan = &plan, .entries_per_copy = 1};
    bw_sampler_begin(&sampler, &sampling, &lane, &hint);
}

static int fresh(void **state)
{
    (void)state;
    memset(&hint, 0, sizeof(hint));
    memset(&measured, 0, sizeof(measured));
    return 0;
}

static enum bw_take next(double copy_ns, double load_ratio)
{
    assert_true(bw_sampler_next(&sampler, &measured));
    assert_in_range(measured.samples, 1, BW_ROUND_SAMPLES_MAX);
    return bw_sampler_take(&sampler, &measured, copy_ns, load_ratio);
}

/* Warm-up is in front of the gate, which does not wait for ever: the more bytes, the less of it. */
static void long_copies_warm_up_less(void **state)
{
    static const struct {
        uint64_t bytes;
        unsigned samples, warm;
    } cases[] = {{512 << 20, 3, 4},         {UINT64_C(1) << 30, 3, 3}, {UINT64_C(2) << 30, 3, 1},
                 {UINT64_C(1) << 35, 3, 0}, {512 << 20, 0, 1},         {UINT64_C(1) << 36, 0, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        memset(&hint, 0, sizeof(hint));
        begin("host_to_device_memcpy_ce", cases[i].samples, 16);
        lane.bytes = cases[i].bytes;
        bw_sampler_begin(&sampler, &sampling, &lane, &hint);
        assert_true(bw_sampler_next(&sampler, &measured));
        assert_int_equal(measured.warm, cases[i].warm);
    }
}

static void fixed_counts_are_kept(void **state)
{
    unsigned samples = 0;

    (void)state;
    begin("host_to_device_memcpy_ce", 70, 3);
    while (bw_sampler_next(&sampler, &measured)) {
        assert_int_equal(measured.copies, 3);
        assert_int_equal(bw_sampler_take(&sampler, &measured, 1000, INFINITY), TAKE_WHOLE);
        assert_false(bw_sampler_is_due(&sampler));
        samples += measured.samples;
    }
    assert_int_equal(samples, 70);
}

/* A sample of more copies than fit behind a gate is put together from several. */
static void long_samples_come_in_parts(void **state)
{
    unsigned long long copies = 0;
    enum bw_take what = TAKE_PART;

    (void)state;
    begin("host_to_device_memcpy_ce", 1, 1000);
    while (what == TAKE_PART) {
        what = next(1000, INFINITY);
        assert_int_equal(measured.samples, 1);
        assert_true((double)measured.copies * hint.load_factor <= BW_ROUND_ENTRIES_MAX);
        copies += measured.copies;
    }
    assert_int_equal(what, TAKE_WHOLE);
    assert_int_equal(copies, 1000);
    assert_false(bw_sampler_next(&sampler, &measured));
}

/* With as much load as needed, entries of measured copies and of load stay below the queue. */
static void a_round_fits_behind_its_gate(void **state)
{
    (void)state;
    for (unsigned long long copies = 1; copies < 500; copies += 7) {
        hint.load_factor = (double)(copies % 20);
        begin("host_to_device_memcpy_ce", 32, copies);
        assert_true(bw_sampler_next(&sampler, &measured));
        assert_true(measured.load_factor >= 1.25);
        assert_true((double)(measured.samples * (measured.copies + 1)) * measured.load_factor <=
                    BW_ROUND_ENTRIES_MAX + measured.load_factor);
    }
}

/* 2.5 ms a sample: a copy of 100 us makes 25, and what was measured before is forgotten. */
static void short_copies_are_measured_together(void **state)
{
    (void)state;
    begin("host_to_device_memcpy_ce", 0, 0);
    assert_int_equal(next(100e3, INFINITY), TAKE_DISCARD);
    assert_int_equal(next(100e3, INFINITY), TAKE_WHOLE);
    assert_int_equal(measured.copies, 25);
    assert_int_equal(measured.samples, 6);
    assert_true(bw_sampler_is_due(&sampler));
    /* The next cell begins with as many, and keeps what it measures first. */
    begin("host_to_device_memcpy_ce", 0, 0);
    assert_int_equal(next(100e3, INFINITY), TAKE_WHOLE);
    assert_int_equal(measured.copies, 25);
}

static void enough_is_when_the_interval_is_narrow(void **state)
{
    (void)state;
    begin("host_to_device_memcpy_ce", 0, 0);
    assert_int_equal(next(3e6, INFINITY), TAKE_WHOLE);
    assert_int_equal(measured.copies, 1);
    bw_sampler_judge(&sampler, 0.0026, 6 * 1e6);
    assert_int_equal(next(3e6, INFINITY), TAKE_WHOLE);
    assert_int_equal(measured.samples, 6); /* as many again */
    bw_sampler_judge(&sampler, 0.0025, 12 * 1e6);
    assert_false(bw_sampler_next(&sampler, &measured));
}

/* 60 ms of timed work, or 120 samples, must do. */
static void there_is_a_cap(void **state)
{
    unsigned samples = 0;

    (void)state;
    begin("host_to_device_memcpy_ce", 0, 0);
    assert_int_equal(next(12e6, INFINITY), TAKE_WHOLE);
    bw_sampler_judge(&sampler, 0.5, 6 * 12e6);
    assert_false(bw_sampler_next(&sampler, &measured));

    fresh(NULL);
    begin("host_to_device_memcpy_ce", 0, 0);
    for (int i = 0; i < 1000 && bw_sampler_next(&sampler, &measured); i++) {
        assert_int_equal(bw_sampler_take(&sampler, &measured, 3e6, INFINITY), TAKE_WHOLE);
        samples += measured.samples;
        if (bw_sampler_is_due(&sampler)) {
            bw_sampler_judge(&sampler, 0.5, 1e3 * samples);
        }
    }
    assert_in_range(samples, 120, 180);
}

/* Load that ends too soon: more of it, a few times; then the value is in doubt. */
static void load_is_made_to_last(void **state)
{
    double factor = 0;
    int restarts = 0;

    (void)state;
    begin("host_to_device_bidirectional_memcpy_ce", 6, 1);
    while (next(1e6, 0.5) == TAKE_DISCARD) {
        assert_true(hint.load_factor > factor);
        factor = hint.load_factor;
        restarts++;
    }
    assert_int_equal(restarts, 4);
    assert_int_equal(bw_sampler_take(&sampler, &measured, 1e6, 0.5), TAKE_DOUBT);
    fresh(NULL);
    begin("host_to_device_bidirectional_memcpy_ce", 6, 1);
    assert_int_equal(next(1e6, 1), TAKE_WHOLE);
}

/* A part whose load ended too soon puts its whole sample in doubt, whatever the last part's did. */
static void doubt_of_a_part_stays(void **state)
{
    enum bw_take what = TAKE_DISCARD;

    (void)state;
    begin("host_to_device_bidirectional_memcpy_ce", 1, 1000);
    while (what == TAKE_DISCARD) { /* until there is no more load to be had */
        what = next(1000, 0.5);
    }
    assert_int_equal(what, TAKE_PART);
    while (what == TAKE_PART) {
        what = next(1000, 1);
    }
    assert_int_equal(what, TAKE_DOUBT);
}

/* What an earlier gate left must not pass for what this one copies. */
static void each_gate_has_a_seed_of_its_own(void **state)
{
    uint32_t seeds[8];

    (void)state;
    begin("host_to_device_memcpy_ce", 8 * BW_ROUND_SAMPLES_MAX, 1);
    for (int i = 0; i < 8; i++) {
        (void)next(1e6, INFINITY);
        seeds[i] = measured.seed;
        for (int k = 0; k < i; k++) {
            assert_int_not_equal(seeds[k], seeds[i]);
        }
    }
}

static void a_latency_is_one_pass_a_sample(void **state)
{
    (void)state;
    begin("host_device_latency_sm", 0, 0);
    assert_int_equal(next(10, INFINITY), TAKE_WHOLE);
    assert_int_equal(measured.copies, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(long_copies_warm_up_less, fresh),
        cmocka_unit_test_setup(fixed_counts_are_kept, fresh),
        cmocka_unit_test_setup(long_samples_come_in_parts, fresh),
        cmocka_unit_test_setup(a_round_fits_behind_its_gate, fresh),
        cmocka_unit_test_setup(short_copies_are_measured_together, fresh),
        cmocka_unit_test_setup(enough_is_when_the_interval_is_narrow, fresh),
        cmocka_unit_test_setup(there_is_a_cap, fresh),
        cmocka_unit_test_setup(load_is_made_to_last, fresh),
        cmocka_unit_test_setup(doubt_of_a_part_stays, fresh),
        cmocka_unit_test_setup(each_gate_has_a_seed_of_its_own, fresh),
        cmocka_unit_test_setup(a_latency_is_one_pass_a_sample, fresh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
