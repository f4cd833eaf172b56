/* SPDX-License-Identifier: Apache-2.0 */
/* Peaks against the numbers that vendors' tables have. */
#include "unit.h"

#include "bwtool/pci.h"
#include "bwtool/peak.h"

#include <math.h>
#include <string.h>

#define assert_near(value, wanted) assert_true(fabs((value) - (wanted)) < 0.006)

/* As on two H200s behind switches. */
static struct bw_port h200(void)
{
    return (struct bw_port){
        .pcie_gen = 5,
        .pcie_width = 16,
        .pcie_payload = 256,
        .above_gen = -1,
        .above_width = -1,
        .nvlinks = 18,
        .nvlink_mbps = 26562,
        .has_switch = true,
        .c2c_links = 0,
        .c2c_mbps = -1,
        .memory_mhz = 3201,
        .memory_bits = 6144,
    };
}

static struct bw_port all[8];
static struct bw_ports ports = {.ports = all, .count = 8};

static struct bw_peak peak(const char *name, int ends, int row, int col, int matrix)
{
    const struct bw_testcase *tc = &bw_testcases[bw_testcase_find(name)];
    struct bw_plan plan = {0};
    struct bw_peak found;

    assert_true(bw_testcase_find(name) >= 0);
    assert_int_equal(bw_plan_build(&plan, tc, ends, NULL), BW_OK);
    assert_non_null(bw_plan_find(&plan, row, col));
    found = bw_peak_of(&ports, &plan, bw_plan_find(&plan, row, col), matrix, 0);
    bw_plan_free(&plan);
    return found;
}

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        all[i] = h200();
    }
    ports.overrides = NULL;
    ports.override_count = 0;
    return 0;
}

static void pcie(void **state)
{
    static const double rows[][5] = {
        /* generation, encoded, written in 128 and 256 bytes, read in 256 */
        {3, 15.75, 13.27, 14.40, 14.61},
        {4, 31.51, 26.53, 28.81, 29.22},
        {5, 63.02, 53.07, 57.61, 58.45},
        {6, 118.0, 104.9, 111.1, 112.7},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int gen = (int)rows[i][0];
        const double rate = bw_pci_gb_per_s(gen, 16);

        assert_true(fabs(rate - rows[i][1]) < 0.01);
        assert_true(fabs(rate * bw_pci_write_part(gen, 128) - rows[i][2]) < 0.06);
        assert_true(fabs(rate * bw_pci_write_part(gen, 256) - rows[i][3]) < 0.06);
        assert_true(fabs(rate * bw_pci_read_part(gen, 256) - rows[i][4]) < 0.06);
    }
    assert_true(isnan(bw_pci_gb_per_s(7, 16)));
    assert_true(isnan(bw_pci_gb_per_s(5, -1)));
    assert_near(bw_pci_gb_per_s(1, 4), 1.0);
}

static void host_copies(void **state)
{
    struct bw_peak found = peak("host_to_device_memcpy_ce", 2, 0, 1, 0);

    (void)state;
    assert_int_equal(found.link, LINK_PCIE);
    assert_near(found.nominal_gb_per_s, 63.02);
    assert_near(found.bound_gb_per_s, 58.45);
    assert_non_null(strstr(found.source, "PCIe 5.0 x16"));
    found = peak("device_to_host_memcpy_sm", 2, 0, 1, 0);
    assert_near(found.bound_gb_per_s, 57.61);
    all[1].pcie_payload = -1;
    found = peak("device_to_host_memcpy_sm", 2, 0, 1, 0);
    assert_near(found.bound_gb_per_s, 57.61);
    assert_non_null(strstr(found.source, "assumed"));
    /* Load on the others does not change what one link can do. */
    assert_near(peak("all_to_host_memcpy_ce", 2, 0, 0, 0).bound_gb_per_s, 57.61);
}

static void a_slow_link_above(void **state)
{
    struct bw_peak found;

    (void)state;
    all[0].above_gen = 4;
    all[0].above_width = 8;
    strcpy(all[0].above, "0000:10:00.0");
    found = peak("host_to_device_memcpy_ce", 1, 0, 0, 0);
    assert_near(found.nominal_gb_per_s, 15.75);
    assert_non_null(strstr(found.source, "PCIe 4.0 x8 as negotiated above 0000:10:00.0"));
}

