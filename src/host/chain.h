/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_HOST_CHAIN_H
#define BW_HOST_CHAIN_H

#include "bwtool/status.h"
#include "pass.h"

#include <stddef.h>
#include <stdint.h>

/*
 * A random cycle through all lines of a buffer, each visited once. A line
 * begins with the address of the next one; the rest of it is pattern.
 */

enum { BW_CHAIN_LINE = 64 };

struct bw_chain {
    uint32_t *order; /* line that is the i-th on the way; always the same for a count */
    uint32_t *next;  /* line after line i                                            */
    size_t count;
};

enum bw_status bw_chain_build(struct bw_chain *chain, size_t lines);
/* Zeroed is fine. */
void bw_chain_free(struct bw_chain *chain);

/* Write the cycle into `data`; the pattern begins with word `first`. */
void bw_chain_write(const struct bw_chain *chain, void *data, uint64_t first,
                    const struct bw_pass *pass);

/* What the 64-bit word `index` of that is. */
uint64_t bw_chain_word(const struct bw_chain *chain, const void *data, uint64_t first,
                       size_t index);

/* Follow `loads` addresses from `from`; where that leads to. */
const void *bw_chain_follow(const void *from, uint64_t loads);

/* The line that `loads` steps from line 0 lead to. */
size_t bw_chain_line_after(const struct bw_chain *chain, uint64_t loads);

#endif
