/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pushes of shmem_push.cu by bulk copies (TMA): one thread a block keeps a
 * ring of chunks in shared memory moving.
 *
 * TMA store, src = the user's input, dst = the peers' output in symmetric
 * memory: placement R, no staging.
 */
#include "shmem_device.h"

enum { SHMEM_TMA_STAGES = 5, SHMEM_TMA_BYTES = 8192, SHMEM_TMA_AHEAD = 3 };

#ifdef BW_HAS_BULK

/* Item k of this block: a chunk, and for all-to-all also the peer that it goes to. */
struct shmem_item {
    uint64_t offset;
    uint32_t bytes, peer;
};

template <uint32_t LAYOUT> BW_DEVICE shmem_item shmem_item_at(const shmem_args &a, uint32_t k)
{
    const uint32_t fan = LAYOUT == BW_LAYOUT_ALL_TO_ALL ? a.ranks : 1;
    const uint64_t chunk = blockIdx.x + (uint64_t)(k / fan) * gridDim.x;
    const uint64_t total = (uint64_t)a.vectors * 16;
    shmem_item item;

    item.offset = chunk * SHMEM_TMA_BYTES;
    item.bytes = (uint32_t)min(total - item.offset, (uint64_t)SHMEM_TMA_BYTES);
    item.peer = shmem_peer(a, k % fan + 1);
    return item;
}

template <uint32_t LAYOUT>
BW_DEVICE void shmem_item_load(const shmem_args &a, uint32_t k, char *ring, uint64_t *barriers)
{
    BW_FRAME_OWN(a, FRAME_COPY_IN);
    const shmem_item item = shmem_item_at<LAYOUT>(a, k);
    const uint64_t message =
        LAYOUT == BW_LAYOUT_ALL_TO_ALL ? (uint64_t)shmem_part(a, item.peer) * 16 : 0;
    const uint32_t stage = k % SHMEM_TMA_STAGES;

    bw_bulk_load(ring + stage * SHMEM_TMA_BYTES, (const char *)a.in + message + item.offset,
                 item.bytes, &barriers[stage]);
}

/* A group of its own for each store, so that groups count stores: `fan` an item. */
template <uint32_t LAYOUT>
BW_DEVICE void shmem_item_store(const shmem_args &a, uint32_t k, const char *ring)
{
    BW_FRAME_OWN(a, FRAME_REMOTE_PUT); /* its copy to this rank's own output as well */
    const shmem_item item = shmem_item_at<LAYOUT>(a, k);
    const char *stage = ring + k % SHMEM_TMA_STAGES * SHMEM_TMA_BYTES;
    const uint64_t at =
        (LAYOUT == BW_LAYOUT_BROADCAST ? 0 : (uint64_t)shmem_part(a, a.rank) * 16) + item.offset;

    if constexpr (LAYOUT == BW_LAYOUT_ALL_TO_ALL) {
        bw_bulk_store((char *)shmem_out(a, item.peer) + at, stage, item.bytes);
    } else {
        BW_UNROLL_1
        for (uint32_t d = 1; d <= a.ranks; d++) {
            bw_bulk_store((char *)shmem_out(a, shmem_peer(a, d)) + at, stage, item.bytes);
        }
    }
}

template <uint32_t LAYOUT> BW_DEVICE uint32_t shmem_item_count(const shmem_args &a)
{
    const uint64_t total = (uint64_t)a.vectors * 16;
    const uint64_t chunks = total / SHMEM_TMA_BYTES + (total % SHMEM_TMA_BYTES != 0 ? 1 : 0);

    if (chunks <= blockIdx.x) {
        return 0;
    }
    return (uint32_t)((chunks - blockIdx.x + gridDim.x - 1) / gridDim.x) *
           (LAYOUT == BW_LAYOUT_ALL_TO_ALL ? a.ranks : 1);
}

