/* SPDX-License-Identifier: Apache-2.0 */
#include "pass.h"

#if defined(__aarch64__)

#include <arm_neon.h>

/*
 * Pairs stored by stnp, which hints that they will not be read soon: the
 * nearest that this architecture has to stores around the caches. A block of
 * four pairs is loaded before it is stored, so that loads from memory overlap.
 */
enum { BLOCK = 8, BLOCK_BYTES = BLOCK * 16 };

static inline void stream_pair(void *to, uint64x2_t a, uint64x2_t b)
{
    __asm__ volatile("stnp %q1, %q2, [%0]" : : "r"(to), "w"(a), "w"(b) : "memory");
}

static void copy_neon(void *dst, const void *src, size_t bytes)
{
    const size_t end = bytes / BLOCK_BYTES * BLOCK_BYTES;

    for (size_t i = 0; i < end; i += BLOCK_BYTES) {
        const uint64_t *from = (const uint64_t *)((const char *)src + i);
        char *to = (char *)dst + i;
        uint64x2_t v[BLOCK];

        for (int k = 0; k < BLOCK; k++) {
            v[k] = vld1q_u64(from + 2 * k);
        }
        for (int k = 0; k < BLOCK; k += 2) {
            stream_pair(to + 16 * k, v[k], v[k + 1]);
        }
    }
    bw_pass_portable.copy((char *)dst + end, (const char *)src + end, bytes - end);
}

static uint64_t read_neon(const void *src, size_t bytes)
{
    const size_t end = bytes / BLOCK_BYTES * BLOCK_BYTES;
    uint64x2_t sums[BLOCK];
    uint64_t sum = 0;

    for (int k = 0; k < BLOCK; k++) {
        sums[k] = vdupq_n_u64(0);
    }
    for (size_t i = 0; i < end; i += BLOCK_BYTES) {
        const uint64_t *from = (const uint64_t *)((const char *)src + i);

        for (int k = 0; k < BLOCK; k++) {
            sums[k] = vaddq_u64(sums[k], vld1q_u64(from + 2 * k));
        }
    }
    for (int k = 0; k < BLOCK; k++) {
        sum += vaddvq_u64(sums[k]);
    }
    return sum + bw_pass_portable.read((const char *)src + end, bytes - end);
}

static void write_neon(void *dst, size_t bytes, uint64_t first, uint64_t step)
{
    const size_t end = bytes / BLOCK_BYTES * BLOCK_BYTES;
    const uint64x2_t next = vdupq_n_u64(BLOCK_BYTES / 8 * step);
    uint64x2_t v[BLOCK];

    for (uint64_t k = 0; k < BLOCK; k++) {
        const uint64_t pair[2] = {first + 2 * k * step, first + (2 * k + 1) * step};

        v[k] = vld1q_u64(pair);
    }
    for (size_t i = 0; i < end; i += BLOCK_BYTES) {
        char *to = (char *)dst + i;

        for (int k = 0; k < BLOCK; k += 2) {
            stream_pair(to + 16 * k, v[k], v[k + 1]);
            v[k] = vaddq_u64(v[k], next);
            v[k + 1] = vaddq_u64(v[k + 1], next);
        }
    }
    bw_pass_portable.write((char *)dst + end, bytes - end, first + end / 8 * step, step);
}

static void fence_neon(void)
{
    __asm__ volatile("dsb st" : : : "memory");
}

const struct bw_pass bw_pass_neon = {
    .name = "neon",
    .copy = copy_neon,
    .read = read_neon,
    .write = write_neon,
    .fence = fence_neon,
};

#else
typedef int bw_no_neon; /* a file must hold something */
#endif
