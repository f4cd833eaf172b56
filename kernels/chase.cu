/* SPDX-License-Identifier: Apache-2.0 */
/* Latency: a chain of loads, each of which needs the one before. */
#include "device.h"
#include "params.h"

/*
 * Links `nodes` (a power of two, at least 4), `stride` bytes apart, into one
 * cycle that visits all: next(i) = 5 i + 1 mod nodes has the full period, and
 * jumps around enough that no prefetcher or open row helps.
 */
BW_KERNEL bw_chase_build(uint64_t base, uint32_t nodes, uint32_t stride)
{
    for (uint64_t i = bw_thread(); i < nodes; i += bw_threads()) {
        const uint64_t next = (5 * i + 1) & (nodes - 1);

        *(uint64_t *)(base + i * stride) = base + next * stride;
    }
}

/* Follows the chain for `loads` steps. One thread. */
BW_KERNEL bw_chase(uint64_t start, uint64_t loads, struct bw_chase_report *report)
{
    /* The first load finds the way to the memory; it is not counted. */
    const uint64_t begin = bw_now_after_ns(bw_load_link(start));
    uint64_t p = start;

    for (uint64_t i = 0; i < loads; i++) {
        p = bw_load_link(p);
    }
    report->end_ns = bw_now_after_ns(p);
    report->begin_ns = begin;
    report->last = p;
    report->loads = loads;
}
