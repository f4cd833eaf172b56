/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_POOL_H
#define BW_POOL_H

#include "bwtool/measure.h"
#include "bwtool/memory.h"

/*
 * Buffers that live as long as the run. A launch takes what it needs by
 * (where, GPU, slot); the next launch gets the same buffers again, so a cell
 * costs no allocation.
 */
struct bw_pool;

enum bw_status bw_pool_build(struct bw_pool **pool, struct bw_session *session);
/* NULL is fine. Never while a gate is shut. */
void bw_pool_free(struct bw_pool *pool);

/* A launch begins: slots count from 0 again, and what it takes is not given back before the next.
 */
void bw_pool_begin(struct bw_pool *pool);

/*
 * The next buffer of at least `bytes` of `gpu`'s memory, or of host memory near
 * it. Where memory is short, buffers that this launch has not taken are given
 * back first. Needs `gpu`'s context to be current.
 */
enum bw_status bw_pool_take(struct bw_pool *pool, bool is_host, int gpu, size_t bytes,
                            CUdeviceptr *ptr);

/* What it holds now, and the most it ever held. */
struct bw_pool_use {
    size_t host_bytes, device_bytes, host_bytes_max;
    unsigned allocations;
};
struct bw_pool_use bw_pool_use(const struct bw_pool *pool);

#endif
