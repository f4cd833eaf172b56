/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/host_free.h"

#include "bwtool/text.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number after `key` at the start of a line, or, for "", the first thing in the file. */
static uint64_t read_number(const char *root, const char *path, const char *key, uint64_t otherwise)
{
    char *name = bw_text_format("%s%s", root, path);
    FILE *file = name != NULL ? fopen(name, "re") : NULL;
    const size_t length = strlen(key);
    uint64_t number = otherwise;
    char line[256];

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, key, length) == 0) {
            /* "max", no number, leaves it as it is. */
            (void)sscanf(line + length, "%" SCNu64, &number);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    free(name);
    return number;
}

/* What is left below `limit`, if cached file pages are given up. */
static uint64_t left_below(uint64_t limit, uint64_t used, uint64_t cached)
{
    used = used > cached ? used - cached : 0;
    return limit > used ? limit - used : 0;
}

/* The group that a container sees as its root, in either version of the interface. */
static uint64_t left_in_group(const char *root)
{
    const uint64_t limit = read_number(root, "/sys/fs/cgroup/memory.max", "", UINT64_MAX);
    const uint64_t limit_v1 =
        read_number(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "", UINT64_MAX);

    if (limit != UINT64_MAX) {
        return left_below(limit, read_number(root, "/sys/fs/cgroup/memory.current", "", 0),
                          read_number(root, "/sys/fs/cgroup/memory.stat", "inactive_file ", 0));
    }
    if (limit_v1 != UINT64_MAX) {
        return left_below(
            limit_v1, read_number(root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "", 0),
            read_number(root, "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file ", 0));
    }
    return UINT64_MAX;
}

size_t bw_host_free_bytes(const char *root)
{
    const uint64_t kib = read_number(root, "/proc/meminfo", "MemAvailable:", UINT64_MAX / 1024);
    const uint64_t group = left_in_group(root);
    const uint64_t machine = kib < UINT64_MAX / 1024 ? kib * 1024 : UINT64_MAX;
    const uint64_t least = machine < group ? machine : group;

    return least < SIZE_MAX ? (size_t)least : SIZE_MAX;
}
