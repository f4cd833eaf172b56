/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/pci.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Rates of a lane in GT/s, by generation. */
static const double gt_per_s[] = {0, 2.5, 5, 8, 16, 32, 64};
enum { GEN_MAX = 6 };

/* The first line of DEVICE/NAME; false if there is none. */
static bool read_line(const char *device, const char *name, char *text, int room)
{
    char path[PATH_MAX];
    FILE *file = NULL;
    bool is_read = false;

    if (snprintf(path, sizeof(path), "%s/%s", device, name) >= (int)sizeof(path)) {
        return false;
    }
    file = fopen(path, "r");
    if (file != NULL) {
        is_read = fgets(text, room, file) != NULL;
        (void)fclose(file);
    }
    return is_read;
}

/* "16.0 GT/s PCIe" is generation 4. */
static int read_gen(const char *device, const char *name)
{
    char text[64];
    double rate = 0;

    if (!read_line(device, name, text, sizeof(text))) {
        return -1;
    }
    rate = strtod(text, NULL);
    for (int gen = GEN_MAX; gen > 0; gen--) {
        if (fabs(rate - gt_per_s[gen]) < 0.1) {
            return gen;
        }
    }
    return -1;
}

static int read_width(const char *device, const char *name)
{
    char text[64];
    long width = 0;

    if (!read_line(device, name, text, sizeof(text))) {
        return -1;
    }
    width = strtol(text, NULL, 10);
    return width >= 1 && width <= 64 ? (int)width : -1; /* 255 and 0: not known */
}

static int lesser(int a, int b)
{
    return a < 0 ? b : b < 0 || a < b ? a : b;
}

/* Bits 5 to 7 of Device Control, in the PCI Express capability, are the greatest payload. */
static int read_payload(const char *device)
{
    enum { STATUS = 0x06, FIRST = 0x34, EXPRESS = 0x10, CONTROL = 8, SIZE = 256 };
    unsigned char config[SIZE] = {0};
    char path[PATH_MAX];
    ssize_t got = 0;
    int file = -1;

    if (snprintf(path, sizeof(path), "%s/config", device) >= (int)sizeof(path)) {
        return -1;
    }
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    got = read(file, config, sizeof(config));
    (void)close(file);
    if (got < SIZE || (config[STATUS] & 0x10) == 0) {
        return -1; /* without privileges 64 bytes are all there is to read */
    }
    for (int at = config[FIRST] & ~3, steps = 0; at >= 0x40 && steps < 48; steps++) {
        if (config[at] == EXPRESS && at + CONTROL < SIZE) {
            const int code = config[at + CONTROL] >> 5;

            return code <= 5 ? 128 << code : -1;
        }
        at = config[at + 1] & ~3;
    }
    return -1;
}

/* True for "0000:0f:00.0", which a folder of a PCI device is called. */
static bool is_device(const char *name)
{
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    int length = 0;

    return sscanf(name, "%x:%x:%x.%x%n", &domain, &bus, &slot, &function, &length) == 4 &&
           name[length] == '\0';
}

/* The folder above is that of the device at the upper end, if it is one's at all. */
static bool go_up(char *device)
{
    char *slash = strrchr(device, '/');
    const char *name = NULL;

    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    name = strrchr(device, '/');
    return name != NULL && is_device(name + 1);
}

/*
 * The device above is the other end of the same link. Beyond it, each has a
 * link of its own: a switch's, up to the CPU's.
 */
static void look_above(char *device, struct bw_pci_link *link)
{
    double slowest = INFINITY;

    link->gen_max = lesser(link->gen_max, read_gen(device, "max_link_speed"));
    link->width_max = lesser(link->width_max, read_width(device, "max_link_width"));
    while (go_up(device)) {
        const int gen = read_gen(device, "current_link_speed");
        const int width = read_width(device, "current_link_width");
        const double rate = bw_pci_gb_per_s(gen, width);

        if (isfinite(rate) && rate < slowest) {
            slowest = rate;
            link->above_gen = gen;
            link->above_width = width;
            snprintf(link->above, sizeof(link->above), "%.23s", strrchr(device, '/') + 1);
        }
    }
}

void bw_pci_read(const char *root, const char *pci, struct bw_pci_link *link)
{
    char path[PATH_MAX];
    char *device = NULL;

    *link = (struct bw_pci_link){-1, -1, -1, -1, -1, -1, -1, ""};
    if (snprintf(path, sizeof(path), "%s/sys/bus/pci/devices/%s", root, pci) >= (int)sizeof(path)) {
        return;
    }
    device = realpath(path, NULL);
    if (device == NULL) {
        return;
    }
    link->gen = read_gen(device, "current_link_speed");
    link->width = read_width(device, "current_link_width");
    link->gen_max = read_gen(device, "max_link_speed");
    link->width_max = read_width(device, "max_link_width");
    link->payload_bytes = read_payload(device);
    if (go_up(device)) {
        look_above(device, link);
    }
    free(device);
}

double bw_pci_gb_per_s(int gen, int width)
{
    if (gen < 1 || gen > GEN_MAX || width < 1) {
        return NAN;
    }
    if (gen == GEN_MAX) {
        return gt_per_s[gen] * width / 8 * 236 / 256; /* flits of 256 bytes, 236 for packets */
    }
    return gt_per_s[gen] * width / 8 * (gen < 3 ? 8.0 / 10 : 128.0 / 130);
}

/* Framing and sequence 4 bytes, header 16 for a write and 12 for data that was read, check sum 4.
 */
static double part(int gen, int payload_bytes, int header)
{
    const int framing = gen >= GEN_MAX ? 0 : 8;

    return gen < 1 || payload_bytes < 1
               ? NAN
               : (double)payload_bytes / (payload_bytes + header + framing);
}

double bw_pci_write_part(int gen, int payload_bytes)
{
    return part(gen, payload_bytes, 16);
}

double bw_pci_read_part(int gen, int payload_bytes)
{
    return part(gen, payload_bytes, 12);
}
