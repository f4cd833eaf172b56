/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/log.h"
#include "impl.h"

#include <stdlib.h>
#include <string.h>

/* hwloc's answer as a status. */
static enum bw_status check(int answer, const char *what)
{
    return answer == 0 ? BW_OK : bw_errno("hwloc: %s", what);
}

/*
 * Plug-ins that would start a driver, which -l must not need, or that take
 * longer and leak: what the system itself says of PCI devices is enough.
 */
static void leave_out_plugins(hwloc_topology_t hwloc)
{
#if HWLOC_API_VERSION >= 0x00020100
    static const char *const names[] = {"pci", "cuda", "nvml", "opencl", "gl", "rsmi", "levelzero"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)hwloc_topology_set_components(hwloc, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST,
                                            names[i]);
    }
#else
    (void)hwloc;
#endif
}

static enum bw_status load(struct bw_topology *topology, const char *xml)
{
    enum bw_status st = BW_OK;

    TRY(check(hwloc_topology_init(&topology->hwloc), "cannot start"));
    leave_out_plugins(topology->hwloc);
    if (xml != NULL && hwloc_topology_set_xml(topology->hwloc, xml) != 0) {
        st = bw_errno("hwloc: cannot read \"%s\"", xml);
        goto out;
    }
    TRY(check(hwloc_topology_set_type_filter(topology->hwloc, HWLOC_OBJ_PCI_DEVICE,
                                             HWLOC_TYPE_FILTER_KEEP_IMPORTANT),
              "cannot look for PCI devices"));
    TRY(check(hwloc_topology_load(topology->hwloc), "cannot find out about this machine"));
    topology->is_real = xml == NULL && hwloc_topology_is_thissystem(topology->hwloc) == 1;
out:
    return st;
}

/* The calling thread's CPUs, of those that the machine has. */
static enum bw_status find_home(struct bw_topology *topology)
{
    const hwloc_const_bitmap_t all = hwloc_topology_get_topology_cpuset(topology->hwloc);

    topology->home_cpus = hwloc_bitmap_dup(all);
    if (topology->home_cpus == NULL) {
        return bw_errno("CPU set");
    }
    if (!topology->is_real) {
        return BW_OK;
    }
    bw_mempolicy_save(&topology->home_memory);
    if (hwloc_get_cpubind(topology->hwloc, topology->home_cpus, HWLOC_CPUBIND_THREAD) != 0) {
        bw_verbose("the system does not say which CPUs this process may use: all are taken");
        return check(hwloc_bitmap_copy(topology->home_cpus, all), "CPU set");
    }
    return BW_OK;
}

static void close_nodes(struct bw_topology *topology)
{
    for (int i = 0; i < topology->node_count; i++) {
        hwloc_bitmap_free(topology->nodes[i].cpus);
        free(topology->nodes[i].order);
    }
    free(topology->nodes);
    topology->nodes = NULL;
    topology->node_count = 0;
}

/* Usable CPUs of the same core that have lower numbers. */
static int siblings_before(const struct bw_topology *topology, const struct node *node, int cpu)
{
    const hwloc_obj_t pu = hwloc_get_pu_obj_by_os_index(topology->hwloc, (unsigned)cpu);
    const hwloc_obj_t core =
        pu != NULL ? hwloc_get_ancestor_obj_by_type(topology->hwloc, HWLOC_OBJ_CORE, pu) : NULL;
    int before = 0;

    for (int other = core != NULL ? hwloc_bitmap_first(core->cpuset) : -1;
         other >= 0 && other < cpu; other = hwloc_bitmap_next(core->cpuset, other)) {
        before += hwloc_bitmap_isset(node->cpus, (unsigned)other);
    }
    return before;
}

/* One CPU of each core, then the second of each, and so on. */
static void order_cpus(const struct bw_topology *topology, struct node *node)
{
    int placed = 0;

    for (int turn = 0; placed < node->cpu_count; turn++) {
        for (int cpu = hwloc_bitmap_first(node->cpus); cpu >= 0;
             cpu = hwloc_bitmap_next(node->cpus, cpu)) {
            if (siblings_before(topology, node, cpu) == turn) {
                node->order[placed++] = (unsigned)cpu;
            }
        }
        node->core_count = turn == 0 ? placed : node->core_count;
    }
}

/*
 * hwloc gives a node that has memory only (high-bandwidth, CXL, a GPU's) the
 * CPUs that are near to it. They belong to the other node that has them: the
 * one with the fewest CPUs, then the ordinary one, then the first.
 */
static bool comes_before(hwloc_obj_t a, hwloc_obj_t b)
{
    const int a_cpus = hwloc_bitmap_weight(a->cpuset);
    const int b_cpus = hwloc_bitmap_weight(b->cpuset);

    if (a_cpus != b_cpus) {
        return a_cpus < b_cpus;
    }
    if (bw_topology_is_gpu_memory(a) != bw_topology_is_gpu_memory(b)) {
        return bw_topology_is_gpu_memory(b);
    }
    return a->os_index < b->os_index;
}

