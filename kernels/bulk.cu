/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies by the bulk-copy unit of each multiprocessor (TMA): one thread a block
 * keeps a ring of chunks in shared memory moving, loads ahead of stores. Needs
 * sm_90; compiled for anything older these kernels do nothing, and nobody may
 * launch them there.
 */
#include "device.h"
#include "params.h"

#ifdef BW_HAS_BULK

/* What a block copies: chunks of CHUNK bytes through a ring of STAGES. */
template <int STAGES, int CHUNK> struct bulk_share {
    const char *src;
    char *dst;
    uint64_t bytes;  /* of the buffer, in whole vectors */
    uint64_t a_pass; /* this block's chunks in a pass   */
};

/* Where the t-th chunk is that this block moves, passes one after the other. */
template <int STAGES, int CHUNK>
BW_DEVICE uint64_t bulk_offset(const bulk_share<STAGES, CHUNK> *share, uint64_t t)
{
    return (blockIdx.x + t % share->a_pass * gridDim.x) * (uint64_t)CHUNK;
}

template <int STAGES, int CHUNK>
BW_DEVICE uint32_t bulk_bytes(const bulk_share<STAGES, CHUNK> *share, uint64_t offset)
{
    return (uint32_t)min(share->bytes - offset, (uint64_t)CHUNK);
}

template <int STAGES, int CHUNK>
BW_DEVICE void bulk_load(const bulk_share<STAGES, CHUNK> *share, uint64_t t, char *shared,
                         uint64_t *barriers)
{
    const uint64_t offset = bulk_offset(share, t);
    const uint32_t stage = (uint32_t)(t % STAGES);

    bw_bulk_load(shared + stage * CHUNK, share->src + offset, bulk_bytes(share, offset),
                 &barriers[stage]);
}

/* One thread: half of the ring is being loaded while the other half is stored. */
template <int STAGES, int CHUNK>
BW_DEVICE void bulk_run(const bulk_share<STAGES, CHUNK> *share, uint64_t chunks, char *shared,
                        uint64_t *barriers)
{
    const int ahead = STAGES / 2;

    for (uint64_t t = 0; t < (uint64_t)ahead && t < chunks; t++) {
        bulk_load(share, t, shared, barriers);
    }
    for (uint64_t t = 0; t < chunks; t++) {
        const uint64_t offset = bulk_offset(share, t);
        const uint32_t stage = (uint32_t)(t % STAGES);

        bw_bulk_wait(&barriers[stage], (uint32_t)(t / STAGES % 2));
        bw_bulk_store(share->dst + offset, shared + stage * CHUNK, bulk_bytes(share, offset));
        if (t + ahead < chunks) {
            /* The stage that is loaded next was stored that many chunks ago. */
            bw_bulk_wait_read<STAGES - STAGES / 2>();
            bulk_load(share, t + ahead, shared, barriers);
        }
    }
    bw_bulk_wait_all();
}

template <int STAGES, int CHUNK>
BW_DEVICE void bulk_copy(void *dst, const void *src, uint64_t bytes, uint64_t passes, char *shared,
                         uint64_t *barriers)
{
    const uint64_t whole = bytes / 16 * 16;
    const uint64_t chunks = whole / CHUNK + (whole % CHUNK != 0);
    bulk_share<STAGES, CHUNK> share = {(const char *)src, (char *)dst, whole, 0};

    if (threadIdx.x == 0 && blockIdx.x < chunks) {
        share.a_pass = (chunks - blockIdx.x + gridDim.x - 1) / gridDim.x;
        for (int i = 0; i < STAGES; i++) {
            bw_bulk_init(&barriers[i]);
        }
        bulk_run(&share, share.a_pass * passes, shared, barriers);
    }
    /* The last bytes, which fill no vector. */
    for (uint64_t i = whole + bw_thread(); passes > 0 && i < bytes; i += bw_threads()) {
        ((char *)dst)[i] = ((const char *)src)[i];
    }
}

#endif

/* Large buffers; meant for blocks of 32, four a multiprocessor. */
BW_KERNEL BW_BOUNDS(32) bw_copy_tma(void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
#ifdef BW_HAS_BULK
    __shared__ char shared[5 * 8192] __attribute__((aligned(128)));
    __shared__ uint64_t barriers[5];

    bulk_copy<5, 8192>(dst, src, bytes, passes, shared, barriers);
#endif
}

/* As bw_chase, but each link of the chain is fetched by a bulk copy of 16 bytes. */
BW_KERNEL bw_chase_tma(uint64_t loads, uint32_t turn, struct bw_chase_report *report)
{
#ifdef BW_HAS_BULK
    __shared__ uint64_t node[2] __attribute__((aligned(128)));
    __shared__ uint64_t barrier;
    struct bw_chain chain;
    uint64_t p;

    if (blockIdx.x != turn) {
        return;
    }
    p = report->last;
    bw_bulk_init(&barrier);
    chain = bw_chain_begin(p);
    for (uint64_t i = 0; i < loads; i++) {
        p = bw_bulk_link(p, node, &barrier, (uint32_t)(i % 2));
    }
    report->ns += bw_chain_ns(chain, p);
    report->last = p;
    report->loads += loads;
#endif
}
