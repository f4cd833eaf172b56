/* SPDX-License-Identifier: Apache-2.0 */
#include "pass.h"

#include <stdatomic.h>
#include <string.h>

static void copy_portable(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes);
}

/* Several sums, so that additions do not wait for each other. */
static uint64_t read_portable(const void *src, size_t bytes)
{
    const uint64_t *word = src;
    const size_t words = bytes / 8;
    uint64_t sums[8] = {0};
    uint64_t last = 0;
    size_t i = 0;

    for (; i + 8 <= words; i += 8) {
        for (size_t k = 0; k < 8; k++) {
            sums[k] += word[i + k];
        }
    }
    for (; i < words; i++) {
        sums[0] += word[i];
    }
    memcpy(&last, word + words, bytes % 8);
    return sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7] + last;
}

static void write_portable(void *dst, size_t bytes, uint64_t first, uint64_t step)
{
    uint64_t *word = dst;
    const size_t words = bytes / 8;
    uint64_t value = first;

    for (size_t i = 0; i < words; i++) {
        word[i] = value;
        value += step;
    }
    memcpy(word + words, &value, bytes % 8);
}

static void fence_portable(void)
{
    atomic_thread_fence(memory_order_seq_cst);
}

const struct bw_pass bw_pass_portable = {
    .name = "portable",
    .copy = copy_portable,
    .read = read_portable,
    .write = write_portable,
    .fence = fence_portable,
};

const struct bw_pass *bw_pass_at(size_t i)
{
    const struct bw_pass *all[5] = {NULL};
    size_t count = 0;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) {
        all[count++] = &bw_pass_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        all[count++] = &bw_pass_avx2;
    }
    all[count++] = &bw_pass_sse2;
#elif defined(__aarch64__)
    all[count++] = &bw_pass_neon;
#endif
    all[count++] = &bw_pass_portable;
    return i < count ? all[i] : NULL;
}

/* Near seeds must not give near patterns. */
uint64_t bw_pattern_first(uint64_t seed)
{
    uint64_t x = seed + BW_PATTERN_STEP;

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t bw_pattern_sum(uint64_t first, uint64_t begin, uint64_t end)
{
    const uint64_t count = end - begin;
    const uint64_t ends = begin + end - 1;
    /* count * ends / 2: one of them is even, and is halved before the product overflows */
    const uint64_t indices = count % 2 == 0 ? count / 2 * ends : count * (ends / 2);

    return count * first + indices * BW_PATTERN_STEP;
}
