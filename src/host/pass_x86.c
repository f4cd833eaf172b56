/* SPDX-License-Identifier: Apache-2.0 */
#include "pass.h"

#if defined(__x86_64__)

#include <immintrin.h>

/*
 * One set of passes for a width of vector. Stores go around the caches: an
 * ordinary one would first read the line that it overwrites, and the rate
 * would be that of bytes nobody asked for. A block of BLOCK vectors is loaded
 * before it is stored, so that loads from memory overlap.
 */
enum { BLOCK = 8 };

#define PASSES(NAME, TARGET, VECTOR, LOAD, STREAM, STORE, ADD, SET1, ZERO)                    \
    TARGET static void copy_##NAME(void *dst, const void *src, size_t bytes)                  \
    {                                                                                         \
        const size_t block = BLOCK * sizeof(VECTOR);                                          \
        const size_t end = bytes / block * block;                                             \
                                                                                              \
        for (size_t i = 0; i < end; i += block) {                                             \
            const VECTOR *from = (const VECTOR *)((const char *)src + i);                     \
            VECTOR *to = (VECTOR *)((char *)dst + i);                                         \
            VECTOR v[BLOCK];                                                                  \
                                                                                              \
            for (int k = 0; k < BLOCK; k++) {                                                 \
                v[k] = LOAD(from + k);                                                        \
            }                                                                                 \
            for (int k = 0; k < BLOCK; k++) {                                                 \
                STREAM(to + k, v[k]);                                                         \
            }                                                                                 \
        }                                                                                     \
        bw_pass_portable.copy((char *)dst + end, (const char *)src + end, bytes - end);       \
    }                                                                                         \
                                                                                              \
    TARGET static uint64_t read_##NAME(const void *src, size_t bytes)                         \
    {                                                                                         \
        const size_t block = BLOCK * sizeof(VECTOR);                                          \
        const size_t end = bytes / block * block;                                             \
        uint64_t lanes[BLOCK * sizeof(VECTOR) / 8] __attribute__((aligned(64)));              \
        VECTOR sums[BLOCK];                                                                   \
        uint64_t sum = 0;                                                                     \
                                                                                              \
        for (int k = 0; k < BLOCK; k++) {                                                     \
            sums[k] = ZERO();                                                                 \
        }                                                                                     \
        for (size_t i = 0; i < end; i += block) {                                             \
            const VECTOR *from = (const VECTOR *)((const char *)src + i);                     \
                                                                                              \
            for (int k = 0; k < BLOCK; k++) {                                                 \
                sums[k] = ADD(sums[k], LOAD(from + k));                                       \
            }                                                                                 \
        }                                                                                     \
        for (int k = 0; k < BLOCK; k++) {                                                     \
            STORE((VECTOR *)lanes + k, sums[k]);                                              \
        }                                                                                     \
        for (size_t k = 0; k < sizeof(lanes) / sizeof(lanes[0]); k++) {                       \
            sum += lanes[k];                                                                  \
        }                                                                                     \
        return sum + bw_pass_portable.read((const char *)src + end, bytes - end);             \
    }                                                                                         \
                                                                                              \
    TARGET static void write_##NAME(void *dst, size_t bytes, uint64_t first, uint64_t step)   \
    {                                                                                         \
        const size_t block = BLOCK * sizeof(VECTOR);                                          \
        const size_t words = block / 8;                                                       \
        const size_t end = bytes / block * block;                                             \
        uint64_t lanes[BLOCK * sizeof(VECTOR) / 8] __attribute__((aligned(64)));              \
        const VECTOR next = SET1((long long)(words * step));                                  \
        VECTOR v[BLOCK];                                                                      \
                                                                                              \
        for (size_t k = 0; k < words; k++) {                                                  \
            lanes[k] = first + k * step;                                                      \
        }                                                                                     \
        for (int k = 0; k < BLOCK; k++) {                                                     \
            v[k] = LOAD((const VECTOR *)lanes + k);                                           \
        }                                                                                     \
        for (size_t i = 0; i < end; i += block) {                                             \
            VECTOR *to = (VECTOR *)((char *)dst + i);                                         \
                                                                                              \
            for (int k = 0; k < BLOCK; k++) {                                                 \
                STREAM(to + k, v[k]);                                                         \
                v[k] = ADD(v[k], next);                                                       \
            }                                                                                 \
        }                                                                                     \
        bw_pass_portable.write((char *)dst + end, bytes - end, first + end / 8 * step, step); \
    }                                                                                         \
                                                                                              \
    const struct bw_pass bw_pass_##NAME = {                                                   \
        .name = #NAME,                                                                        \
        .copy = copy_##NAME,                                                                  \
        .read = read_##NAME,                                                                  \
        .write = write_##NAME,                                                                \
        .fence = fence,                                                                       \
    };

static void fence(void)
{
    _mm_sfence();
}

PASSES(sse2, , __m128i, _mm_load_si128, _mm_stream_si128, _mm_store_si128, _mm_add_epi64,
       _mm_set1_epi64x, _mm_setzero_si128)
PASSES(avx2, __attribute__((target("avx2"))), __m256i, _mm256_load_si256, _mm256_stream_si256,
       _mm256_store_si256, _mm256_add_epi64, _mm256_set1_epi64x, _mm256_setzero_si256)
PASSES(avx512, __attribute__((target("avx512f"))), __m512i, _mm512_load_si512, _mm512_stream_si512,
       _mm512_store_si512, _mm512_add_epi64, _mm512_set1_epi64, _mm512_setzero_si512)

#else
typedef int bw_no_x86; /* a file must hold something */
#endif
