/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/options.h"
#include "unit.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define TIB ((uint64_t)1 << 40)

static void sizes_are_read(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {
        {"512", 512 * MIB},
        {"1", MIB},
        {"+64", 64 * MIB},
        {"0064", 64 * MIB},
        {"64K", 64 * KIB},
        {"64k", 64 * KIB},
        {"64KiB", 64 * KIB},
        {"64kib", 64 * KIB},
        {"4M", 4 * MIB},
        {"4MiB", 4 * MIB},
        {"1G", GIB},
        {"3GiB", 3 * GIB},
        {"1T", TIB},
        {"64TiB", 64 * TIB},
        {"1K", KIB},
        {"1024B", KIB},
        {"1000001b", 1000001},
        {"67108864", 64 * TIB},        /* the greatest, in MiB */
        {"70368744177664B", 64 * TIB}, /* and in bytes */
        {"5000000K", 5000000 * KIB},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 0;

        print_message("size %s\n", cases[i].text);
        assert_true(bw_options_size(cases[i].text, &bytes));
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void all_else_is_refused_and_leaves_the_output(void **state)
{
    static const char *const cases[] = {
        "",
        "0",
        "00",
        "-1",
        "-0",
        "+",
        "++1",
        "+-1",
        " 1",
        "1 ",
        "1.5",
        "1.5M",
        "1e3",
        "0x40",
        "K",
        "KiB",
        "1KB",
        "1MB",
        "1gb",
        "1TB",
        "1Ki",
        "1i",
        "1KK",
        "1KiBs",
        "1P",
        "1 K",
        "1,000",
        "1023B",
        "0K",
        "=64",
        "65T",
        "67108865",
        "65537G",
        "1B",
        "nan",
        "inf",
        "512\n",
        "68719476737K",
        "70368744177665B",
        "18446744073709551616",
        "18446744073709551615",
        "18014398509481984K",
        "99999999999999999999999999999999999999999999",
        "17592186044417M",
        "16777217T",
        "\xc2\xb2",
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 77;

        print_message("no size: %s\n", cases[i]);
        assert_false(bw_options_size(cases[i], &bytes));
        assert_int_equal(bytes, 77);
    }
}

static void percentages_are_fractions(void **state)
{
    static const struct {
        const char *text;
        double fraction; /* 0: refused */
    } cases[] = {
        {"0.25%", 0.0025}, {"0.25", 0.0025}, {"0.01", 0.0001}, {"50%", 0.5}, {"50", 0.5},
        {"50.01", 0},      {"0.0099", 0},    {"", 0},          {"-1", 0},    {"nan", 0},
        {"1%%", 0},        {"1e9", 0},       {"%", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double fraction = 0;

        print_message("percentage: %s\n", cases[i].text);
        assert_int_equal(bw_options_percent(cases[i].text, &fraction), cases[i].fraction > 0);
        assert_true(fraction > cases[i].fraction - 1e-12 && fraction < cases[i].fraction + 1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_read),
        cmocka_unit_test(percentages_are_fractions),
        cmocka_unit_test(all_else_is_refused_and_leaves_the_output),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