static int take_own_cpus(const struct bw_topology *topology, struct node *node)
{
    hwloc_obj_t other = NULL;
    int failed = 0;

    while ((other = hwloc_get_next_obj_by_type(topology->hwloc, HWLOC_OBJ_NUMANODE, other)) !=
           NULL) {
        if (other != node->object && comes_before(other, node->object)) {
            failed |= hwloc_bitmap_andnot(node->cpus, node->cpus, other->cpuset);
        }
    }
    return failed;
}

static enum bw_status open_node(const struct bw_topology *topology, struct node *node,
                                hwloc_obj_t object, hwloc_const_bitmap_t usable)
{
    node->object = object;
    node->cpus = hwloc_bitmap_alloc();
    if (node->cpus == NULL || hwloc_bitmap_and(node->cpus, object->cpuset, usable) != 0 ||
        take_own_cpus(topology, node) != 0) {
        return bw_errno("CPUs of NUMA node %u", object->os_index);
    }
    node->cpu_count = hwloc_bitmap_weight(node->cpus);
    node->order = calloc((size_t)node->cpu_count + 1, sizeof(*node->order));
    if (node->order == NULL) {
        return bw_errno("CPUs of NUMA node %u", object->os_index);
    }
    order_cpus(topology, node);
    return BW_OK;
}

/* Nodes that the machine has, in the system's order; all of them if none says how much it holds. */
static bool is_candidate(hwloc_obj_t object, hwloc_const_nodeset_t memory, bool any_bytes)
{
    return object != NULL && (!any_bytes || object->attr->numanode.local_memory > 0) &&
           (memory == NULL || hwloc_bitmap_isset(memory, object->os_index));
}

enum bw_status bw_topology_find_nodes(struct bw_topology *topology, hwloc_const_bitmap_t usable,
                                      hwloc_const_nodeset_t memory)
{
    const hwloc_const_nodeset_t all = hwloc_topology_get_topology_nodeset(topology->hwloc);
    const int count = hwloc_bitmap_weight(all);
    const bool any_bytes = hwloc_get_root_obj(topology->hwloc)->total_memory > 0;
    enum bw_status st = BW_OK;

    close_nodes(topology);
    topology->nodes = calloc(count > 0 ? (size_t)count : 1, sizeof(*topology->nodes));
    if (topology->nodes == NULL) {
        return bw_errno("list of NUMA nodes");
    }
    for (int os_index = hwloc_bitmap_first(all); os_index >= 0;
         os_index = hwloc_bitmap_next(all, os_index)) {
        const hwloc_obj_t object =
            hwloc_get_numanode_obj_by_os_index(topology->hwloc, (unsigned)os_index);

        if (is_candidate(object, memory, any_bytes)) {
            TRY(open_node(topology, &topology->nodes[topology->node_count++], object, usable));
        }
    }
    if (topology->node_count == 0) {
        bw_error("no NUMA node whose memory this process may use");
        st = BW_ERR_SYSTEM;
    }
out:
    return st;
}

enum bw_status bw_topology_open(struct bw_topology **topology, const char *xml)
{
    struct bw_topology *t = calloc(1, sizeof(*t));
    hwloc_bitmap_t memory = NULL;
    enum bw_status st = BW_OK;

    *topology = NULL;
    if (t == NULL) {
        return bw_errno("topology");
    }
    t->said = calloc(SAID_COUNT, sizeof(*t->said));
    if (t->said == NULL) {
        st = bw_errno("topology");
        goto out;
    }
    for (int i = 0; i < SAID_COUNT; i++) {
        atomic_flag_clear(&t->said[i]);
    }
    TRY(load(t, xml));
    TRY(find_home(t));
    t->usable = hwloc_bitmap_dup(t->home_cpus);
    if (t->usable == NULL) {
        st = bw_errno("CPU set");
        goto out;
    }
    memory = bw_mempolicy_nodes(&t->home_memory);
    TRY(bw_topology_find_nodes(t, t->usable, memory));
    *topology = t;
    t = NULL;
out:
    hwloc_bitmap_free(memory);
    bw_topology_close(t);
    return st;
}

void bw_topology_close(struct bw_topology *topology)
{
    if (topology == NULL) {
        return;
    }
    if (topology->is_real && topology->home_cpus != NULL) {
        (void)hwloc_set_cpubind(topology->hwloc, topology->home_cpus, HWLOC_CPUBIND_THREAD);
        (void)bw_mempolicy_restore(&topology->home_memory);
    }
    close_nodes(topology);
    hwloc_bitmap_free(topology->home_cpus);
    hwloc_bitmap_free(topology->usable);
    if (topology->hwloc != NULL) {
        hwloc_topology_destroy(topology->hwloc);
    }
    free(topology->said);
    free(topology);
}

int bw_topology_node_count(const struct bw_topology *topology)
{
    return topology->node_count;
}

int bw_topology_node_os_index(const struct bw_topology *topology, int node)
{
    return (int)topology->nodes[node].object->os_index;
}

int bw_topology_node_cpus(const struct bw_topology *topology, int node)
{
    return topology->nodes[node].cpu_count;
}

int bw_topology_node_cores(const struct bw_topology *topology, int node)
{
    return topology->nodes[node].core_count;
}

size_t bw_topology_node_memory_bytes(const struct bw_topology *topology, int node)
{
    return (size_t)topology->nodes[node].object->attr->numanode.local_memory;
}
