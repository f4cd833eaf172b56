/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/clock.h"

#include <stdatomic.h>
#include <time.h>

static atomic_ulong naps;

uint64_t bw_clock_ns(void)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void bw_clock_sleep_us(unsigned us)
{
    const struct timespec pause = {.tv_sec = us / 1000000u,
                                   .tv_nsec = (long)(us % 1000000u) * 1000};

    atomic_fetch_add_explicit(&naps, 1, memory_order_relaxed);
    nanosleep(&pause, NULL);
}

unsigned long bw_clock_naps(void)
{
    return atomic_load_explicit(&naps, memory_order_relaxed);
}
