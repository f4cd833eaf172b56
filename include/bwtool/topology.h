/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_TOPOLOGY_H
#define BW_TOPOLOGY_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * NUMA nodes, their CPUs, and which node a PCI device is near to, by hwloc. A
 * node here has a number from 0 among those that have memory and may be used;
 * os_index is the operating system's number for it. Only CPUs of the caller's
 * own cpuset (numactl, cgroup) are ever used, and it can be restored.
 */

struct bw_topology; /* opaque: hwloc's, and the binding found at the start */

/*
 * `xml` is a file that hwloc wrote, or NULL for this machine (then bindings
 * really bind). Remembers the calling thread's binding.
 */
enum bw_status bw_topology_open(struct bw_topology **topology, const char *xml);
/* NULL is fine. Restores the binding found at the start. */
void bw_topology_close(struct bw_topology *topology);

int bw_topology_node_count(const struct bw_topology *topology);
/* The operating system's number of a node. */
int bw_topology_node_os_index(const struct bw_topology *topology, int node);
/* Usable CPUs (hardware threads) of a node; 0 if it has memory only. */
int bw_topology_node_cpus(const struct bw_topology *topology, int node);
/* Cores that those are of: less where a core has several hardware threads. */
int bw_topology_node_cores(const struct bw_topology *topology, int node);
size_t bw_topology_node_memory_bytes(const struct bw_topology *topology, int node);
/*
 * Memory that can still be had on a node, by what the kernel says now of the
 * node, of the machine and of our cgroup; SIZE_MAX if it says nothing.
 */
size_t bw_topology_node_free_bytes(const struct bw_topology *topology, int node);
/* The greatest cache of a node's first usable CPU: what one thread can find there; 0 if unknown. */
size_t bw_topology_cache_bytes(const struct bw_topology *topology, int node);
/* All of the last-level caches that a node's usable CPUs have; 0 if unknown. */
size_t bw_topology_caches_bytes(const struct bw_topology *topology, int node);

/*
 * The node nearest to a PCI device ("0000:0f:00.0"), or -1 if the machine does
 * not know (no such device, or it hangs at the top of several nodes).
 */
int bw_topology_node_of_pci(const struct bw_topology *topology, const char *pci);

/*
 * Bind the calling thread, and the memory that it touches from now on, to a
 * node; node -1 goes back to the binding found at the start. A node without
 * usable CPUs binds memory only. BW_OK also where the system refuses: that is
 * said once, as a warning.
 */
enum bw_status bw_topology_bind(const struct bw_topology *topology, int node);

/*
 * Bind the calling thread to the i-th usable CPU (modulo their number) of a
 * node, memory left as it is. The first so many are of different cores. The
 * node must have CPUs.
 */
enum bw_status bw_topology_bind_cpu(const struct bw_topology *topology, int node, int i);

/*
 * Bind the pages of [address, address + bytes), not yet touched, to a node.
 * BW_OK also where the system refuses (said once).
 */
enum bw_status bw_topology_bind_memory(const struct bw_topology *topology, int node, void *address,
                                       size_t bytes);

/*
 * Where the pages of touched memory are: the node, -1 if on several or on one
 * that is not ours, -2 if the system does not say.
 */
int bw_topology_where(const struct bw_topology *topology, const void *address, size_t bytes);

/*
 * For a rank of a job: launchers bind each rank to a core, which is nobody's
 * wish. If the binding found at the start is within one core, choose from all
 * CPUs that the cgroup allows from now on; closing restores what was found. A
 * wider binding is somebody's wish (numactl, taskset) and stays. Node numbers
 * do not change. Not while other threads use `topology`.
 */
enum bw_status bw_topology_widen(struct bw_topology *topology);

#endif
