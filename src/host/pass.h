/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_HOST_PASS_H
#define BW_HOST_PASS_H

#include <stddef.h>
#include <stdint.h>

/*
 * What moves the bytes: one pass over a piece of memory, by one thread.
 * Pointers are aligned to BW_PASS_ALIGN, sizes are any. Words are 64-bit.
 */

enum { BW_PASS_ALIGN = 64 };

struct bw_pass {
    const char *name;
    void (*copy)(void *dst, const void *src, size_t bytes);
    /* Sum of all words, modulo 2^64; a last part of a word counts as filled up with zeros. */
    uint64_t (*read)(const void *src, size_t bytes);
    /* Word i becomes first + i * step. */
    void (*write)(void *dst, size_t bytes, uint64_t first, uint64_t step);
    /* Wait until all that was written is in memory. */
    void (*fence)(void);
};

/* The i-th that this CPU can do, best first; NULL after the last. */
const struct bw_pass *bw_pass_at(size_t i);

/*
 * The same in plain C. The tails of the others, too: `first` is the first
 * word's value.
 */
extern const struct bw_pass bw_pass_portable;

#if defined(__x86_64__)
extern const struct bw_pass bw_pass_sse2, bw_pass_avx2, bw_pass_avx512;
#elif defined(__aarch64__)
extern const struct bw_pass bw_pass_neon;
#endif

/*
 * The pattern: word i is first + i * BW_PATTERN_STEP, cheap enough to be
 * written at memory's speed, and different for every word and every seed.
 * Its complement, which differs in every byte, has the same form.
 */
#define BW_PATTERN_STEP UINT64_C(0x9e3779b97f4a7c15)

uint64_t bw_pattern_first(uint64_t seed);

/* What bw_pass.read answers for words begin <= i < end of a pattern. */
uint64_t bw_pattern_sum(uint64_t first, uint64_t begin, uint64_t end);

#endif
