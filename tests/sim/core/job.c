/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"

#include "flow.h"
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MEMBERS_MAX = 64, FLOWS = 4096 };

/* Each process has a turn a millisecond, or nearly so, unless it is kept from the CPU. */
enum { TURNS_APART_MS = 2 };

/* Where all map it, so that pointers into it mean the same to all. */
#define AT ((void *)0x5e0000000000)

struct member {
    int pid; /* 0: nobody */
    bool is_due, spins;
    double next_ns;
    unsigned long turns; /* at which it could have done what is due */
    sem_t due;
};

struct job {
    atomic_uint state; /* 0 new, 1 being made, 2 ready */
    pthread_mutex_t lock;
    double now_ns;
    unsigned long moves;
    int joined;
    struct member members[MEMBERS_MAX];
    struct flow_net *net;
    _Alignas(64) char room[];
};

static struct job *job;
static int me;
static unsigned long moves_seen; /* when this process began to look */
static unsigned long turns_seen[MEMBERS_MAX];
static char name[200];

static size_t job_bytes(void)
{
    return sizeof(struct job) + flow_net_bytes(FLOWS);
}

void sim_job_lock(void)
{
    if (job != NULL && pthread_mutex_lock(&job->lock) == EOWNERDEAD) {
        pthread_mutex_consistent(&job->lock); /* whoever held it was killed */
    }
}

void sim_job_unlock(void)
{
    if (job != NULL) {
        pthread_mutex_unlock(&job->lock);
    }
}

static void make(void)
{
    pthread_mutexattr_t attributes;

    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&job->lock, &attributes);
    for (int i = 0; i < MEMBERS_MAX; i++) {
        sem_init(&job->members[i].due, 1, 0);
    }
    job->net = flow_net_place(job->room, FLOWS);
    atomic_store(&job->state, 2);
}

/* "NAME of the job" and how many there are; false: alone. */
static bool find_job(long *size)
{
    const char *key = getenv("SIM_JOB");
    const char *count = getenv("OMPI_COMM_WORLD_SIZE");

    key = key != NULL ? key : getenv("PMIX_NAMESPACE");
    *size = count != NULL ? strtol(count, NULL, 10) : 0;
    if (key == NULL || *size < 2 || *size > MEMBERS_MAX) {
        return false;
    }
    snprintf(name, sizeof(name), "/sim-job-%d-%.150s", (int)getuid(), key);
    for (char *c = name + 1; *c != '\0'; c++) {
        *c = *c == '/' ? '-' : *c;
    }
    return true;
}

int sim_job_open(void)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    unsigned expected = 0;
    long size;
    int fd;

    if (job != NULL || !find_job(&size)) {
        return 0;
    }
    fd = shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)job_bytes()) != 0) {
        return -1;
    }
    job = mmap(AT, job_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
    close(fd);
    if (job == MAP_FAILED) {
        job = NULL;
        return -1;
    }
    if (atomic_compare_exchange_strong(&job->state, &expected, 1)) {
        make();
    }
    while (atomic_load(&job->state) != 2) {
        nanosleep(&moment, NULL);
    }
    sim_job_lock();
    for (me = 0; job->members[me].pid != 0; me++) {
    }
    job->members[me].pid = (int)getpid();
    job->members[me].next_ns = INFINITY;
    if (++job->joined == size) {
        shm_unlink(name); /* all have it: nothing is left behind */
    }
    flow_set_who(me);
    sim_job_unlock();
    return 0;
}

void sim_job_close(void)
{
    bool is_last = true;

    if (job == NULL) {
        return;
    }
    sim_job_lock();
    flow_drop(job->net, me);
    job->members[me].pid = 0;
    job->members[me].is_due = job->members[me].spins = false;
    for (int i = 0; i < MEMBERS_MAX; i++) {
        is_last = is_last && job->members[i].pid == 0;
    }
    sim_job_unlock();
    if (is_last) {
        shm_unlink(name);
    }
}

struct flow_net *sim_job_net(void)
{
    return job == NULL ? NULL : job->net;
}

