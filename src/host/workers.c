/* SPDX-License-Identifier: Apache-2.0 */
#include "workers.h"
#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Turns of spinning before the CPU is offered to others: it may be the only one. */
enum { SPINS = 4096 };

struct worker {
    struct bw_workers *all;
    pthread_t thread;
    int index;
};

struct bw_workers {
    const struct bw_topology *topology;
    int node;
    struct worker *threads;
    int count; /* that were started */

    pthread_mutex_t lock; /* of what follows, up to the atomics */
    pthread_cond_t wake, done;
    bool has_lock;
    uint64_t turn; /* counts what was posted */
    bw_work *work; /* NULL: quit */
    void *context;
    int busy;

    atomic_bool stop, open;
    /* on lines of their own: every thread looks at them while others work */
    _Alignas(128) atomic_int arrived;
    _Alignas(128) atomic_uint phase;
};

static inline void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static void *run(void *argument)
{
    const struct worker *me = argument;
    struct bw_workers *all = me->all;
    uint64_t seen = 0;

    (void)bw_topology_bind_cpu(all->topology, all->node, me->index);
    for (;;) {
        bw_work *work = NULL;
        void *context = NULL;

        pthread_mutex_lock(&all->lock);
        while (all->turn == seen) {
            pthread_cond_wait(&all->wake, &all->lock);
        }
        seen = all->turn;
        work = all->work;
        context = all->context;
        pthread_mutex_unlock(&all->lock);
        if (work != NULL) {
            work(context, me->index);
        }
        pthread_mutex_lock(&all->lock);
        if (--all->busy == 0) {
            pthread_cond_signal(&all->done);
        }
        pthread_mutex_unlock(&all->lock);
        if (work == NULL) {
            return NULL;
        }
    }
}

/* Waits are on the monotonic clock: somebody setting the time must not end a measurement. */
static enum bw_status open_lock(struct bw_workers *all)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);

    if (error == 0) {
        error = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        error = error == 0 ? pthread_mutex_init(&all->lock, NULL) : error;
        error = error == 0 ? pthread_cond_init(&all->wake, NULL) : error;
        error = error == 0 ? pthread_cond_init(&all->done, &attributes) : error;
        pthread_condattr_destroy(&attributes);
    }
    all->has_lock = error == 0;
    if (error != 0) {
        bw_error("cannot make a lock for threads: %s", strerror(error));
        return BW_ERR_SYSTEM;
    }
    return BW_OK;
}

static enum bw_status start_thread(struct bw_workers *all)
{
    struct worker *worker = &all->threads[all->count];
    int error = 0;

    worker->all = all;
    worker->index = all->count;
    error = pthread_create(&worker->thread, NULL, run, worker);
    if (error != 0) {
        bw_error("cannot start thread %d on NUMA node %d: %s", all->count + 1,
                 bw_topology_node_os_index(all->topology, all->node), strerror(error));
        return BW_ERR_SYSTEM;
    }
    all->count++;
    return BW_OK;
}

enum bw_status bw_workers_open(struct bw_workers **workers, const struct bw_topology *topology,
                               int node, int count)
{
    struct bw_workers *all = aligned_alloc(128, sizeof(*all));
    enum bw_status st = BW_OK;

    *workers = NULL;
    if (all == NULL) {
        return bw_errno("threads");
    }
    memset(all, 0, sizeof(*all));
    all->topology = topology;
    all->node = node;
    atomic_init(&all->stop, false);
    atomic_init(&all->open, false);
    atomic_init(&all->arrived, 0);
    atomic_init(&all->phase, 0);
    all->threads = calloc((size_t)count, sizeof(*all->threads));
    if (all->threads == NULL) {
        st = bw_errno("threads");
        goto out;
    }
    TRY(open_lock(all));
    for (int i = 0; i < count; i++) {
        TRY(start_thread(all));
    }
    *workers = all;
    all = NULL;
out:
    (void)bw_workers_close(all, UINT64_MAX / 4);
    return st;
}

