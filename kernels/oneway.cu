/* SPDX-License-Identifier: Apache-2.0 */
/* Reading only and writing only: what memory or link gives to one kind of access. */
#include "device.h"
#include "params.h"

/*
 * Adds up the buffer's 32-bit words, little-endian, the last one filled up with
 * zeroes, once a pass, into *sum: so the loads are needed, and can be verified.
 * Blocks have whole warps.
 */
BW_KERNEL BW_BOUNDS(512) bw_read(const void *src, uint64_t bytes, uint64_t passes, uint64_t *sum)
{
    const uint64_t vectors = bytes / 16, threads = bw_threads();
    uint64_t mine = 0;

    for (uint64_t pass = 0; pass < passes; pass++) {
        uint64_t i = bw_thread();

        for (; i + 7 * threads < vectors; i += 8 * threads) {
            uint4 v[8];

            BW_UNROLL
            for (int k = 0; k < 8; k++) {
                v[k] = __ldcg((const uint4 *)src + i + (uint64_t)k * threads);
            }
            BW_UNROLL
            for (int k = 0; k < 8; k++) {
                mine += ((uint64_t)v[k].x + v[k].y) + ((uint64_t)v[k].z + v[k].w);
            }
        }
        for (; i < vectors; i += threads) {
            const uint4 v = __ldcg((const uint4 *)src + i);

            mine += ((uint64_t)v.x + v.y) + ((uint64_t)v.z + v.w);
        }
        for (i = 16 * vectors + bw_thread(); i < bytes; i += threads) {
            mine += (uint64_t)__ldcg((const unsigned char *)src + i) << (i % 4 * 8);
        }
        bw_forget();
    }
    mine = bw_sum_of_warp(mine);
    if (threadIdx.x % 32 == 0) {
        bw_add_u64(sum, mine);
    }
}

/* What bw_read of a filled buffer adds up in a pass. Blocks have whole warps. */
BW_KERNEL bw_read_sum(uint64_t bytes, uint32_t seed, uint64_t *sum)
{
    uint64_t mine = 0;

    for (uint64_t i = bw_thread(); i < bytes / 4; i += bw_threads()) {
        mine += bw_pattern_word(i, seed);
    }
    for (uint64_t i = bytes / 4 * 4 + bw_thread(); i < bytes; i += bw_threads()) {
        mine += (uint64_t)bw_pattern_byte(i, seed) << (i % 4 * 8);
    }
    mine = bw_sum_of_warp(mine);
    if (threadIdx.x % 32 == 0) {
        bw_add_u64(sum, mine);
    }
}

/* The pattern of bw_fill, once a pass. */
BW_KERNEL BW_BOUNDS(512) bw_write(void *dst, uint64_t bytes, uint64_t passes, uint32_t seed)
{
    const uint64_t vectors = bytes / 16;

    for (uint64_t pass = 0; pass < passes; pass++) {
        for (uint64_t i = bw_thread(); i < vectors; i += bw_threads()) {
            uint4 v;

            v.x = bw_pattern_word(4 * i, seed);
            v.y = bw_pattern_word(4 * i + 1, seed);
            v.z = bw_pattern_word(4 * i + 2, seed);
            v.w = bw_pattern_word(4 * i + 3, seed);
            ((uint4 *)dst)[i] = v;
        }
        for (uint64_t i = 16 * vectors + bw_thread(); i < bytes; i += bw_threads()) {
            ((unsigned char *)dst)[i] = bw_pattern_byte(i, seed);
        }
        bw_forget();
    }
}