static void make_due(struct member *member)
{
    if (!member->is_due) {
        member->is_due = true;
        sem_post(&member->due);
    }
}

double sim_job_begin(double now_ns)
{
    if (job == NULL) {
        return now_ns;
    }
    sim_job_lock();
    job->members[me].is_due = true;
    now_ns = job->now_ns;
    moves_seen = job->moves;
    sim_job_unlock();
    return now_ns;
}

bool sim_job_end(double next_ns, bool spins, bool moved)
{
    struct member *mine;
    bool is_done;

    if (job == NULL) {
        return true;
    }
    mine = &job->members[me];
    sim_job_lock();
    /* A word may have come after the kernel that waits for it was looked at */
    is_done = !flow_has_done(job->net, me) && (!spins || job->moves == moves_seen);
    mine->next_ns = next_ns;
    mine->spins = spins;
    mine->is_due = !is_done;
    job->moves += moved;
    for (int i = 0; i < MEMBERS_MAX && moved; i++) {
        if (i != me && job->members[i].pid != 0 && job->members[i].spins) {
            make_due(&job->members[i]);
        }
    }
    sim_job_unlock();
    return is_done;
}

double sim_job_next(double mine_ns)
{
    double next = mine_ns;

    for (int i = 0; job != NULL && i < MEMBERS_MAX; i++) {
        if (i != me && job->members[i].pid != 0) {
            next = fmin(next, job->members[i].next_ns);
        }
    }
    return next;
}

/* A process that has died keeps nobody waiting. */
static void forget_the_dead(void)
{
    for (int i = 0; i < MEMBERS_MAX; i++) {
        struct member *member = &job->members[i];

        if (member->pid != 0 && kill(member->pid, 0) != 0 && errno == ESRCH) {
            flow_drop(job->net, i);
            member->pid = 0;
            member->is_due = member->spins = false;
        }
    }
}

static bool all_are_ready(void)
{
    for (int i = 0; i < MEMBERS_MAX; i++) {
        if (i != me && job->members[i].pid != 0 && job->members[i].is_due) {
            return false;
        }
    }
    return true;
}

bool sim_job_advance(double ns)
{
    static unsigned refusals;
    bool is_ready;

    sim_job_lock();
    /* Itself, too: a word may have come since it looked */
    is_ready = !job->members[me].is_due && all_are_ready();
    if (!is_ready && ++refusals % 256 == 0) {
        forget_the_dead();
    }
    if (is_ready && ns >= job->now_ns) {
        ns = fmin(ns, sim_job_next(INFINITY));
        ns = fmin(ns, flow_next_ns(job->net));
        ns = fmax(ns, job->now_ns);
        flow_advance(job->net, ns);
        job->now_ns = ns;
        job->members[me].is_due = true; /* until it has settled */
        for (int i = 0; i < MEMBERS_MAX; i++) {
            struct member *member = &job->members[i];

            if (i != me && member->pid != 0 &&
                (member->next_ns <= ns || flow_has_done(job->net, i))) {
                make_due(member);
            }
        }
    }
    sim_job_unlock();
    return is_ready;
}

bool sim_job_is_due(void)
{
    return job != NULL && job->members[me].is_due;
}

void sim_job_watch(void)
{
    for (int i = 0; job != NULL && i < MEMBERS_MAX; i++) {
        turns_seen[i] = job->members[i].turns;
    }
}

bool sim_job_had_turns(double ms)
{
    bool all = true;

    sim_job_lock();
    for (int i = 0; job != NULL && i < MEMBERS_MAX; i++) {
        const struct member *member = &job->members[i];

        all = all && (i == me || member->pid == 0 ||
                      (double)(member->turns - turns_seen[i]) >= ms / TURNS_APART_MS);
    }
    if (!all) {
        forget_the_dead();
    }
    sim_job_unlock();
    return all;
}

unsigned long sim_job_moves(void)
{
    return job == NULL ? 0 : job->moves;
}

bool sim_job_wait(void)
{
    struct timespec until;

    if (job == NULL) {
        return false;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    sem_timedwait(&job->members[me].due, &until);
    job->members[me].turns++;
    return true;
}
