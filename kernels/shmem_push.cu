/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that write into the outputs of the peers, by 16-byte stores, and
 * those that read the inputs of the peers, by 16-byte loads. Signals: entry
 * before the first access to a peer, data behind the last one.
 */
#include "shmem_device.h"

#define SHMEM_KERNEL(name, blocks_a_sm)                  \
    BW_KERNEL BW_BOUNDS_2(BW_SHMEM_THREADS, blocks_a_sm) \
    BW_FRAMES_NAME(name)(BW_PARAM bw_shmem_args a)

BW_DEVICE uint32_t shmem_threads(void)
{
    return gridDim.x * blockDim.x;
}

BW_DEVICE uint32_t shmem_thread(void)
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

/* Wait for the peers' data, and tell them of ours. */
BW_DEVICE void shmem_finish(const shmem_args &a)
{
    shmem_publish(a, BW_SIGNAL_DATA, SHMEM_ALL, a.epoch);
    shmem_await(a, BW_SIGNAL_DATA, SHMEM_ALL, a.epoch);
}

/* Distance a.ranks is this rank itself. */
BW_DEVICE uint32_t shmem_put_frame(const shmem_args &a, uint32_t distance)
{
    return distance < a.ranks ? FRAME_REMOTE_PUT : FRAME_COPY_OUT;
}

/* This rank's message, the first batch of which is on its way, to all outputs or parts of them. */
template <bool WHOLE>
BW_DEVICE void shmem_push_to_all(const shmem_args &a, uint4 (&v)[BW_SHMEM_COPY_VECTORS], uint32_t i,
                                 uint32_t step)
{
    BW_FRAME(a, FRAME_TRANSPORT);
    while (i < a.vectors) {
    BW_UNROLL_1
        for (uint32_t d = 1; d <= a.ranks; d++) {
            BW_FRAME_OWN(a, shmem_put_frame(a, d));
            shmem_store_batch(shmem_out(a, shmem_peer(a, d)) + (WHOLE ? 0 : shmem_part(a, a.rank)),
                              v, i, step, a.vectors);
        }
        BW_FRAME_OWN(a, FRAME_COPY_IN);
        i += BW_SHMEM_COPY_VECTORS * step;
        shmem_load_batch(v, shmem_in(a, a.rank), i, step, a.vectors);
        BW_FRAME_HAVE(a, v);
    }
}

/*
 * SM store, src = the user's input, dst = the peers' output in symmetric
 * memory: placement R, no staging. One load feeds all stores; the first loads,
 * of this GPU's own memory, run while the peers arrive.
 */
