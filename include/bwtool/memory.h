/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_MEMORY_H
#define BW_MEMORY_H

#include "gpu.h"
#include "share.h"
#include "status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * One buffer that GPUs can reach. A device pointer and, for host memory, the
 * host's own pointer are the same address (unified addressing).
 */
struct bw_buffer {
    CUdeviceptr ptr; /* 0: closed */
    size_t bytes;
    int gpu; /* where it is; for host memory, the GPU it is near to */
    bool is_host;
    bool is_huge; /* host: asked the kernel for huge pages, and it agreed */
    void *map;    /* host: what mmap gave, map_bytes long; else NULL      */
    size_t map_bytes;
    bool is_registered;
    struct bw_share share; /* device memory that was made to be shared; else zeroed */
    double open_ms;        /* what it cost */
};

/* Device memory of `gpu`. BW_ERR_MEMORY, logged with what was asked for and what is free. */
enum bw_status bw_buffer_open_device(struct bw_buffer *buffer, const struct bw_gpu *gpu,
                                     size_t bytes);

/*
 * The same by cuMemCreate, as ranks have it (share.h), and reached by all GPUs
 * that have peer access to `gpu`; `bytes` are rounded up.
 */
enum bw_status bw_buffer_open_created(struct bw_buffer *buffer, const struct bw_gpus *gpus, int gpu,
                                      size_t bytes);

/*
 * Page-locked host memory, mapped into all contexts, on the NUMA node that the
 * calling thread and `touch` threads are bound to: pages are touched first by
 * `threads` threads (at least 1) that inherit the caller's CPU and memory
 * binding. Huge pages are used where there are any. Needs a current context.
 */
enum bw_status bw_buffer_open_host(struct bw_buffer *buffer, const struct bw_gpu *near,
                                   size_t bytes, unsigned threads);

/*
 * Zeroed or half-opened is fine. Never while a gate is shut: freeing waits for
 * the held stream.
 */
void bw_buffer_close(struct bw_buffer *buffer, const struct bw_gpus *gpus);

#endif
