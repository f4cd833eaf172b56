/* SPDX-License-Identifier: Apache-2.0 */
#include "impl.h"

#include "bwtool/host_free.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Where memory is, and how much of it there is left. */

int bw_topology_where(const struct bw_topology *topology, const void *address, size_t bytes)
{
    hwloc_bitmap_t nodes = NULL;
    int where = -2;

    if (!topology->is_real || bytes == 0) {
        return -2;
    }
    nodes = hwloc_bitmap_alloc();
    if (nodes != NULL &&
        hwloc_get_area_memlocation(topology->hwloc, address, bytes, nodes,
                                   HWLOC_MEMBIND_BYNODESET) == 0 &&
        !hwloc_bitmap_iszero(nodes)) {
        where = -1;
        for (int i = 0; i < topology->node_count; i++) {
            if (hwloc_bitmap_isequal(nodes, topology->nodes[i].object->nodeset)) {
                where = i;
            }
        }
    }
    hwloc_bitmap_free(nodes);
    return where;
}

/* Sum of the values of some keys in a file of "Node 0 Key: 123 kB" lines, in bytes. */
static bool sum_kib(const char *path, const char *const *keys, size_t key_count, size_t *bytes)
{
    FILE *file = fopen(path, "r");
    char line[256];
    bool found = false;

    if (file == NULL) {
        return false;
    }
    *bytes = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        char key[64];
        size_t kib = 0;

        if (sscanf(line, "Node %*u %63[^:]: %zu kB", key, &kib) != 2) {
            continue;
        }
        for (size_t i = 0; i < key_count; i++) {
            if (strcmp(key, keys[i]) == 0) {
                *bytes += kib * 1024;
                found = true;
            }
        }
    }
    fclose(file);
    return found;
}

size_t bw_topology_node_free_bytes(const struct bw_topology *topology, int node)
{
    /* page cache gives way to memory that is asked for */
    static const char *const of_node[] = {"MemFree", "Active(file)", "Inactive(file)",
                                          "SReclaimable"};
    size_t least = SIZE_MAX;
    size_t bytes = 0;
    char path[96];

    if (!topology->is_real) {
        return SIZE_MAX;
    }
    (void)snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/meminfo",
                   topology->nodes[node].object->os_index);
    /* of the only node the machine's own figure says all (virtual machines were seen to differ) */
    if (hwloc_get_nbobjs_by_type(topology->hwloc, HWLOC_OBJ_NUMANODE) > 1 &&
        sum_kib(path, of_node, 4, &bytes)) {
        least = bytes;
    }
    bytes = bw_host_free_bytes("");
    return bytes < least ? bytes : least;
}