static void nvlink(void **state)
{
    struct bw_peak found = peak("device_to_device_memcpy_read_ce", 2, 0, 1, 0);

    (void)state;
    assert_int_equal(found.link, LINK_NVLINK);
    assert_near(found.nominal_gb_per_s, 450);
    assert_near(found.bound_gb_per_s, 423.53);
    assert_near(peak("device_to_device_memcpy_read_sm", 2, 0, 1, 0).bound_gb_per_s, 400);
    all[1].nvlinks = 16;
    assert_near(peak("device_to_device_memcpy_read_ce", 2, 0, 1, 0).nominal_gb_per_s, 400);
    all[0].nvlink_mbps = all[1].nvlink_mbps = 53125;
    all[1].nvlinks = 18;
    assert_near(peak("device_to_device_memcpy_read_ce", 2, 0, 1, 0).nominal_gb_per_s, 900);
}

static void both_ways_and_many(void **state)
{
    static const char both[] = "device_to_device_bidirectional_memcpy_read_ce";

    (void)state;
    assert_near(peak(both, 4, 1, 2, 0).nominal_gb_per_s, 450);
    assert_near(peak(both, 4, 1, 2, 1).nominal_gb_per_s, 450);
    assert_near(peak(both, 4, 1, 2, 2).nominal_gb_per_s, 900);
    /* The one GPU's port is what limits, whichever way. */
    assert_near(peak("all_to_one_write_ce", 4, 0, 2, 0).nominal_gb_per_s, 450);
    assert_near(peak("one_to_all_read_sm", 4, 0, 2, 0).bound_gb_per_s, 400);
}

static void direct_nvlinks(void **state)
{
    static const int to[4] = {0, 1, 2, 0};
    struct bw_peak found;

    (void)state;
    for (int i = 0; i < 4; i++) {
        all[i].has_switch = false;
        all[i].nvlinks = 3;
    }
    all[0].nvlinks_to = to;
    assert_near(peak("device_to_device_memcpy_write_ce", 4, 0, 1, 0).nominal_gb_per_s, 25);
    found = peak("device_to_device_memcpy_write_ce", 4, 0, 2, 0);
    assert_near(found.nominal_gb_per_s, 50);
    assert_int_not_equal(found.group, peak("device_to_device_memcpy_write_ce", 4, 0, 1, 0).group);
    /* None leads there: PCIe, and data is written. */
    found = peak("device_to_device_memcpy_write_ce", 4, 0, 3, 0);
    assert_int_equal(found.link, LINK_PCIE);
    assert_near(found.bound_gb_per_s, 57.61);
    assert_near(peak("device_to_device_memcpy_read_ce", 4, 3, 0, 0).bound_gb_per_s, 58.45);
    /* One GPU's direct links add up. */
    assert_near(peak("one_to_all_write_ce", 3, 0, 0, 0).nominal_gb_per_s, 75);
}

static void memory_and_c2c(void **state)
{
    struct bw_peak found = peak("device_local_copy", 2, 0, 1, 0);

    (void)state;
    assert_int_equal(found.link, LINK_HBM);
    assert_near(found.nominal_gb_per_s, 4916.74 / 2);
    assert_true(isnan(found.bound_gb_per_s));
    assert_non_null(strstr(found.source, "one read and one write"));
    all[0].c2c_links = 10;
    all[0].c2c_mbps = 45000;
    found = peak("host_to_device_memcpy_ce", 1, 0, 0, 0);
    assert_int_equal(found.link, LINK_C2C);
    assert_near(found.nominal_gb_per_s, 450);
}

