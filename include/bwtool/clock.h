/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CLOCK_H
#define BW_CLOCK_H

#include <stdint.h>

/* Monotonic host time in ns since an arbitrary start. */
uint64_t bw_clock_ns(void);

/* Give the CPU away for about `us` microseconds; returns early on a signal. */
void bw_clock_sleep_us(unsigned us);

/* How often this process has done so: a sign of life of whoever polls. */
unsigned long bw_clock_naps(void);

#endif