SHMEM_KERNEL(bw_shmem_push_all_gather, 2)
{
    const uint32_t step = shmem_threads();
    const uint32_t i = shmem_thread();
    uint4 v[BW_SHMEM_COPY_VECTORS];

    shmem_begin();
    BW_FRAMES(a);
    shmem_permit(a, SHMEM_ALL);
    {
        BW_FRAME(a, FRAME_COPY_IN);
        shmem_load_batch(v, shmem_in(a, a.rank), i, step, a.vectors);
    }
    shmem_await(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
    shmem_push_to_all<false>(a, v, i, step);
    shmem_finish(a);
}

/* The same for a message a rank: distance after distance, then the next batch. */
BW_DEVICE void shmem_push_each(const shmem_args &a, uint4 (&v)[BW_SHMEM_COPY_VECTORS], uint32_t i,
                               uint32_t step)
{
    uint32_t d = 1;

    BW_FRAME(a, FRAME_TRANSPORT);
    while (i < a.vectors) {
        {
            BW_FRAME_OWN(a, shmem_put_frame(a, d));
            shmem_store_batch(shmem_out(a, shmem_peer(a, d)) + shmem_part(a, a.rank), v, i, step,
                              a.vectors);
        }
        BW_FRAME_OWN(a, FRAME_COPY_IN);
        if (++d > a.ranks) {
            d = 1;
            i += BW_SHMEM_COPY_VECTORS * step;
        }
        shmem_load_batch(v, shmem_in(a, a.rank) + shmem_part(a, shmem_peer(a, d)), i, step,
                         a.vectors);
        BW_FRAME_HAVE(a, v);
    }
}

SHMEM_KERNEL(bw_shmem_push_all_to_all, 2)
{
    const uint32_t step = shmem_threads();
    const uint32_t i = shmem_thread();
    uint4 v[BW_SHMEM_COPY_VECTORS];

    shmem_begin();
    BW_FRAMES(a);
    shmem_permit(a, SHMEM_ALL);
    {
        BW_FRAME(a, FRAME_COPY_IN);
        shmem_load_batch(v, shmem_in(a, a.rank) + shmem_part(a, shmem_peer(a, 1)), i, step,
                         a.vectors);
    }
    shmem_await(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
    shmem_push_each(a, v, i, step);
    shmem_finish(a);
}

/* The root waits until all may be written, so that it cannot overrun them; the others for data. */
SHMEM_KERNEL(bw_shmem_push_broadcast, 2)
{
    const uint32_t step = shmem_threads();
    const uint32_t i = shmem_thread();
    uint4 v[BW_SHMEM_COPY_VECTORS];

    shmem_begin();
    BW_FRAMES(a);
    if (a.rank != a.root) {
        shmem_permit(a, a.root);
        shmem_await(a, BW_SIGNAL_DATA, a.root, a.epoch);
        return;
    }
    {
        BW_FRAME(a, FRAME_COPY_IN);
        shmem_load_batch(v, shmem_in(a, a.rank), i, step, a.vectors);
    }
    shmem_await(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
    shmem_push_to_all<true>(a, v, i, step);
    shmem_publish(a, BW_SIGNAL_DATA, SHMEM_ALL, a.epoch);
}

BW_DEVICE uint32_t shmem_get_frame(const shmem_args &a, uint32_t rank)
{
    return rank == a.rank ? FRAME_COPY_IN : FRAME_REMOTE_GET;
}

/*
 * SM load, src = the peers' input in symmetric memory, dst = the user's
 * output: placement R, or B, with the input staged before each launch.
 */
template <bool EACH> BW_DEVICE void shmem_pull(const shmem_args &a)
{
    const uint32_t step = shmem_threads();
    uint4 v[BW_SHMEM_COPY_VECTORS];

    shmem_begin();
    BW_FRAMES(a);
    shmem_publish(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
    shmem_await(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
    for (uint32_t i = shmem_thread(); i < a.vectors; i += BW_SHMEM_COPY_VECTORS * step) {
    BW_UNROLL_1
        for (uint32_t d = 1; d <= a.ranks; d++) {
            const uint32_t r = shmem_peer(a, d);

            {
                BW_FRAME_OWN(a, shmem_get_frame(a, r));
                shmem_load_batch(v, shmem_in(a, r) + (EACH ? shmem_part(a, a.rank) : 0), i, step,
                                 a.vectors);
                BW_FRAME_HAVE(a, v);
            }
            BW_FRAME_OWN(a, FRAME_COPY_OUT);
            shmem_store_batch(shmem_out(a, a.rank) + shmem_part(a, r), v, i, step, a.vectors);
        }
    }
    shmem_finish(a);
}

SHMEM_KERNEL(bw_shmem_pull_all_gather, 2)
{
    shmem_pull<false>(a);
}

SHMEM_KERNEL(bw_shmem_pull_all_to_all, 2)
{
    shmem_pull<true>(a);
}

/* The same for sums, in the order of the ranks: the same bits on all of them. */
template <bool WHOLE> BW_DEVICE void shmem_pull_sum(const shmem_args &a)
{
    const uint32_t offset = WHOLE ? 0 : shmem_part(a, a.rank);
    const uint32_t step = shmem_threads();
    uint4 sum[BW_SHMEM_COPY_VECTORS], v[BW_SHMEM_COPY_VECTORS];

    shmem_begin();
    BW_FRAMES(a);
    shmem_publish(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
    shmem_await(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
    for (uint32_t i = shmem_thread(); i < a.vectors; i += BW_SHMEM_COPY_VECTORS * step) {
        {
            BW_FRAME_OWN(a, shmem_get_frame(a, 0));
            shmem_load_batch(sum, shmem_in(a, 0) + offset, i, step, a.vectors);
        }
    BW_UNROLL_1
        for (uint32_t r = 1; r < a.ranks; r++) {
            {
                BW_FRAME_OWN(a, shmem_get_frame(a, r));
                shmem_load_batch(v, shmem_in(a, r) + offset, i, step, a.vectors);
                BW_FRAME_HAVE(a, v);
            }
            BW_FRAME_OWN(a, FRAME_REDUCE);
            shmem_add_batch(a.dtype, sum, v);
            BW_FRAME_HAVE(a, sum);
        }
        BW_FRAME_OWN(a, FRAME_FINALIZE);
        shmem_store_batch(shmem_out(a, a.rank), sum, i, step, a.vectors);
    }
    shmem_finish(a);
}

SHMEM_KERNEL(bw_shmem_pull_reduce_scatter, 1)
{
    shmem_pull_sum<false>(a);
}

SHMEM_KERNEL(bw_shmem_pull_all_reduce, 1)
{
    shmem_pull_sum<true>(a);
}