/* True if all are idle before the deadline. With the lock held. */
static bool wait_idle(struct bw_workers *all, uint64_t deadline_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(deadline_ns / 1000000000U),
                                   .tv_nsec = (long)(deadline_ns % 1000000000U)};

    while (all->busy > 0) {
        if (pthread_cond_timedwait(&all->done, &all->lock, &until) == ETIMEDOUT) {
            break;
        }
    }
    return all->busy == 0;
}

bool bw_workers_close(struct bw_workers *workers, uint64_t grace_ns)
{
    bool is_over = true;

    if (workers == NULL) {
        return true;
    }
    if (workers->has_lock) {
        const uint64_t deadline_ns = bw_clock_ns() + grace_ns;

        atomic_store(&workers->stop, true);
        pthread_mutex_lock(&workers->lock);
        is_over = wait_idle(workers, deadline_ns);
        if (is_over) {
            workers->turn++;
            workers->work = NULL;
            workers->busy = workers->count;
            pthread_cond_broadcast(&workers->wake);
        }
        pthread_mutex_unlock(&workers->lock);
    }
    if (!is_over) {
        return false;
    }
    for (int i = 0; workers->threads != NULL && i < workers->count; i++) {
        pthread_join(workers->threads[i].thread, NULL);
    }
    if (workers->has_lock) {
        pthread_cond_destroy(&workers->done);
        pthread_cond_destroy(&workers->wake);
        pthread_mutex_destroy(&workers->lock);
    }
    free(workers->threads);
    free(workers);
    return true;
}

int bw_workers_count(const struct bw_workers *workers)
{
    return workers->count;
}

void bw_workers_post(struct bw_workers *workers, bw_work *work, void *context)
{
    pthread_mutex_lock(&workers->lock);
    workers->turn++;
    workers->work = work;
    workers->context = context;
    workers->busy = workers->count;
    pthread_cond_broadcast(&workers->wake);
    pthread_mutex_unlock(&workers->lock);
}

enum bw_status bw_workers_wait(struct bw_workers *workers, uint64_t deadline_ns)
{
    bool is_idle = false;

    pthread_mutex_lock(&workers->lock);
    is_idle = wait_idle(workers, deadline_ns);
    pthread_mutex_unlock(&workers->lock);
    if (!is_idle) {
        atomic_store(&workers->stop, true);
        return BW_ERR_TIMEOUT;
    }
    return BW_OK;
}

bool bw_workers_is_stopped(const struct bw_workers *workers)
{
    return atomic_load_explicit(&workers->stop, memory_order_relaxed);
}

void bw_workers_shut(struct bw_workers *workers)
{
    atomic_store(&workers->open, false);
}

void bw_workers_release(struct bw_workers *workers)
{
    atomic_store(&workers->open, true);
}

/* May last: whoever releases has other things to do first, perhaps on this very CPU. */
bool bw_workers_hold(struct bw_workers *workers)
{
    for (int i = 0; !atomic_load_explicit(&workers->open, memory_order_acquire); i++) {
        if (bw_workers_is_stopped(workers)) {
            return false;
        }
        if (i < SPINS) {
            relax();
        } else {
            bw_clock_sleep_us(20);
        }
    }
    return true;
}

bool bw_workers_meet(struct bw_workers *workers, void (*last)(void *context), void *context)
{
    const unsigned phase = atomic_load_explicit(&workers->phase, memory_order_relaxed);

    if (atomic_fetch_add_explicit(&workers->arrived, 1, memory_order_acq_rel) + 1 ==
        workers->count) {
        last(context);
        atomic_store_explicit(&workers->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&workers->phase, phase + 1, memory_order_release);
        return true;
    }
    for (int i = 0; atomic_load_explicit(&workers->phase, memory_order_acquire) == phase; i++) {
        if (bw_workers_is_stopped(workers)) {
            return false;
        }
        if (i < SPINS) {
            relax();
        } else {
            sched_yield();
            i = SPINS;
        }
    }
    return true;
}