/* One thread. Whether the stage of an older item may be loaded again. */
template <uint32_t LAYOUT> BW_DEVICE void shmem_item_free(const shmem_args &a)
{
    BW_FRAME_OWN(a, FRAME_BULK_WAIT);
    if (LAYOUT == BW_LAYOUT_ALL_TO_ALL) {
        bw_bulk_wait_read<SHMEM_TMA_STAGES - SHMEM_TMA_AHEAD>();
    } else if (a.ranks == 2) {
        bw_bulk_wait_read<2 * (SHMEM_TMA_STAGES - SHMEM_TMA_AHEAD)>();
    } else {
        bw_bulk_wait_read<SHMEM_TMA_STAGES - SHMEM_TMA_AHEAD>(); /* of more stores: a stricter wait */
    }
}

template <uint32_t LAYOUT>
BW_DEVICE void shmem_run_items(const shmem_args &a, uint32_t items, char *ring, uint64_t *barriers)
{
    for (uint32_t k = 0; k < items; k++) {
        {
            BW_FRAME_OWN(a, FRAME_COPY_IN);
            bw_bulk_wait(&barriers[k % SHMEM_TMA_STAGES], k / SHMEM_TMA_STAGES & 1);
        }
        shmem_item_store<LAYOUT>(a, k, ring);
        if (k + SHMEM_TMA_AHEAD < items) {
            shmem_item_free<LAYOUT>(a);
            shmem_item_load<LAYOUT>(a, k + SHMEM_TMA_AHEAD, ring, barriers);
        }
    }
    BW_FRAME_OWN(a, FRAME_BULK_WAIT);
    bw_bulk_wait_all();
}

template <uint32_t LAYOUT>
BW_DEVICE void shmem_run_tma(const shmem_args &a, char *ring, uint64_t *barriers)
{
    const bool is_broadcast = LAYOUT == BW_LAYOUT_BROADCAST;
    const bool sends = !is_broadcast || a.rank == a.root;
    const uint32_t items = sends ? shmem_item_count<LAYOUT>(a) : 0;
    const uint32_t senders = is_broadcast ? a.root : SHMEM_ALL;

    if (threadIdx.x == 0) {
        for (int i = 0; i < SHMEM_TMA_STAGES; i++) {
            bw_bulk_init(&barriers[i]);
        }
    }
    shmem_begin();
    BW_FRAMES(a);
    if (!is_broadcast || !sends) {
        shmem_permit(a, senders);
    }
    for (uint32_t k = 0; threadIdx.x == 0 && k < items && k < SHMEM_TMA_AHEAD; k++) {
        shmem_item_load<LAYOUT>(a, k, ring, barriers);
    }
    if (sends) {
        shmem_await(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
        if (threadIdx.x == 0) {
            shmem_run_items<LAYOUT>(a, items, ring, barriers);
        }
        shmem_publish(a, BW_SIGNAL_DATA, SHMEM_ALL, a.epoch);
    }
    if (!is_broadcast || !sends) {
        shmem_await(a, BW_SIGNAL_DATA, senders, a.epoch);
    }
}

#define SHMEM_TMA_BODY(layout)                                                      \
    __shared__ char ring[SHMEM_TMA_STAGES * SHMEM_TMA_BYTES] __attribute__((aligned(128)));\
    __shared__ uint64_t barriers[SHMEM_TMA_STAGES];                                  \
                                                                                    \
    shmem_run_tma<layout>(a, ring, barriers);

#else
#define SHMEM_TMA_BODY(layout) (void)a;
#endif

#define SHMEM_TMA(name, layout)                                                          \
    BW_KERNEL BW_BOUNDS(BW_SHMEM_TMA_THREADS) BW_FRAMES_NAME(name)(BW_PARAM bw_shmem_args a) \
    {                                                                                    \
        SHMEM_TMA_BODY(layout)                                                           \
    }

SHMEM_TMA(bw_shmem_tma_all_gather, BW_LAYOUT_ALL_GATHER)
SHMEM_TMA(bw_shmem_tma_all_to_all, BW_LAYOUT_ALL_TO_ALL)
SHMEM_TMA(bw_shmem_tma_broadcast, BW_LAYOUT_BROADCAST)
