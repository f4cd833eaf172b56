/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

/*
 * Preloaded where a machine with other CPUs and NUMA nodes than the real ones
 * is played: binding threads and memory always works, changes nothing, and is
 * remembered, so that the simulated driver knows where host memory would be.
 * SIM_CPUS is how many CPUs there are. With SIM_CLOCK set, the simulated time
 * that the driver has let pass is added to the real time that the program reads.
 */

#define SHOWN __attribute__((visibility("default")))
SHOWN long syscall(long number, ...);
SHOWN int sim_host_node_of(const void *at); /* of bound memory; -1: of none that was bound */
SHOWN int sim_host_thread_node(void);       /* that the thread's memory is bound to; -1: none */

SHOWN int clock_gettime(clockid_t clock, struct timespec *now);
SHOWN _Atomic uint64_t sim_host_added_ns; /* the driver sets it */

enum { AREAS_MAX = 4096, NODES_MAX = 64 };

/* What a thread inherits. */
struct binding {
    cpu_set_t cpus;
    bool has_cpus;
    int mode;
    unsigned long nodes;
};
static _Thread_local struct binding mine;

static struct area {
    uintptr_t from, to;
    int node;
} areas[AREAS_MAX];
static unsigned area_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* dlsym() gives an object pointer; this is how a function pointer is made of it. */
static void find_next(const char *name, void *function)
{
    void *const found = dlsym(RTLD_NEXT, name);

    memcpy(function, &found, sizeof(found));
}

static int lowest(unsigned long nodes)
{
    return nodes == 0 ? -1 : __builtin_ctzl(nodes);
}

static bool is_bound(int mode)
{
    mode &= ~MPOL_MODE_FLAGS;
    return mode == MPOL_BIND || mode == MPOL_PREFERRED;
}

int sim_host_thread_node(void)
{
    return is_bound(mine.mode) ? lowest(mine.nodes) : -1;
}

int sim_host_node_of(const void *at)
{
    int node = -1;

    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < area_count; i++) { /* the latest one counts */
        if ((uintptr_t)at >= areas[i].from && (uintptr_t)at < areas[i].to) {
            node = areas[i].node;
        }
    }
    pthread_mutex_unlock(&lock);
    return node;
}

static long bind_area(uintptr_t at, size_t bytes, int mode, unsigned long nodes)
{
    pthread_mutex_lock(&lock);
    if (area_count == AREAS_MAX) { /* the oldest are of no interest any more */
        memmove(areas, areas + AREAS_MAX / 2, sizeof(areas) / 2);
        area_count = AREAS_MAX / 2;
    }
    areas[area_count++] = (struct area){at, at + bytes, is_bound(mode) ? lowest(nodes) : -1};
    pthread_mutex_unlock(&lock);
    return 0;
}

static long get_policy(int *mode, unsigned long *nodes, const void *at, unsigned long flags)
{
    if (mode != NULL) {
        *mode = (flags & MPOL_F_NODE) == 0  ? mine.mode
                : sim_host_node_of(at) >= 0 ? sim_host_node_of(at)
                                            : 0;
    }
    if (nodes != NULL) {
        *nodes = mine.nodes;
    }
    return 0;
}

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    switch (number) {
    case SYS_mbind:
        return bind_area((uintptr_t)a[0], (size_t)a[1], (int)a[2],
                         a[3] == 0 ? 0 : *(const unsigned long *)a[3]);
    case SYS_set_mempolicy:
        mine.mode = (int)a[0];
        mine.nodes = a[1] == 0 ? 0 : *(const unsigned long *)a[1];
        return 0;
    case SYS_get_mempolicy:
        return get_policy((int *)a[0], (unsigned long *)a[1], (const void *)a[3],
                          (unsigned long)a[4]);
    case SYS_migrate_pages:
        return 0;
    default:
        if (next == NULL) {
            find_next("syscall", &next);
        }
        return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
}

static void all_cpus(cpu_set_t *cpus)
{
    const char *count = getenv("SIM_CPUS");

    CPU_ZERO(cpus);
    for (size_t i = 0; i < (count == NULL ? 1 : strtoul(count, NULL, 10)) && i < CPU_SETSIZE; i++) {
        CPU_SET(i, cpus);
    }
}

static int set_cpus(size_t bytes, const cpu_set_t *cpus)
{
    cpu_set_t all, both;

    CPU_ZERO(&mine.cpus);
    memcpy(&mine.cpus, cpus, bytes < sizeof(mine.cpus) ? bytes : sizeof(mine.cpus));
    mine.has_cpus = true;
    all_cpus(&all);
    CPU_AND(&both, &all, &mine.cpus);
    return CPU_COUNT(&both) > 0 ? 0 : EINVAL;
}

static void get_cpus(size_t bytes, cpu_set_t *cpus)
{
    cpu_set_t all;

    all_cpus(&all);
    memset(cpus, 0, bytes);
    memcpy(cpus, mine.has_cpus ? &mine.cpus : &all, bytes < sizeof(all) ? bytes : sizeof(all));
}

SHOWN int sched_setaffinity(pid_t process, size_t bytes, const cpu_set_t *cpus)
{
    (void)process;
    errno = set_cpus(bytes, cpus);
    return errno == 0 ? 0 : -1;
}

SHOWN int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *cpus)
{
    (void)process;
    get_cpus(bytes, cpus);
    return 0;
}

SHOWN int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *cpus)
{
    (void)thread;
    return set_cpus(bytes, cpus);
}

SHOWN int pthread_getaffinity_np(pthread_t thread, size_t bytes, cpu_set_t *cpus)
{
    (void)thread;
    get_cpus(bytes, cpus);
    return 0;
}

/* A new thread inherits its maker's binding. */
struct start {
    struct binding binding;
    void *(*run)(void *);
    void *argument;
};

static void *start_thread(void *argument)
{
    const struct start start = *(struct start *)argument;

    free(argument);
    mine = start.binding;
    return start.run(start.argument);
}

SHOWN int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict how,
                         void *(*run)(void *), void *restrict argument)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct start *start = malloc(sizeof(*start));
    int error;

    if (start == NULL) {
        return EAGAIN;
    }
    if (next == NULL) {
        find_next("pthread_create", &next);
    }
    *start = (struct start){mine, run, argument};
    error = next(thread, how, start_thread, start);
    if (error != 0) {
        free(start);
    }
    return error;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*next)(clockid_t, struct timespec *);
    int result;

    if (next == NULL) {
        find_next("clock_gettime", &next);
    }
    result = next(clock, now);
    if (clock == CLOCK_MONOTONIC && result == 0 && sim_host_added_ns != 0) {
        const uint64_t ns = (uint64_t)now->tv_nsec + sim_host_added_ns;

        now->tv_sec += (time_t)(ns / 1000000000);
        now->tv_nsec = (long)(ns % 1000000000);
    }
    return result;
}