static void what_is_unknown(void **state)
{
    struct bw_peak found;

    (void)state;
    memset(&all[0], 0xff, sizeof(all[0])); /* -1 */
    all[0].has_switch = false;
    all[0].nvlinks_to = all[0].path_to = NULL;
    all[0].above[0] = '\0';
    found = peak("host_to_device_memcpy_ce", 1, 0, 0, 0);
    assert_int_equal(found.link, LINK_PCIE);
    assert_true(isnan(found.nominal_gb_per_s) && isnan(found.bound_gb_per_s));
    assert_string_equal(found.source, "");
    assert_int_equal(peak("device_to_device_memcpy_read_ce", 2, 0, 1, 0).link, LINK_NONE);
    assert_true(isnan(peak("device_local_copy", 1, 0, 0, 0).nominal_gb_per_s));
    ports.count = 0;
    assert_int_equal(peak("host_to_device_memcpy_ce", 1, 0, 0, 0).link, LINK_NONE);
    ports.count = 8;
    found = peak("cpu_copy", 2, 0, 1, 0);
    assert_int_equal(found.link, LINK_HOST);
    assert_true(isnan(found.nominal_gb_per_s));
    found = peak("host_device_latency_sm", 2, 0, 1, 0);
    assert_int_equal(found.link, LINK_PCIE);
    assert_true(isnan(found.nominal_gb_per_s));
    assert_int_equal(peak("multinode_bisect_write_ce", 4, 0, 0, 0).link, LINK_NONE);
}

static void overrides(void **state)
{
    struct bw_peak_override given[2];
    struct bw_peak found;

    (void)state;
    assert_true(bw_peak_parse("nvlink=300,a bridge of 12", &given[0]));
    assert_int_equal(given[0].link, LINK_NVLINK);
    assert_near(given[0].gb_per_s, 300);
    assert_string_equal(given[0].why, "a bridge of 12");
    assert_true(bw_peak_parse("hbm=4.8e3", &given[1]));
    assert_null(given[1].why);
    ports.overrides = given;
    ports.override_count = 2;
    found = peak("device_to_device_memcpy_read_ce", 2, 0, 1, 0);
    assert_near(found.nominal_gb_per_s, 300);
    assert_true(isnan(found.bound_gb_per_s));
    assert_string_equal(found.source, "given by --peak: a bridge of 12");
    assert_near(peak("device_local_copy", 2, 0, 1, 0).nominal_gb_per_s, 2400);
    assert_near(peak("host_to_device_memcpy_ce", 2, 0, 1, 0).nominal_gb_per_s, 63.02);
}

static void words_that_are_no_peak(void **state)
{
    static const char *const words[] = {
        "",           "nvlink",    "nvlink=", "nvlink=x", "nvlink=-3", "nvlink=0", "nvlink=nan",
        "nvlink=3GB", "nvlink=3,", "=3",      "nvl=3",    "nvlinks=3", "pcie=1e99"};
    struct bw_peak_override given;

    (void)state;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_false(bw_peak_parse(words[i], &given));
    }
}

static void above_the_peak(void **state)
{
    struct bw_peak found = peak("device_to_device_memcpy_read_ce", 2, 0, 1, 0);

    (void)state;
    assert_false(bw_peak_is_exceeded(&found, 423.6));
    assert_true(bw_peak_is_exceeded(&found, 430));
    found = peak("device_local_copy", 2, 0, 1, 0);
    assert_false(bw_peak_is_exceeded(&found, 2400));
    assert_true(bw_peak_is_exceeded(&found, 2500));
    found.nominal_gb_per_s = NAN;
    assert_false(bw_peak_is_exceeded(&found, 2500));
    found = (struct bw_peak){0};
    assert_false(bw_peak_is_exceeded(&found, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(pcie, begin),
        cmocka_unit_test_setup(host_copies, begin),
        cmocka_unit_test_setup(a_slow_link_above, begin),
        cmocka_unit_test_setup(nvlink, begin),
        cmocka_unit_test_setup(both_ways_and_many, begin),
        cmocka_unit_test_setup(direct_nvlinks, begin),
        cmocka_unit_test_setup(memory_and_c2c, begin),
        cmocka_unit_test_setup(what_is_unknown, begin),
        cmocka_unit_test_setup(overrides, begin),
        cmocka_unit_test_setup(words_that_are_no_peak, begin),
        cmocka_unit_test_setup(above_the_peak, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
