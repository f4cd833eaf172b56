/* SPDX-License-Identifier: Apache-2.0 */
/* In which steps the GPU's timer goes on: of one it is 32 ns, of another about 1 us. */
#include "device.h"
#include "frame_params.h"

BW_DEVICE uint64_t tick_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* One thread; so many looks, however long they take. */
BW_KERNEL bw_frame_tick_find(bw_frame_tick *tick, uint32_t reads)
{
    uint64_t before = bw_now_ns(), now = before;
    bw_frame_tick found = {~(uint64_t)0, 0, before, before, 0, reads};

    for (uint32_t i = 0; i < reads; i++, before = now) {
        BW_CPU_STEP();
        now = bw_now_ns();
        if (now != before) {
            found.smallest_ns = min(found.smallest_ns, now - before);
            found.divisor_ns = tick_divisor(now - before, found.divisor_ns);
            found.changes++;
        }
    }
    found.last_ns = now;
    *tick = found;
}
