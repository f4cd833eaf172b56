/* SPDX-License-Identifier: Apache-2.0 */
#include "impl.h"

#include <string.h>

/* What is near to what: PCI devices to nodes, caches to CPUs. */

bool bw_topology_is_gpu_memory(hwloc_obj_t object)
{
    return object->subtype != NULL && strcmp(object->subtype, "GPUMemory") == 0;
}

/*
 * Several nodes can be equally near and yet be one place: ordinary and
 * high-bandwidth memory of the same CPUs. The first is the ordinary one.
 */
int bw_topology_node_of_pci(const struct bw_topology *topology, const char *pci)
{
    const hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology->hwloc, pci);
    const hwloc_obj_t place =
        device != NULL ? hwloc_get_non_io_ancestor_obj(topology->hwloc, device) : NULL;
    int nearest = -1;

    for (int i = 0; place != NULL && i < topology->node_count; i++) {
        const hwloc_obj_t object = topology->nodes[i].object;

        if (bw_topology_is_gpu_memory(object) ||
            !hwloc_bitmap_isset(place->nodeset, object->os_index)) {
            continue;
        }
        if (nearest >= 0 &&
            !hwloc_bitmap_isequal(object->cpuset, topology->nodes[nearest].object->cpuset)) {
            return -1;
        }
        nearest = nearest < 0 ? i : nearest;
    }
    return nearest;
}

/* The last cache on the way from a CPU to memory. */
static hwloc_obj_t last_cache(const struct bw_topology *topology, unsigned cpu)
{
    hwloc_obj_t object = hwloc_get_pu_obj_by_os_index(topology->hwloc, cpu);
    hwloc_obj_t last = NULL;

    for (; object != NULL; object = object->parent) {
        if (hwloc_obj_type_is_dcache(object->type)) {
            last = object;
        }
    }
    return last;
}

size_t bw_topology_cache_bytes(const struct bw_topology *topology, int node)
{
    const struct node *n = &topology->nodes[node];
    const hwloc_obj_t cache = n->cpu_count > 0 ? last_cache(topology, n->order[0]) : NULL;

    return cache != NULL ? (size_t)cache->attr->cache.size : 0;
}

size_t bw_topology_caches_bytes(const struct bw_topology *topology, int node)
{
    const struct node *n = &topology->nodes[node];
    size_t bytes = 0;

    for (int cpu = hwloc_bitmap_first(n->cpus); cpu >= 0; cpu = hwloc_bitmap_next(n->cpus, cpu)) {
        const hwloc_obj_t cache = last_cache(topology, (unsigned)cpu);
        int first = cache != NULL ? hwloc_bitmap_first(cache->cpuset) : -1;

        while (first >= 0 && !hwloc_bitmap_isset(n->cpus, (unsigned)first)) {
            first = hwloc_bitmap_next(cache->cpuset, first);
        }
        if (first == cpu) { /* counted once, at the first of the CPUs that share it */
            bytes += (size_t)cache->attr->cache.size;
        }
    }
    return bytes;
}
