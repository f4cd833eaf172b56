/* SPDX-License-Identifier: Apache-2.0 */
/* A PCI device's way up, read from a tree of files as Linux has it. */
#include "unit.h"

#include "bwtool/pci.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

#define TOP  "/sys/devices/pci0000:00/0000:00:01.0"
#define UP   TOP "/0000:0d:00.0"
#define DOWN UP "/0000:0e:01.0"
#define LEAF DOWN "/0000:0f:00.0"

static void make_folder(const char *path)
{
    char text[512];

    snprintf(text, sizeof(text), "mkdir -p '%s%s'", root, path);
    assert_int_equal(system(text), 0);
}

static void put(const char *device, const char *name, const void *bytes, size_t count)
{
    char path[512];
    FILE *file = NULL;

    snprintf(path, sizeof(path), "%s%s/%s", root, device, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static void put_text(const char *device, const char *name, const char *text)
{
    put(device, name, text, strlen(text));
}

static void put_link(const char *device, const char *gen, const char *width, const char *gen_max,
                     const char *width_max)
{
    put_text(device, "current_link_speed", gen);
    put_text(device, "current_link_width", width);
    put_text(device, "max_link_speed", gen_max);
    put_text(device, "max_link_width", width_max);
}

static int begin(void **state)
{
    char path[512];

    (void)state;
    snprintf(root, sizeof(root), "/tmp/pci_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    make_folder(LEAF);
    make_folder("/sys/bus/pci/devices");
    snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/0000:0f:00.0", root);
    assert_int_equal(
        symlink("../../../devices/pci0000:00/0000:00:01.0/0000:0d:00.0/0000:0e:01.0/0000:0f:00.0",
                path),
        0);
    return 0;
}

static int end(void **state)
{
    char text[128];

    (void)state;
    snprintf(text, sizeof(text), "rm -rf '%s'", root);
    return system(text);
}

static void nothing_there(void **state)
{
    struct bw_pci_link link;

    (void)state;
    bw_pci_read(root, "0000:ff:00.0", &link);
    assert_int_equal(link.gen, -1);
    bw_pci_read(root, "0000:0f:00.0", &link); /* the device, but no files */
    assert_int_equal(link.gen, -1);
    assert_int_equal(link.width_max, -1);
    assert_int_equal(link.payload_bytes, -1);
    assert_int_equal(link.above_gen, -1);
    assert_string_equal(link.above, "");
}

static void a_whole_way(void **state)
{
    struct bw_pci_link link;

    (void)state;
    put_link(LEAF, "2.5 GT/s PCIe\n", "16\n", "32.0 GT/s PCIe\n", "16\n");
    put_link(DOWN, "2.5 GT/s PCIe\n", "16\n", "16.0 GT/s PCIe\n", "16\n"); /* idle, too */
    put_link(UP, "16.0 GT/s PCIe\n", "8\n", "16.0 GT/s PCIe\n", "16\n");
    put_link(TOP, "32.0 GT/s PCIe\n", "16\n", "32.0 GT/s PCIe\n", "16\n");
    bw_pci_read(root, "0000:0f:00.0", &link);
    assert_int_equal(link.gen, 1);
    assert_int_equal(link.width, 16);
    assert_int_equal(link.gen_max, 4); /* the other end can do no more */
    assert_int_equal(link.width_max, 16);
    assert_int_equal(link.above_gen, 4);
    assert_int_equal(link.above_width, 8);
    assert_string_equal(link.above, "0000:0d:00.0");
}

static void odd_words(void **state)
{
    struct bw_pci_link link;

    (void)state;
    put_link(LEAF, "Unknown\n", "255\n", "", "0\n");
    bw_pci_read(root, "0000:0f:00.0", &link);
    assert_int_equal(link.gen, -1);
    assert_int_equal(link.width, -1);
    assert_int_equal(link.gen_max, -1);
    assert_int_equal(link.width_max, -1);
}

static void payload(void **state)
{
    unsigned char config[256] = {0};
    struct bw_pci_link link;

    (void)state;
    config[0x06] = 0x10;
    config[0x34] = 0x60;
    config[0x60] = 0x01; /* power management */
    config[0x61] = 0x78;
    config[0x78] = 0x10; /* PCI Express */
    config[0x80] = 0x20; /* 256 bytes */
    put(LEAF, "config", config, sizeof(config));
    bw_pci_read(root, "0000:0f:00.0", &link);
    assert_int_equal(link.payload_bytes, 256);
    put(LEAF, "config", config, 64); /* all that others than root may read */
    bw_pci_read(root, "0000:0f:00.0", &link);
    assert_int_equal(link.payload_bytes, -1);
    config[0x78] = 0x05;
    config[0x79] = 0x60; /* a ring */
    put(LEAF, "config", config, sizeof(config));
    bw_pci_read(root, "0000:0f:00.0", &link);
    assert_int_equal(link.payload_bytes, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_there, begin, end),
        cmocka_unit_test_setup_teardown(a_whole_way, begin, end),
        cmocka_unit_test_setup_teardown(odd_words, begin, end),
        cmocka_unit_test_setup_teardown(payload, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
