/* SPDX-License-Identifier: Apache-2.0 */
#include "chain.h"
#include "bwtool/log.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE ((size_t)2 << 20)

enum { WORDS = BW_CHAIN_LINE / 8, BLOCK_WORDS = 64 * WORDS };

/* splitmix64: the same cycle on every machine and in every run. */
static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* A shuffle goes everywhere: with small pages it takes several times as long. */
static uint32_t *open_lines(size_t lines)
{
    const size_t bytes = (lines * sizeof(uint32_t) + HUGE - 1) / HUGE * HUGE;
    uint32_t *list = aligned_alloc(HUGE, bytes);

    if (list != NULL) {
        (void)madvise(list, bytes, MADV_HUGEPAGE);
    }
    return list;
}

/*
 * Lines in random order, line 0 first, each leading to the next and the last
 * to the first: every cycle is as likely. (Choosing by multiplication is as
 * good as even for numbers below 2^32.)
 */
enum bw_status bw_chain_build(struct bw_chain *chain, size_t lines)
{
    uint64_t state = 1;

    memset(chain, 0, sizeof(*chain));
    if (lines < 1 || lines > UINT32_MAX) {
        bw_error("a pointer cycle of %zu lines: 1 to %u are possible", lines, UINT32_MAX);
        return BW_ERR_USAGE;
    }
    chain->order = open_lines(lines);
    chain->next = open_lines(lines);
    if (chain->order == NULL || chain->next == NULL) {
        bw_chain_free(chain);
        return bw_errno("pointer cycle of %zu lines", lines);
    }
    chain->count = lines;
    for (size_t i = 0; i < lines; i++) {
        chain->order[i] = (uint32_t)i;
    }
    for (size_t i = lines - 1; i > 1; i--) {
        const size_t j = 1 + (size_t)(((next_random(&state) >> 32) * i) >> 32);
        const uint32_t kept = chain->order[i];

        chain->order[i] = chain->order[j];
        chain->order[j] = kept;
    }
    for (size_t i = 0; i < lines; i++) {
        chain->next[chain->order[i]] = chain->order[i + 1 < lines ? i + 1 : 0];
    }
    return BW_OK;
}

void bw_chain_free(struct bw_chain *chain)
{
    free(chain->order);
    free(chain->next);
    memset(chain, 0, sizeof(*chain));
}

uint64_t bw_chain_word(const struct bw_chain *chain, const void *data, uint64_t first, size_t index)
{
    if (index % WORDS == 0) {
        return (uintptr_t)data + (uintptr_t)chain->next[index / WORDS] * BW_CHAIN_LINE;
    }
    return first + index * BW_PATTERN_STEP;
}

/*
 * By stores around the caches: lines that writing left there would be found
 * again, as fast as no line of a cycle larger than the caches should be.
 */
void bw_chain_write(const struct bw_chain *chain, void *data, uint64_t first,
                    const struct bw_pass *pass)
{
    _Alignas(BW_PASS_ALIGN) uint64_t block[BLOCK_WORDS];
    const size_t words = chain->count * WORDS;

    for (size_t i = 0; i < words; i += BLOCK_WORDS) {
        const size_t count = words - i < BLOCK_WORDS ? words - i : BLOCK_WORDS;

        for (size_t k = 0; k < count; k++) {
            block[k] = bw_chain_word(chain, data, first, i + k);
        }
        pass->copy((uint64_t *)data + i, block, count * sizeof(block[0]));
    }
    pass->fence();
}

/* The address of each load is the value of the one before: nothing can overlap. */
const void *bw_chain_follow(const void *from, uint64_t loads)
{
    const void *at = from;

    for (; loads >= 8; loads -= 8) {
        at = *(const void *const *)at;
        at = *(const void *const *)at;
        at = *(const void *const *)at;
        at = *(const void *const *)at;
        at = *(const void *const *)at;
        at = *(const void *const *)at;
        at = *(const void *const *)at;
        at = *(const void *const *)at;
    }
    for (; loads > 0; loads--) {
        at = *(const void *const *)at;
    }
    return at;
}

size_t bw_chain_line_after(const struct bw_chain *chain, uint64_t loads)
{
    return chain->order[loads % chain->count];
}
