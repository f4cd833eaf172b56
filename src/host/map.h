/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_HOST_MAP_H
#define BW_HOST_MAP_H

#include "bwtool/topology.h"

/* Memory on a chosen NUMA node: mapped, bound, touched, and seen to be there. */
struct bw_map {
    void *data; /* aligned to a huge page; NULL: closed */
    size_t bytes;
    void *map; /* what mmap gave */
    size_t map_bytes;
};

/*
 * BW_ERR_MEMORY, logged with what was asked for and what is free, where there
 * is not enough or where it came from another node.
 */
enum bw_status bw_map_open(struct bw_map *map, const struct bw_topology *topology, int node,
                           size_t bytes);
/* Zeroed is fine. */
void bw_map_close(struct bw_map *map);

/* The part of it that is in huge pages, 0 to 1; 0 also where the system does not say. */
double bw_map_huge_part(const struct bw_map *map);

#endif
