/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch and combine. Vectors of all tokens are counted on from token to
 * token, so that neighbouring threads move neighbouring vectors however long a
 * token is, and as many threads work as there are vectors. Every rank has as
 * many tokens as every other, so that block b has the same tiles on all of
 * them; what is sent of them may be nothing, signals are sent all the same.
 *
 * Hazards between launches, as docs/METHOD.md has them for the others. Push:
 * entry before the first store into a peer's output, data behind the last one.
 * Pull: entry, released, before the first load; data behind the last one. A
 * launch ends when all its blocks have all peers' data signals, so that it does
 * not matter which block a row came from. Tiles: two slots of scratch by the
 * epoch's parity. A block that stores a tile in launch k has got, in launch
 * k-1, the peer's signal of the same tile: the peer's k-2, which read the slot,
 * had ended. All blocks with a tile signal it in every launch, empty or not.
 */
#include "shmem_route.h"

#define SHMEM_ROUTED(name, blocks_a_sm)                  \
    BW_KERNEL BW_BOUNDS_2(BW_SHMEM_THREADS, blocks_a_sm) \
    BW_FRAMES_NAME(name)(BW_PARAM bw_route_args a)

/*
 * SM store, src = the user's tokens, dst = the peers' receive areas in
 * symmetric memory: placement R, or B with a copy-out behind it. The tables are
 * this rank's own and lie in its ordinary memory: nothing of them is staged.
 */
SHMEM_ROUTED(bw_shmem_push_dispatch, 2)
{
    const uint32_t step = shmem_threads();
    uint32_t i = shmem_thread();
    uint4 v[BW_SHMEM_COPY_VECTORS];

    shmem_begin();
    BW_FRAMES(a.s);
    shmem_permit(a.s, SHMEM_ALL);
    {
        BW_FRAME(a.s, FRAME_COPY_IN);
        shmem_load_batch(v, shmem_in(a.s, a.s.rank), i, step, a.s.total);
    }
    shmem_await(a.s, BW_SIGNAL_ENTRY, SHMEM_ALL, a.s.epoch);
    while (i < a.s.total) {
        {
            BW_FRAME_OWN(a.s, FRAME_REMOTE_PUT); /* rows that stay on this rank as well */
            BW_UNROLL
            for (int u = 0; u < BW_SHMEM_COPY_VECTORS; u++) {
                if (i + u * (uint64_t)step < a.s.total) {
                    route_store<false>(a, i + u * step, v[u]);
                }
            }
        }
        BW_FRAME_OWN(a.s, FRAME_COPY_IN);
        i += BW_SHMEM_COPY_VECTORS * step;
        shmem_load_batch(v, shmem_in(a.s, a.s.rank), i, step, a.s.total);
        BW_FRAME_HAVE(a.s, v);
    }
    shmem_finish(a.s);
}

/* The row of this rank that token `token` of rank `r` has, by r's own tables; -1: none. */
BW_DEVICE int32_t route_row_here(const bw_route_args &a, uint32_t r, uint32_t token)
{
    const bool is_mine = r == a.s.rank;
    const int32_t *dst = route_entries(a, is_mine ? a.dst : a.s.window[r] + a.dst_offset, token);
    const int32_t *slot = route_entries(a, is_mine ? a.slot : a.s.window[r] + a.slot_offset, token);

    BW_FRAME_OWN(a.s, FRAME_LAYOUT);
    for (uint32_t j = 0; j < a.width; j++) {
        if (dst[j] == (int32_t)a.s.rank) {
            return slot[j];
        }
    }
    return -1;
}

/*
 * SM load, src = the peers' tokens and tables in symmetric memory, dst = the
 * user's output: placement R, or B with tokens and both tables staged before
 * each launch. A warp takes a token, all lanes alike: whether it comes here.
 */
SHMEM_ROUTED(bw_shmem_pull_dispatch, 2)
{
    const uint32_t lanes = min(blockDim.x, 32u), lane = threadIdx.x % lanes;
    uint4 v[BW_SHMEM_COPY_VECTORS];

    shmem_begin();
    BW_FRAMES(a.s);
    shmem_publish(a.s, BW_SIGNAL_ENTRY, SHMEM_ALL, a.s.epoch);
    shmem_await(a.s, BW_SIGNAL_ENTRY, SHMEM_ALL, a.s.epoch);
    for (uint32_t t = shmem_thread() / lanes; t < a.tokens; t += shmem_threads() / lanes) {
        BW_UNROLL_1
        for (uint32_t d = 1; d <= a.s.ranks; d++) {
            const uint32_t r = shmem_peer(a.s, d);
            const int32_t row = route_row_here(a, r, t);
            const uint4 *src = shmem_in(a.s, r) + route_row(a, t);
            uint4 *dst = shmem_out(a.s, a.s.rank) + route_row(a, (uint32_t)row);

            for (uint32_t i = lane; row >= 0 && i < a.s.vectors;
                 i += lanes * BW_SHMEM_COPY_VECTORS) {
                {
                    BW_FRAME_OWN(a.s, shmem_get_frame(a.s, r));
                    shmem_load_batch(v, src, i, lanes, a.s.vectors);
                    BW_FRAME_HAVE(a.s, v);
                }
                BW_FRAME_OWN(a.s, FRAME_COPY_OUT);
                shmem_store_batch(dst, v, i, lanes, a.s.vectors);
            }
        }
    }
    shmem_finish(a.s);
}

/*
 * SM load, src = the experts' rows in symmetric memory, dst = the user's
 * output: placement R, or B with the rows staged before each launch. The tables
 * are read by this rank alone: nothing of them is staged.
 */
SHMEM_ROUTED(bw_shmem_pull_combine, 2)
{
    shmem_begin();
    BW_FRAMES(a.s);
    shmem_publish(a.s, BW_SIGNAL_ENTRY, SHMEM_ALL, a.s.epoch);
    shmem_await(a.s, BW_SIGNAL_ENTRY, SHMEM_ALL, a.s.epoch);
    route_add<false>(a, shmem_thread(), shmem_threads(), a.s.total);
    shmem_finish(a.s);
}
