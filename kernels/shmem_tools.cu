/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside the operators: signals around copies by copy engines, and patterns.
 * Blocks of bw_shmem_check have whole warps.
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
