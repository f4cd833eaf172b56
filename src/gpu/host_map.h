/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_HOST_MAP_H
#define BW_HOST_MAP_H

#include "bwtool/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Host memory in huge pages where there are any, touched by several threads; no driver needed. */
struct bw_host_map {
    void *data; /* the memory to use, aligned to a page (2 MiB if it is that large) */
    void *map;  /* what munmap wants */
    size_t map_bytes;
    bool is_huge;
};

/*
 * BW_ERR_MEMORY, logged with what was asked for and what is free, before a
 * page is touched: the kernel would promise more than there is, and kill the
 * process later.
 */
enum bw_status bw_host_map_open(struct bw_host_map *map, size_t bytes, unsigned threads);
/* Zeroed is fine. */
void bw_host_map_close(struct bw_host_map *map);

#endif
