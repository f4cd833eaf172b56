/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The push of shmem_route.cu by bulk copies (TMA): one thread a block keeps a
 * ring of parts of tokens moving; a part is loaded once and stored to each rank
 * that its token goes to.
 *
 * TMA store, src = the user's tokens, dst = the peers' receive areas in
 * symmetric memory: placement R, or B with a copy-out behind it.
 */
#include "shmem_route.h"

#ifdef BW_HAS_BULK

/* Part of a token, in bytes from where the token begins. */
struct route_part {
    uint32_t token, at, bytes;
};

/* Tokens in parts that fit into a stage, all but the last of a token as long. */
BW_DEVICE uint32_t route_parts(const bw_route_args &a)
{
    return (a.s.vectors * 16 + SHMEM_TMA_BYTES - 1) / SHMEM_TMA_BYTES;
}

/* Item k of this block. */
BW_DEVICE route_part route_part_at(const bw_route_args &a, uint32_t k)
{
    const uint32_t parts = route_parts(a), item = blockIdx.x + k * gridDim.x;
    const uint32_t bytes = (a.s.vectors + parts - 1) / parts * 16;
    const uint32_t at = min(item % parts * bytes, a.s.vectors * 16);

    return {item / parts, at, min(bytes, a.s.vectors * 16 - at)};
}

BW_DEVICE void route_part_load(const bw_route_args &a, uint32_t k, char *ring, uint64_t *barriers)
{
    BW_FRAME_OWN(a.s, FRAME_COPY_IN);
    const route_part part = route_part_at(a, k);
    const uint32_t stage = k % SHMEM_TMA_STAGES;

    bw_bulk_load(ring + stage * SHMEM_TMA_BYTES,
                 (const char *)(shmem_in(a.s, a.s.rank) + route_row(a, part.token)) + part.at,
                 part.bytes, &barriers[stage]);
}

/* At least one store an item, a group of its own each. */
BW_DEVICE void route_part_store(const bw_route_args &a, uint32_t k, const char *ring)
{
    BW_FRAME_OWN(a.s, FRAME_REMOTE_PUT); /* rows that stay on this rank as well */
    const route_part part = route_part_at(a, k);
    const int32_t *dst = route_entries(a, a.dst, part.token);
    const int32_t *slot = route_entries(a, a.slot, part.token);
    const char *stage = ring + k % SHMEM_TMA_STAGES * SHMEM_TMA_BYTES;

    BW_UNROLL_1
    for (uint32_t j = 0; j < a.width && dst[j] >= 0; j++) {
        bw_bulk_store((char *)(shmem_out(a.s, (uint32_t)dst[j]) +
                               route_row(a, (uint32_t)slot[j])) +
                          part.at,
                      stage, part.bytes);
    }
}

/* One thread. A stage is loaded again when the stores of its item have read it. */
BW_DEVICE void route_run_parts(const bw_route_args &a, uint32_t items, char *ring,
                               uint64_t *barriers)
{
    for (uint32_t k = 0; k < items; k++) {
        {
            BW_FRAME_OWN(a.s, FRAME_COPY_IN);
            bw_bulk_wait(&barriers[k % SHMEM_TMA_STAGES], k / SHMEM_TMA_STAGES & 1);
        }
        route_part_store(a, k, ring);
        if (k + SHMEM_TMA_AHEAD < items) {
            {
                /* Newer items have a store each at the least: so many groups, or a stricter wait.
                 */
                BW_FRAME_OWN(a.s, FRAME_BULK_WAIT);
                bw_bulk_wait_read<SHMEM_TMA_STAGES - SHMEM_TMA_AHEAD>();
            }
            route_part_load(a, k + SHMEM_TMA_AHEAD, ring, barriers);
        }
    }
    BW_FRAME_OWN(a.s, FRAME_BULK_WAIT);
    bw_bulk_wait_all();
}

BW_DEVICE void route_run_tma(const bw_route_args &a, char *ring, uint64_t *barriers)
{
    const uint32_t all = a.tokens * route_parts(a);
    const uint32_t items =
        all > blockIdx.x ? (all - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;

    if (threadIdx.x == 0) {
        for (int i = 0; i < SHMEM_TMA_STAGES; i++) {
            bw_bulk_init(&barriers[i]);
        }
    }
    shmem_begin();
    BW_FRAMES(a.s);
    shmem_permit(a.s, SHMEM_ALL);
    for (uint32_t k = 0; threadIdx.x == 0 && k < items && k < SHMEM_TMA_AHEAD; k++) {
        route_part_load(a, k, ring, barriers);
    }
    shmem_await(a.s, BW_SIGNAL_ENTRY, SHMEM_ALL, a.s.epoch);
    if (threadIdx.x == 0) {
        route_run_parts(a, items, ring, barriers);
    }
    shmem_finish(a.s);
}

#endif

BW_KERNEL BW_BOUNDS(BW_SHMEM_TMA_THREADS)
BW_FRAMES_NAME(bw_shmem_tma_dispatch)(BW_PARAM bw_route_args a)
{
#ifdef BW_HAS_BULK
    __shared__ char ring[SHMEM_TMA_STAGES * SHMEM_TMA_BYTES] __attribute__((aligned(128)));
    __shared__ uint64_t barriers[SHMEM_TMA_STAGES];

    route_run_tma(a, ring, barriers);
#else
    (void)a;
#endif
}
