/* SPDX-License-Identifier: Apache-2.0 */
/* Latency: a chain of loads, each of which needs the one before. */
#include "device.h"
#include "params.h"

/*
 * Links `nodes` (a power of two, at least 4), `stride` bytes apart, into one
 * cycle that visits all, in the order of their addresses: a jumping order was
 * measured to be as fast (GPUs do not prefetch), but for what its jumps cost
 * in address translation, which is not what the link costs.
 */
BW_KERNEL bw_chase_build(uint64_t base, uint32_t nodes, uint32_t stride)
{
    for (uint64_t i = bw_thread(); i < nodes; i += bw_threads()) {
        const uint64_t next = (i + 1) & (nodes - 1);

        *(uint64_t *)(base + i * stride) = base + next * stride;
    }
}

/*
 * Follows the chain for `loads` steps from report->last, by block `turn` alone,
 * of one thread: with a grid as wide as the GPU, one launch a block lets each
 * multiprocessor take its turn, because they are not equally far from a link.
 */
BW_KERNEL bw_chase(uint64_t loads, uint32_t turn, struct bw_chase_report *report)
{
    struct bw_chain chain;
    uint64_t p;

    if (blockIdx.x != turn) {
        return;
    }
    p = report->last;
    chain = bw_chain_begin(p);
    for (uint64_t i = 0; i < loads; i++) {
        p = bw_load_link(p);
    }
    report->ns += bw_chain_ns(chain, p);
    report->last = p;
    report->loads += loads;
}

/* Counts in result->count the bytes of nodes that do not lead where bw_chase_build() led them. */
BW_KERNEL bw_chase_check(uint64_t base, uint32_t nodes, uint32_t stride,
                         struct bw_check_result *result)
{
    for (uint64_t i = bw_thread(); i < nodes; i += bw_threads()) {
        const uint64_t expected = base + ((i + 1) & (nodes - 1)) * stride;
        const uint64_t got = *(const uint64_t *)(base + i * stride);

        if (got != expected) {
            bw_add_u64(&result->count, 8);
            bw_min_u64(&result->first, i * stride);
        }
    }
}
