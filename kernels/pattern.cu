/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Making and comparing the pattern by which copies are verified. Buffers are
 * 16-byte aligned and any number of bytes long; any grid will do. Blocks of
 * bw_check have whole warps.
 */
#include "device.h"
#include "params.h"

/* The pattern, each bit flipped where `flip` has a one. */
BW_DEVICE void write_pattern(void *p, uint64_t bytes, uint32_t seed, uint32_t flip)
{
    const uint64_t vectors = bytes / 16;

    for (uint64_t i = bw_thread(); i < vectors; i += bw_threads()) {
        uint4 v;

        v.x = bw_pattern_word(4 * i, seed) ^ flip;
        v.y = bw_pattern_word(4 * i + 1, seed) ^ flip;
        v.z = bw_pattern_word(4 * i + 2, seed) ^ flip;
        v.w = bw_pattern_word(4 * i + 3, seed) ^ flip;
        ((uint4 *)p)[i] = v;
    }
    for (uint64_t i = 16 * vectors + bw_thread(); i < bytes; i += bw_threads()) {
        ((unsigned char *)p)[i] = (unsigned char)(bw_pattern_byte(i, seed) ^ flip);
    }
}

BW_KERNEL bw_fill(void *p, uint64_t bytes, uint32_t seed)
{
    write_pattern(p, bytes, seed, 0);
}

/* What is no byte of the pattern: a byte that no copy has reached is always seen. */
BW_KERNEL bw_poison(void *p, uint64_t bytes, uint32_t seed)
{
    write_pattern(p, bytes, seed, ~0u);
}

/* Compares up to 4 bytes, from `offset`; adds to *count, lowers *first. */
BW_DEVICE void compare(uint32_t got, uint32_t expected, uint64_t offset, uint64_t *count,
                       uint64_t *first)
{
    const uint32_t wrong = got ^ expected;

    for (uint32_t k = 0; k < 4 && wrong >> (8 * k) != 0; k++) {
        if ((wrong >> (8 * k) & 0xff) != 0) {
            *count += 1;
            *first = offset + k < *first ? offset + k : *first;
        }
    }
}

/* Fills in the word at the first wrong byte, when all blocks have told theirs. */
BW_DEVICE void show_first(const unsigned char *p, uint64_t bytes, uint32_t seed,
                          struct bw_check_result *result)
{
    const uint64_t first = atomicMin((unsigned long long *)&result->first, ~0ull);
    const uint64_t begin = first / 4 * 4;
    uint32_t expected = 0, got = 0;

    result->blocks_done = 0;
    if (first >= bytes) {
        return;
    }
    for (uint32_t k = 0; k < 4 && begin + k < bytes; k++) {
        got |= (uint32_t)p[begin + k] << (8 * k);
        expected |= (uint32_t)bw_pattern_byte(begin + k, seed) << (8 * k);
    }
    result->expected = expected;
    result->got = got;
}

BW_KERNEL bw_check(const void *p, uint64_t bytes, uint32_t seed, struct bw_check_result *result)
{
    const uint64_t vectors = bytes / 16;
    const unsigned char *data = (const unsigned char *)p;
    uint64_t count = 0, first = ~(uint64_t)0;

    for (uint64_t i = bw_thread(); i < vectors; i += bw_threads()) {
        const uint4 v = ((const uint4 *)p)[i];

        compare(v.x, bw_pattern_word(4 * i, seed), 16 * i, &count, &first);
        compare(v.y, bw_pattern_word(4 * i + 1, seed), 16 * i + 4, &count, &first);
        compare(v.z, bw_pattern_word(4 * i + 2, seed), 16 * i + 8, &count, &first);
        compare(v.w, bw_pattern_word(4 * i + 3, seed), 16 * i + 12, &count, &first);
    }
    for (uint64_t i = 16 * vectors + bw_thread(); i < bytes; i += bw_threads()) {
        compare(data[i], bw_pattern_byte(i, seed), i, &count, &first);
    }
    if (count != 0) {
        bw_min_u64(&result->first, first);
    }
    count = bw_sum_of_warp(count);
    if (count != 0 && threadIdx.x % 32 == 0) {
        bw_add_u64(&result->count, count);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&result->blocks_done, 1u) + 1 == gridDim.x) {
        show_first(data, bytes, seed, result);
    }
}

/* Flips all bits of one aligned 32-bit word: for tests of the verification. One thread. */
BW_KERNEL bw_corrupt(void *p, uint64_t word)
{
    ((uint32_t *)p)[word] ^= ~0u;
}
