/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/log.h"
#include "impl.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Binding improves a number and is never needed for having one: a container
 * that forbids it still measures, after saying so once.
 */

void bw_mempolicy_save(struct mempolicy *policy)
{
    memset(policy, 0, sizeof(*policy));
    policy->is_known = syscall(SYS_get_mempolicy, &policy->mode, policy->nodes,
                               8 * sizeof(policy->nodes), NULL, 0UL) == 0;
}

bool bw_mempolicy_restore(const struct mempolicy *policy)
{
    /* the kernel takes one bit less than it is told of */
    return !policy->is_known || syscall(SYS_set_mempolicy, policy->mode, policy->nodes,
                                        8 * sizeof(policy->nodes) + 1) == 0;
}

hwloc_bitmap_t bw_mempolicy_nodes(const struct mempolicy *policy)
{
    hwloc_bitmap_t nodes = NULL;

    if (!policy->is_known || (policy->mode & ~MPOL_MODE_FLAGS) != MPOL_BIND) {
        return NULL; /* a preference or interleaving forbids nothing */
    }
    nodes = hwloc_bitmap_alloc();
    if (nodes != NULL &&
        hwloc_bitmap_from_ulongs(nodes, sizeof(policy->nodes) / sizeof(policy->nodes[0]),
                                 policy->nodes) != 0) {
        hwloc_bitmap_free(nodes);
        nodes = NULL;
    }
    return nodes;
}

static void say_once(const struct bw_topology *topology, int what, const char *text)
{
    const int error = errno;

    if (!atomic_flag_test_and_set(&topology->said[what])) {
        bw_warn("%s (%s): going on unbound, numbers may be lower and vary", text, strerror(error));
    }
}

static void bind_cpus(const struct bw_topology *topology, hwloc_const_bitmap_t cpus)
{
    if (topology->is_real && hwloc_set_cpubind(topology->hwloc, cpus, HWLOC_CPUBIND_THREAD) != 0) {
        say_once(topology, SAID_CPUS, "the system refuses to bind a thread to CPUs");
    }
}

/*
 * Not strict: a node that is full then lends from its neighbours, instead of
 * having the process killed.
 */
static void bind_memory(const struct bw_topology *topology, int node)
{
    if (topology->is_real && topology->node_count > 1 &&
        hwloc_set_membind(topology->hwloc, topology->nodes[node].object->nodeset,
                          HWLOC_MEMBIND_BIND,
                          HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET) != 0) {
        say_once(topology, SAID_MEMORY, "the system refuses to bind memory to a NUMA node");
    }
}

enum bw_status bw_topology_bind(const struct bw_topology *topology, int node)
{
    if (node < 0) {
        bind_cpus(topology, topology->usable);
        if (topology->is_real && topology->node_count > 1 &&
            !bw_mempolicy_restore(&topology->home_memory)) {
            say_once(topology, SAID_MEMORY, "the system refuses to unbind memory");
        }
        return BW_OK;
    }
    bind_cpus(topology,
              topology->nodes[node].cpu_count > 0 ? topology->nodes[node].cpus : topology->usable);
    bind_memory(topology, node);
    return BW_OK;
}

enum bw_status bw_topology_bind_cpu(const struct bw_topology *topology, int node, int i)
{
    const struct node *n = &topology->nodes[node];
    hwloc_bitmap_t one = NULL;

    if (n->cpu_count == 0) {
        bw_error("NUMA node %u has no CPU that this process may use", n->object->os_index);
        return BW_ERR_SYSTEM;
    }
    one = hwloc_bitmap_alloc();
    if (one == NULL || hwloc_bitmap_only(one, n->order[i % n->cpu_count]) != 0) {
        hwloc_bitmap_free(one);
        return bw_errno("CPU set");
    }
    bind_cpus(topology, one);
    hwloc_bitmap_free(one);
    return BW_OK;
}

enum bw_status bw_topology_bind_memory(const struct bw_topology *topology, int node, void *address,
                                       size_t bytes)
{
    if (topology->is_real && topology->node_count > 1 && bytes > 0 &&
        hwloc_set_area_membind(topology->hwloc, address, bytes,
                               topology->nodes[node].object->nodeset, HWLOC_MEMBIND_BIND,
                               HWLOC_MEMBIND_BYNODESET) != 0) {
        say_once(topology, SAID_MEMORY, "the system refuses to bind memory to a NUMA node");
    }
    return BW_OK;
}

static bool is_in_one_core(const struct bw_topology *topology, hwloc_const_bitmap_t cpus)
{
    const int first = hwloc_bitmap_first(cpus);
    const hwloc_obj_t pu =
        first >= 0 ? hwloc_get_pu_obj_by_os_index(topology->hwloc, (unsigned)first) : NULL;
    const hwloc_obj_t core =
        pu != NULL ? hwloc_get_ancestor_obj_by_type(topology->hwloc, HWLOC_OBJ_CORE, pu) : NULL;

    return hwloc_bitmap_weight(cpus) == 1 ||
           (core != NULL && hwloc_bitmap_isincluded(cpus, core->cpuset));
}

enum bw_status bw_topology_widen(struct bw_topology *topology)
{
    const hwloc_const_bitmap_t all = hwloc_topology_get_topology_cpuset(topology->hwloc);
    hwloc_bitmap_t memory = NULL;
    enum bw_status st = BW_OK;

    if (!is_in_one_core(topology, topology->home_cpus)) {
        return BW_OK;
    }
    if (hwloc_bitmap_copy(topology->usable, all) != 0) {
        return bw_errno("CPU set");
    }
    memory = bw_mempolicy_nodes(&topology->home_memory);
    st = bw_topology_find_nodes(topology, topology->usable, memory);
    hwloc_bitmap_free(memory);
    return st;
}
