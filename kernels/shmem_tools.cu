/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside the operators: the stream-ordered barrier, signals around copies by
 * copy engines, the ping-pong, and patterns. Blocks of bw_shmem_check have
 * whole warps.
 */
#include "shmem_device.h"

/* One block: a signal of a.kind to all, and from all. For a broadcast's copies, one way only. */
BW_KERNEL bw_shmem_sync(BW_PARAM bw_shmem_args a)
{
    const bool is_one_way = a.root < a.ranks;
    const bool sends = !is_one_way || (a.rank == a.root) == (a.kind == BW_SIGNAL_DATA);
    const uint32_t partner = !is_one_way || a.rank == a.root ? SHMEM_ALL : a.root;

    shmem_begin();
    if (sends) {
        shmem_publish(a, a.kind, partner, a.epoch);
    }
    if (!is_one_way || !sends) {
        shmem_await(a, a.kind, partner, a.epoch);
    }
}

/* One block: nobody passes who is not awaited by all. */
BW_KERNEL bw_shmem_barrier(BW_PARAM bw_shmem_args a)
{
    shmem_begin();
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

    for (uint32_t i = threadIdx.x; i < a.vectors; i += blockDim.x) {
        shmem_store(dst + i, shmem_load(src + i));
    }
}

/*
 * One block each of ranks 0 and 1: a message and its signal, to and fro. The
 * receiver waits for the signal; by then the message is there.
 */
BW_KERNEL bw_shmem_pingpong(BW_PARAM bw_shmem_args a)
{
    const uint32_t partner = 1 - a.rank;

    shmem_begin();
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

/* All of this rank's input, the ends of last vectors too. */
BW_KERNEL bw_shmem_fill(BW_PARAM bw_shmem_check c)
{
    const uint64_t words = bw_shmem_inputs(c.layout, c.ranks) * (c.pitch_bytes / 4);
    uint32_t *in = (uint32_t *)c.memory;

    for (uint64_t i = bw_thread(); i < words; i += bw_threads()) {
        in[i] = bw_shmem_input_word(&c, c.rank, i);
    }
}

/* What is no byte of the expected output, so that a byte that never came is always seen. */
BW_KERNEL bw_shmem_spoil(BW_PARAM bw_shmem_check c)
{
    const uint64_t words = c.pitch_bytes / 4;
    uint32_t *out = (uint32_t *)c.memory;

    for (uint32_t m = 0; m < bw_shmem_outputs(c.layout, c.ranks); m++) {
        for (uint64_t i = bw_thread(); i < words; i += bw_threads()) {
            out[m * words + i] = ~bw_shmem_output_word(&c, m, i);
        }
    }
}

/* Bytes of an aligned word that count: the last may be a part of one. */
BW_DEVICE uint32_t shmem_word_mask(const bw_shmem_check &c, uint64_t word)
{
    const uint64_t left = c.message_bytes - 4 * word;

    return left >= 4 ? ~0u : (1u << (8 * left)) - 1;
}

BW_DEVICE void shmem_check_word(const bw_shmem_check &c, uint32_t m, uint64_t word, uint64_t *count,
                                uint64_t *first)
{
    const uint64_t offset = m * c.pitch_bytes + 4 * word;
    const uint32_t got = *(const uint32_t *)(c.memory + offset);
    const uint32_t wrong = (got ^ bw_shmem_output_word(&c, m, word)) & shmem_word_mask(c, word);

    for (uint32_t k = 0; k < 4 && wrong >> (8 * k) != 0; k++) {
        if ((wrong >> (8 * k) & 0xff) != 0) {
            *count += 1;
            *first = offset + k < *first ? offset + k : *first;
        }
    }
}

/* Every byte that counts; adds to what the result says already. */
BW_KERNEL bw_shmem_check_output(BW_PARAM bw_shmem_check c)
{
    const uint64_t words = (c.message_bytes + 3) / 4;
    bw_check_result *result = (bw_check_result *)c.result;
    uint64_t count = 0, first = ~(uint64_t)0;

    for (uint32_t m = 0; m < bw_shmem_outputs(c.layout, c.ranks); m++) {
        for (uint64_t i = bw_thread(); i < words; i += bw_threads()) {
            shmem_check_word(c, m, i, &count, &first);
        }
    }
    if (count != 0) {
        bw_min_u64(&result->first, first);
    }
    count = bw_sum_of_warp(count);
    if (count != 0 && threadIdx.x % 32 == 0) {
        bw_add_u64(&result->count, count);
    }
}
