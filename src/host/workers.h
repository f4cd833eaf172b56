/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_HOST_WORKERS_H
#define BW_HOST_WORKERS_H

#include "bwtool/topology.h"

#include <stdint.h>

/*
 * Threads, one pinned to a core each, that do one thing together at a time.
 * They sleep between two things, and spin at barriers within one.
 */
struct bw_workers;

typedef void bw_work(void *context, int index);

enum bw_status bw_workers_open(struct bw_workers **workers, const struct bw_topology *topology,
                               int node, int count);

/*
 * False if a thread did not end within `grace_ns`: then the threads, and what
 * they use, must be left alone. NULL is fine.
 */
bool bw_workers_close(struct bw_workers *workers, uint64_t grace_ns);

int bw_workers_count(const struct bw_workers *workers);

/* Let all threads call work(context, index). What was posted before must have been waited for. */
void bw_workers_post(struct bw_workers *workers, bw_work *work, void *context);

/*
 * Wait until all have returned from it, at most until `deadline_ns` on
 * bw_clock_ns()'s clock. BW_ERR_TIMEOUT, not logged, also tells them to stop:
 * after it only closing makes sense.
 */
enum bw_status bw_workers_wait(struct bw_workers *workers, uint64_t deadline_ns);

/* For threads: true if they shall come back early. Cheap. */
bool bw_workers_is_stopped(const struct bw_workers *workers);

/* Hold the threads that call bw_workers_hold() from now on, until released. */
void bw_workers_shut(struct bw_workers *workers);
void bw_workers_release(struct bw_workers *workers);
/* For threads: wait for that. False: stopped. */
bool bw_workers_hold(struct bw_workers *workers);

/*
 * For threads: wait for all. The last to come calls last(context) before any
 * goes on. False: stopped.
 */
bool bw_workers_meet(struct bw_workers *workers, void (*last)(void *context), void *context);

#endif
