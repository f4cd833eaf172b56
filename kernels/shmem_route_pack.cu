/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch and combine for a library that sends one piece to each rank: the
 * baseline's part that is ours. No signals: what comes before and after is the
 * library's work in the same stream. `window` of another rank is where its
 * piece lies here, less the row at which this rank's begin there.
 */
#include "shmem_route.h"

/* The tokens of this rank, in pieces; rows of its own go to their place. */
BW_KERNEL BW_BOUNDS_2(BW_SHMEM_THREADS, 2) bw_route_pack(BW_PARAM bw_route_args a)
{
    const uint32_t step = shmem_threads();
    uint4 v[BW_SHMEM_COPY_VECTORS];

    for (uint64_t i = shmem_thread(); i < a.s.total; i += BW_SHMEM_COPY_VECTORS * (uint64_t)step) {
        shmem_load_batch(v, shmem_in(a.s, a.s.rank), (uint32_t)i, step, a.s.total);
        BW_UNROLL
        for (int u = 0; u < BW_SHMEM_COPY_VECTORS; u++) {
            if (i + u * (uint64_t)step < a.s.total) {
                route_store<false>(a, (uint32_t)(i + u * (uint64_t)step), v[u]);
            }
        }
    }
}

/* The sums of the rows of each token of this rank, from the pieces that came back. */
BW_KERNEL BW_BOUNDS_2(BW_SHMEM_THREADS, 2) bw_route_unpack(BW_PARAM bw_route_args a)
{
    route_add<false>(a, shmem_thread(), shmem_threads(), a.s.total);
}
