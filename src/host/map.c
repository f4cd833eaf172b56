/* SPDX-License-Identifier: Apache-2.0 */
#include "map.h"
#include "bwtool/log.h"
#include "impl.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TOUCHERS_MAX = 16 };

#define HUGE ((size_t)2 << 20)

struct touch {
    const struct bw_topology *topology;
    int node, index;
    char *data;
    size_t bytes;
    pthread_t thread;
    bool is_started;
};

/*
 * The kernel hands out, and clears, a page at its first write, near to the CPU
 * that writes: so this also places memory where binding it is forbidden.
 */
static void *touch(void *argument)
{
    const struct touch *t = argument;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    if (bw_topology_node_cpus(t->topology, t->node) > 0) {
        (void)bw_topology_bind_cpu(t->topology, t->node, t->index);
    }
    for (size_t i = 0; i < t->bytes; i += page) {
        ((volatile char *)t->data)[i] = 0;
    }
    return NULL;
}

/* Never in the calling thread, whose binding is not ours to change. */
static enum bw_status touch_all(const struct bw_map *map, const struct bw_topology *topology,
                                int node)
{
    const size_t huge_pages = map->bytes / HUGE;
    struct touch parts[TOUCHERS_MAX];
    size_t count = (size_t)bw_topology_node_cores(topology, node);
    enum bw_status st = BW_OK;
    size_t done = 0;

    count = count > TOUCHERS_MAX ? TOUCHERS_MAX : count;
    count = count > huge_pages ? huge_pages : count;
    count = count < 1 ? 1 : count;
    for (size_t i = 0; i < count; i++) {
        const size_t end = i + 1 == count ? map->bytes : huge_pages * (i + 1) / count * HUGE;
        int error = 0;

        parts[i] = (struct touch){.topology = topology,
                                  .node = node,
                                  .index = (int)i,
                                  .data = (char *)map->data + done,
                                  .bytes = end - done};
        done = end;
        error = pthread_create(&parts[i].thread, NULL, touch, &parts[i]);
        parts[i].is_started = error == 0;
        if (error != 0) {
            bw_error("cannot start a thread that touches memory: %s", strerror(error));
            st = BW_ERR_SYSTEM;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (parts[i].is_started) {
            pthread_join(parts[i].thread, NULL);
        }
    }
    return st;
}

/* Before it is touched: memory that is promised but not there gets the process killed. */
static enum bw_status check_free(const struct bw_topology *topology, int node, size_t bytes)
{
    const size_t left = bw_topology_node_free_bytes(topology, node);
    const size_t tables = bytes / 64 + ((size_t)16 << 20); /* page tables, and room to breathe */

    if (bytes > SIZE_MAX / 2 || left < bytes + tables) {
        bw_error("not enough memory on NUMA node %d: %zu MiB asked for, %zu MiB free",
                 bw_topology_node_os_index(topology, node), bytes >> 20, left >> 20);
        return BW_ERR_MEMORY;
    }
    return BW_OK;
}

static enum bw_status check_place(const struct bw_map *map, const struct bw_topology *topology,
                                  int node)
{
    const int os_index = bw_topology_node_os_index(topology, node);
    int where = -2;

    if (bw_topology_node_count(topology) == 1 || !topology->is_real) {
        return BW_OK; /* nowhere else to be; or a machine that is only written down */
    }
    where = bw_topology_where(topology, map->data, map->bytes);
    if (where == node) {
        return BW_OK;
    }
    if (where == -2 && bw_topology_node_cpus(topology, node) > 0) {
        return BW_OK; /* it was touched first by a thread of that node */
    }
    if (where == -2) {
        bw_error("memory of NUMA node %d cannot be had: the node has no CPUs, and the system "
                 "does not let memory be bound or asked where it is",
                 os_index);
        return BW_ERR_SYSTEM;
    }
    bw_error("%zu MiB were asked for on NUMA node %d, but not all came from there (%zu MiB free)",
             map->bytes >> 20, os_index, bw_topology_node_free_bytes(topology, node) >> 20);
    return BW_ERR_MEMORY;
}

enum bw_status bw_map_open(struct bw_map *map, const struct bw_topology *topology, int node,
                           size_t bytes)
{
    enum bw_status st = BW_OK;

    memset(map, 0, sizeof(*map));
    TRY(check_free(topology, node, bytes));
    /* room to align, and for the last huge page to be whole */
    map->map_bytes = (bytes + HUGE - 1) / HUGE * HUGE + HUGE;
    map->map =
        mmap(NULL, map->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map->map == MAP_FAILED) {
        map->map = NULL;
        st = bw_errno("mmap of %zu MiB", map->map_bytes >> 20);
        goto out;
    }
    map->data = (char *)map->map + (HUGE - (uintptr_t)map->map % HUGE) % HUGE;
    map->bytes = bytes;
    if (bytes >= HUGE && madvise(map->data, bytes, MADV_HUGEPAGE) != 0) {
        bw_verbose("no huge pages (madvise): small ones will do");
    }
    TRY(bw_topology_bind_memory(topology, node, map->data, bytes));
    TRY(touch_all(map, topology, node));
    TRY(check_place(map, topology, node));
out:
    if (st != BW_OK) {
        bw_map_close(map);
    }
    return st;
}

void bw_map_close(struct bw_map *map)
{
    if (map->map != NULL) {
        (void)munmap(map->map, map->map_bytes);
    }
    memset(map, 0, sizeof(*map));
}

double bw_map_huge_part(const struct bw_map *map)
{
    FILE *smaps = fopen("/proc/self/smaps", "r");
    const uintptr_t data = (uintptr_t)map->data;
    char line[512];
    bool is_inside = false;
    double huge = 0;

    if (smaps == NULL || map->bytes == 0) {
        if (smaps != NULL) {
            fclose(smaps);
        }
        return 0;
    }
    while (fgets(line, sizeof(line), smaps) != NULL) {
        uintptr_t begin = 0;
        uintptr_t end = 0;
        size_t kib = 0;

        if (sscanf(line, "%lx-%lx ", &begin, &end) == 2) {
            is_inside = begin < data + map->bytes && end > data; /* it may be several pieces */
        } else if (is_inside && sscanf(line, "AnonHugePages: %zu kB", &kib) == 1) {
            huge += (double)kib * 1024;
        }
    }
    fclose(smaps);
    huge /= (double)map->bytes;
    return huge > 1 ? 1 : huge;
}
