/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch and combine by way of the receivers' scratch, in tiles of whole tokens. */
#include "shmem_route.h"

/* Rows of rank `r` that tile `tile` of its tokens has here: the first, and how many. */
BW_DEVICE uint32_t route_edge(const bw_route_args &a, uint32_t r, uint32_t tile)
{
    return ((const uint32_t *)a.edge)[(uint64_t)r * (a.tiles + 1) + tile];
}

/* Rows that lie one behind the other, from `src` to `dst`, by the whole block. */
template <bool SCRATCH>
BW_DEVICE void route_copy_rows(const shmem_args &a, const uint4 *src, uint4 *dst, uint32_t vectors)
{
    const uint32_t step = blockDim.x;
    uint4 v[BW_SHMEM_TILE_VECTORS];

    for (uint32_t i = threadIdx.x; i < vectors; i += BW_SHMEM_TILE_VECTORS * step) {
        {
            BW_FRAME_OWN(a, SCRATCH ? FRAME_COPY_IN : FRAME_COPY_OUT);
            shmem_load_batch(v, src, i, step, vectors);
            BW_FRAME_HAVE(a, v);
        }
        BW_FRAME_OWN(a, SCRATCH ? FRAME_REMOTE_PUT : FRAME_COPY_OUT);
        if (SCRATCH) {
            shmem_scratch_batch(dst, v, i, step, vectors);
        } else {
            shmem_store_batch(dst, v, i, step, vectors);
        }
    }
}

/* Tokens of a tile, as vectors of all of them. */
BW_DEVICE shmem_tile route_tile(const bw_route_args &a, uint32_t tile)
{
    const uint64_t first = (uint64_t)tile * a.tile_tokens * a.s.vectors;

    return {(uint32_t)first,
            (uint32_t)min(first + (uint64_t)a.tile_tokens * a.s.vectors, (uint64_t)a.s.total)};
}

/* A tile of dispatch: tokens to scratch, then rows out of it. */
struct route_dispatch {
    BW_DEVICE_MEMBER static void push(const bw_route_args &a, uint32_t tile)
    {
        const shmem_tile part = route_tile(a, tile);
        const uint32_t step = blockDim.x;
        uint4 v[BW_SHMEM_TILE_VECTORS];

        for (uint32_t i = part.first + threadIdx.x; i < part.end;
             i += BW_SHMEM_TILE_VECTORS * step) {
            {
                BW_FRAME_OWN(a.s, FRAME_COPY_IN);
                shmem_load_batch(v, shmem_in(a.s, a.s.rank), i, step, part.end);
                BW_FRAME_HAVE(a.s, v);
            }
            BW_FRAME_OWN(a.s, FRAME_REMOTE_PUT); /* rows that stay on this rank as well */
            BW_UNROLL
            for (int u = 0; u < BW_SHMEM_TILE_VECTORS; u++) {
                if (i + u * (uint64_t)step < part.end) {
                    route_store<true>(a, i + u * step, v[u]);
                }
            }
        }
    }

    BW_DEVICE_MEMBER static void take(const bw_route_args &a, uint32_t tile)
    {
        BW_UNROLL_1
        for (uint32_t d = 1; d < a.s.ranks; d++) {
            const uint32_t r = shmem_peer(a.s, d);
            const uint32_t first = route_edge(a, r, tile);

            route_copy_rows<false>(
                a.s, shmem_slot(a.s, a.s.rank, a.s.slot, r) + route_row(a, first),
                shmem_out(a.s, a.s.rank) + route_row(a, a.from[r] + first),
                (route_edge(a, r, tile + 1) - first) * a.s.vectors);
        }
    }
};

/* A tile of combine: rows to the scratch of the rank whose tokens they are of, then their sums. */
struct route_combine {
    BW_DEVICE_MEMBER static void push(const bw_route_args &a, uint32_t tile)
    {
        BW_UNROLL_1
        for (uint32_t d = 1; d < a.s.ranks; d++) {
            const uint32_t r = shmem_peer(a.s, d);
            const uint32_t first = route_edge(a, r, tile);

            route_copy_rows<true>(
                a.s, shmem_in(a.s, a.s.rank) + route_row(a, a.from[r] + first),
                shmem_slot(a.s, r, a.s.slot, a.s.rank) + route_row(a, first),
                (route_edge(a, r, tile + 1) - first) * a.s.vectors);
        }
    }

    BW_DEVICE_MEMBER static void take(const bw_route_args &a, uint32_t tile)
    {
        const shmem_tile part = route_tile(a, tile);

        route_add<true>(a, part.first + threadIdx.x, blockDim.x, part.end);
    }
};

template <class HOW> BW_DEVICE void route_run_tiles(const bw_route_args &a)
{
    const uint32_t steps =
        a.tiles > blockIdx.x ? (a.tiles - blockIdx.x + gridDim.x - 1) / gridDim.x : 0;

    shmem_begin();
    BW_FRAMES(a.s);
    for (uint32_t s = 0; s < steps + SHMEM_TILE_LAG; s++) {
        if (s < steps) {
            HOW::push(a, blockIdx.x + s * gridDim.x);
            shmem_publish(a.s, BW_SIGNAL_TILE, SHMEM_ALL, a.s.tick + s + 1);
        }
        if (s >= SHMEM_TILE_LAG && s - SHMEM_TILE_LAG < steps) {
            shmem_await(a.s, BW_SIGNAL_TILE, SHMEM_ALL, a.s.tick + s - SHMEM_TILE_LAG + 1);
            HOW::take(a, blockIdx.x + (s - SHMEM_TILE_LAG) * gridDim.x);
        }
    }
}

/*
 * SM store, src = the user's tokens or rows, dst = the peers' scratch, and
 * copied out or added up by the same kernel: placement A, no user buffer is
 * symmetric.
 */
SHMEM_ROUTED(bw_shmem_tiles_dispatch, 2)
{
    route_run_tiles<route_dispatch>(a);
}

SHMEM_ROUTED(bw_shmem_tiles_combine, 2)
{
    route_run_tiles<route_combine>(a);
}
