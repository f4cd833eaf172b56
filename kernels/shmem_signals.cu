/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that are signals: the stream-ordered barrier, and the ping-pong. */
#include "shmem_device.h"

/* One block: nobody passes who is not awaited by all. */
BW_KERNEL BW_FRAMES_NAME(bw_shmem_barrier)(BW_PARAM bw_shmem_args a)
{
    shmem_begin();
    BW_FRAMES(a);
    for (uint32_t k = 1; k <= a.rounds; k++) {
        shmem_publish(a, BW_SIGNAL_TILE, SHMEM_ALL, a.tick + k);
        shmem_await(a, BW_SIGNAL_TILE, SHMEM_ALL, a.tick + k);
    }
}

/* This block's share of a message, to the partner's output. */
BW_DEVICE void shmem_put_message(const shmem_args &a, uint32_t partner)
{
    const uint4 *src = shmem_in(a, a.rank);
    uint4 *dst = (uint4 *)(a.window[partner] + a.out_offset);

    BW_FRAME(a, FRAME_REMOTE_PUT);
    for (uint32_t i = threadIdx.x; i < a.vectors; i += blockDim.x) {
        shmem_store(dst + i, shmem_load(src + i));
    }
}

/*
 * One block each of ranks 0 and 1: a message and its signal, to and fro. The
 * receiver waits for the signal; by then the message is there.
 */
BW_KERNEL BW_FRAMES_NAME(bw_shmem_pingpong)(BW_PARAM bw_shmem_args a)
{
    const uint32_t partner = 1 - a.rank;

    shmem_begin();
    BW_FRAMES(a);
    for (uint32_t k = 1; a.rank <= 1 && k <= a.rounds; k++) {
        if (a.rank == 1) {
            shmem_await(a, BW_SIGNAL_TILE, partner, a.tick + k);
        }
        shmem_put_message(a, partner);
        shmem_publish(a, BW_SIGNAL_TILE, partner, a.tick + k);
        if (a.rank == 0) {
            shmem_await(a, BW_SIGNAL_TILE, partner, a.tick + k);
        }
    }
}
