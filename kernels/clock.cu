/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far apart the timers of two GPUs are: one sends round numbers, the other
 * sends each back and says when it saw it. The flags carry nothing but
 * themselves, so they need no ordering, and the log is in memory of the GPU
 * itself: both keep slow writes out of the round trip.
 */
#include "device.h"
#include "params.h"

BW_DEVICE int clock_await(const uint32_t *flag, uint32_t value, uint64_t deadline_ns)
{
    while (bw_load_relaxed(flag) != value) {
        if (bw_now_ns() > deadline_ns) {
            return 0;
        }
    }
    return 1;
}

/* Sends base + 1, base + 2, ... and awaits each back. One thread. */
BW_KERNEL bw_clock_ping(uint32_t *their_flag, const uint32_t *my_flag, uint32_t base,
                        uint64_t timeout_ns, struct bw_clock_log *log)
{
    const uint64_t deadline = bw_now_ns() + timeout_ns;

    for (uint32_t i = 0; i < BW_CLOCK_ROUNDS; i++) {
        const uint64_t sent = bw_now_ns();

        bw_store_relaxed(their_flag, base + i + 1);
        if (!clock_await(my_flag, base + i + 1, deadline)) {
            return;
        }
        log->received_ns[i] = bw_now_ns();
        log->sent_ns[i] = sent;
        log->rounds_done = i + 1;
    }
}

/* The other side. One thread. */
BW_KERNEL bw_clock_pong(uint32_t *their_flag, const uint32_t *my_flag, uint32_t base,
                        uint64_t timeout_ns, struct bw_clock_log *log)
{
    const uint64_t deadline = bw_now_ns() + timeout_ns;

    for (uint32_t i = 0; i < BW_CLOCK_ROUNDS; i++) {
        if (!clock_await(my_flag, base + i + 1, deadline)) {
            return;
        }
        log->seen_ns[i] = bw_now_ns();
        bw_store_relaxed(their_flag, base + i + 1);
        log->rounds_done = i + 1;
    }
}
