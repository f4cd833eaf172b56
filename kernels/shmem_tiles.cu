/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators by way of the receivers' scratch, in tiles: a block pushes a tile
 * to every peer and signals it, then takes the tile of two steps ago that the
 * peers have pushed here, and adds it or copies it out. Two slots of scratch,
 * by the epoch's parity, so that no rank waits for another one's entry.
 *
 * SM store, src = the user's input, dst = the peers' scratch, and copied out
 * by the same kernel: placement A, no user buffer is symmetric. The two-shot
 * all-reduce pushes sums into the peers' outputs: those are symmetric, R.
 */
#include "shmem_device.h"

const uint32_t SHMEM_TILE_LAG = 2;

enum shmem_tiles {
    TILES_ALL_GATHER,
    TILES_ALL_TO_ALL,
    TILES_BROADCAST,
    TILES_REDUCE_SCATTER,
    TILES_ONE_SHOT,
    TILES_TWO_SHOT,
};

/* One tile of each message, this thread's share. */
struct shmem_tile {
    uint32_t first, end;
};

BW_DEVICE shmem_tile shmem_tile_at(const shmem_args &a, uint32_t step)
{
    const uint64_t first = (blockIdx.x + (uint64_t)step * gridDim.x) * a.tile_vectors;

    return {(uint32_t)first, (uint32_t)min(first + a.tile_vectors, (uint64_t)a.vectors)};
}

template <shmem_tiles HOW> BW_DEVICE bool shmem_tiles_each(void)
{
    return HOW == TILES_ALL_TO_ALL || HOW == TILES_REDUCE_SCATTER || HOW == TILES_TWO_SHOT;
}

/* The end of a tile of rank r's part. */
template <shmem_tiles HOW>
BW_DEVICE uint32_t shmem_tile_end(const shmem_args &a, shmem_tile tile, uint32_t r)
{
    return HOW == TILES_TWO_SHOT ? min(tile.end, shmem_part_length(a, r)) : tile.end;
}

template <shmem_tiles HOW> BW_DEVICE void shmem_tile_push(const shmem_args &a, shmem_tile tile)
{
    const uint32_t i = tile.first + threadIdx.x;

    BW_UNROLL_1
    for (uint32_t d = 1; d < a.ranks; d++) {
        const uint32_t r = shmem_peer(a, d);
        const uint32_t end = shmem_tile_end<HOW>(a, tile, r);
        uint4 v[BW_SHMEM_TILE_VECTORS];

        {
            BW_FRAME(a, FRAME_COPY_IN);
            shmem_load_batch(v,
                             shmem_in(a, a.rank) + (shmem_tiles_each<HOW>() ? shmem_part(a, r) : 0),
                             i, blockDim.x, end);
            BW_FRAME_HAVE(a, v);
        }
        BW_FRAME(a, FRAME_REMOTE_PUT);
        shmem_scratch_batch(shmem_slot(a, r, a.slot, a.rank), v, i, blockDim.x, end);
    }
}

/* What stays on this rank, or came from another one. */
template <shmem_tiles HOW>
BW_DEVICE const uint4 *shmem_tile_source(const shmem_args &a, uint32_t r)
{
    if (r != a.rank) {
        return shmem_slot(a, a.rank, a.slot, r);
    }
    return shmem_in(a, a.rank) + (shmem_tiles_each<HOW>() ? shmem_part(a, a.rank) : 0);
}

template <shmem_tiles HOW> BW_DEVICE void shmem_tile_copy(const shmem_args &a, shmem_tile tile)
{
    BW_FRAME(a, FRAME_COPY_OUT);
    const uint32_t i = tile.first + threadIdx.x;

    BW_UNROLL_1
    for (uint32_t d = 1; d <= a.ranks; d++) {
        const uint32_t r = HOW == TILES_BROADCAST ? a.root : shmem_peer(a, d);
        uint4 v[BW_SHMEM_TILE_VECTORS];

        shmem_load_batch(v, shmem_tile_source<HOW>(a, r), i, blockDim.x, tile.end);
        shmem_store_batch(shmem_out(a, a.rank) + (HOW == TILES_BROADCAST ? 0 : shmem_part(a, r)), v,
                          i, blockDim.x, tile.end);
        if (HOW == TILES_BROADCAST) {
            break;
        }
    }
}

