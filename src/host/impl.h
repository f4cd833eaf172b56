/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_HOST_IMPL_H
#define BW_HOST_IMPL_H

#include "bwtool/topology.h"

#include <hwloc.h>
#include <stdatomic.h>

/* What the files of this folder, and its tests, share. */

/* A thread's memory policy as the kernel has it: hwloc's words would not give it back exactly. */
struct mempolicy {
    bool is_known;
    int mode;
    unsigned long nodes[1024 / (8 * sizeof(unsigned long))]; /* the kernel's greatest number */
};

struct node {
    hwloc_obj_t object;
    hwloc_bitmap_t cpus; /* usable ones                                           */
    unsigned *order;     /* the same: one of each core first, then their siblings */
    int cpu_count, core_count;
};

struct bw_topology {
    hwloc_topology_t hwloc;
    bool is_real; /* this machine: bindings bind */
    struct node *nodes;
    int node_count;
    hwloc_bitmap_t home_cpus; /* the binding found at the start, to go back to  */
    hwloc_bitmap_t usable;    /* CPUs to choose from: those, unless widened     */
    struct mempolicy home_memory;
    atomic_flag *said; /* what was warned of once: SAID_... */
};

enum { SAID_CPUS, SAID_MEMORY, SAID_COUNT };

/*
 * Make the list of nodes from the CPUs and memory nodes that may be used;
 * `memory` NULL: all. Replaces the list that is there.
 */
enum bw_status bw_topology_find_nodes(struct bw_topology *topology, hwloc_const_bitmap_t usable,
                                      hwloc_const_nodeset_t memory);

/* True for the memory of a GPU that is a node of its own (Grace Hopper): not host memory. */
bool bw_topology_is_gpu_memory(hwloc_obj_t object);

/* Memory policy of the calling thread. */
void bw_mempolicy_save(struct mempolicy *policy);
bool bw_mempolicy_restore(const struct mempolicy *policy);

/* The nodes that a policy allows, or NULL if it allows all. The caller frees it. */
hwloc_bitmap_t bw_mempolicy_nodes(const struct mempolicy *policy);

#endif