template <shmem_tiles HOW> BW_DEVICE void shmem_tile_add(const shmem_args &a, shmem_tile tile)
{
    const uint32_t i = tile.first + threadIdx.x;
    const uint32_t end = shmem_tile_end<HOW>(a, tile, a.rank);
    uint4 sum[BW_SHMEM_TILE_VECTORS], v[BW_SHMEM_TILE_VECTORS];

    {
        BW_FRAME(a, FRAME_REDUCE);
        shmem_load_batch(sum, shmem_tile_source<HOW>(a, 0), i, blockDim.x, end);
        BW_UNROLL_1
        for (uint32_t r = 1; r < a.ranks; r++) {
            shmem_load_batch(v, shmem_tile_source<HOW>(a, r), i, blockDim.x, end);
            shmem_add_batch(a.dtype, sum, v);
        }
        BW_FRAME_HAVE(a, sum);
    }
    if constexpr (HOW == TILES_TWO_SHOT) {
        BW_UNROLL_1
        for (uint32_t d = 1; d <= a.ranks; d++) {
            BW_FRAME(a, d < a.ranks ? FRAME_REMOTE_PUT : FRAME_FINALIZE);
            shmem_store_batch(shmem_out(a, shmem_peer(a, d)) + shmem_part(a, a.rank), sum, i,
                              blockDim.x, end);
        }
    } else {
        BW_FRAME(a, FRAME_FINALIZE);
        shmem_store_batch(shmem_out(a, a.rank), sum, i, blockDim.x, end);
    }
}

template <shmem_tiles HOW>
BW_DEVICE void shmem_tile_take(const shmem_args &a, uint32_t step, bool sends)
{
    const uint32_t from = HOW == TILES_BROADCAST ? a.root : SHMEM_ALL;

    if (HOW != TILES_BROADCAST || !sends) {
        shmem_await(a, BW_SIGNAL_TILE, from, a.tick + step + 1);
    }
    if (HOW == TILES_ALL_GATHER || HOW == TILES_ALL_TO_ALL || HOW == TILES_BROADCAST) {
        shmem_tile_copy<HOW>(a, shmem_tile_at(a, step));
    } else {
        shmem_tile_add<HOW>(a, shmem_tile_at(a, step));
    }
}

/*
 * A broadcast's root gets nothing back that would tell it that its slots were
 * read. It waits for "rank r has begun the epoch before": then r has ended the
 * one before that, which had this slot.
 */
template <shmem_tiles HOW> BW_DEVICE void shmem_credit(const shmem_args &a)
{
    if (HOW != TILES_BROADCAST) {
        return;
    }
    if (a.rank != a.root) {
        shmem_permit(a, a.root);
    } else {
        shmem_await(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch - 1);
    }
}

template <shmem_tiles HOW> BW_DEVICE void shmem_run_tiles(const shmem_args &a)
{
    const uint32_t count = a.vectors / a.tile_vectors + (a.vectors % a.tile_vectors != 0 ? 1 : 0);
    const uint32_t steps =
        count > blockIdx.x ? (count - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;
    const bool sends = HOW != TILES_BROADCAST || a.rank == a.root;

    shmem_begin();
    BW_FRAMES(a);
    shmem_credit<HOW>(a);
    for (uint32_t s = 0; s < steps + SHMEM_TILE_LAG; s++) {
        if (s < steps && sends) {
            shmem_tile_push<HOW>(a, shmem_tile_at(a, s));
            shmem_publish(a, BW_SIGNAL_TILE, SHMEM_ALL, a.tick + s + 1);
        }
        if (s >= SHMEM_TILE_LAG && s - SHMEM_TILE_LAG < steps) {
            shmem_tile_take<HOW>(a, s - SHMEM_TILE_LAG, sends);
        }
    }
    if (HOW == TILES_TWO_SHOT) {
        shmem_publish(a, BW_SIGNAL_DATA, SHMEM_ALL, a.epoch);
        shmem_await(a, BW_SIGNAL_DATA, SHMEM_ALL, a.epoch);
    }
}

SHMEM_KERNEL(bw_shmem_tiles_all_gather, 2)
{
    shmem_run_tiles<TILES_ALL_GATHER>(a);
}

SHMEM_KERNEL(bw_shmem_tiles_all_to_all, 2)
{
    shmem_run_tiles<TILES_ALL_TO_ALL>(a);
}

SHMEM_KERNEL(bw_shmem_tiles_broadcast, 2)
{
    shmem_run_tiles<TILES_BROADCAST>(a);
}

SHMEM_KERNEL(bw_shmem_tiles_reduce_scatter, 2)
{
    shmem_run_tiles<TILES_REDUCE_SCATTER>(a);
}

SHMEM_KERNEL(bw_shmem_tiles_all_reduce, 2)
{
    shmem_run_tiles<TILES_ONE_SHOT>(a);
}

SHMEM_KERNEL(bw_shmem_two_shot_all_reduce, 2)
{
    shmem_run_tiles<TILES_TWO_SHOT>(a);
}
