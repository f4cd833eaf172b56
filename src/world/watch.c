/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include "beat.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 100, GRACE_MS = 3000 };

/* What this rank has seen of another. */
struct seen {
    uint64_t beats, since_ns;
};

struct bw_watch {
    struct bw_watch_options options;
    pthread_t thread;
    struct seen *seen;
    uint64_t signs, signs_since_ns; /* of our own main thread */
    unsigned long naps;
    uint64_t over_since_ns;
    _Atomic uint32_t hung_ms;
    atomic_bool is_over, is_closing;
};

void bw_watch_take_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

void bw_watch_leave_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static struct bw_watch_slot *own_slot(const struct bw_watch *watch)
{
    return &watch->options.slots[watch->options.mine];
}

static uint64_t pid_space(void)
{
    struct stat st;

    return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* The letter that the system has for the state of a process; 'X' if it is gone, 0 if unknown. */
static char process_state(int pid)
{
    char path[40];
    char line[256] = "";
    const char *end = NULL;
    FILE *file = NULL;

    if (kill(pid, 0) != 0 && errno == ESRCH) {
        return 'X';
    }
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    if (fgets(line, sizeof(line), file) != NULL) {
        end = strrchr(line, ')'); /* the name before it may hold anything */
    }
    fclose(file);
    if (end == NULL || end[1] != ' ') {
        return 0;
    }
    return end[2];
}

/* What is wrong with the rank at that place, for the message; NULL: nothing. */
static const char *trouble_of(struct bw_watch *watch, int i, uint64_t now_ns)
{
    struct bw_watch_slot *slot = &watch->options.slots[i];
    struct seen *seen = &watch->seen[i];
    const uint64_t beats = atomic_load(&slot->beats);
    char state = 0;

    if (beats != seen->beats || seen->since_ns == 0 || atomic_load(&slot->is_here) == 0) {
        *seen = (struct seen){beats, now_ns};
        return NULL;
    }
    /* Not at once: it may just be slow, or on its way out */
    if (now_ns - seen->since_ns < 3ULL * LOOK_MS * 1000000) {
        return NULL;
    }
    if (slot->pid_space == own_slot(watch)->pid_space) {
        state = process_state(slot->pid);
    }
    if (state == 'X' || state == 'Z') {
        return "has died";
    }
    if (now_ns - seen->since_ns < (uint64_t)watch->options.silent_ms * 1000000) {
        return NULL;
    }
    return state == 'T' || state == 't' ? "is stopped (by a signal or a debugger)"
                                        : "shows no sign of life";
}

static void say(struct bw_watch *watch, int i, const char *trouble)
{
    struct bw_watch_slot *slot = &watch->options.slots[i];
    struct bw_watch_slot copy;

    if (atomic_exchange(&slot->is_said, 1) != 0) {
        return; /* another rank has */
    }
    memcpy(&copy, slot, sizeof(copy));
    copy.gpu[BW_WATCH_TEXT - 1] = copy.phase[BW_WATCH_TEXT - 1] = '\0';
    copy.step[BW_WATCH_TEXT - 1] = '\0';
    bw_error("rank %d on %s (%s) %s; it was at: %s%s%s", slot->rank, watch->options.host,
             copy.gpu[0] != '\0' ? copy.gpu : "no GPU yet", trouble,
             copy.phase[0] != '\0' ? copy.phase : "start", copy.step[0] != '\0' ? ", " : "",
             copy.step);
}

/* Look at all others; true if one is lost. */
static bool look_at_others(struct bw_watch *watch, uint64_t now_ns)
{
    bool is_lost = false;

    for (int i = 0; i < watch->options.count; i++) {
        const char *trouble = i == watch->options.mine ? NULL : trouble_of(watch, i, now_ns);

        if (trouble != NULL) {
            say(watch, i, trouble);
            is_lost = true;
        }
    }
    return is_lost;
}

/* The same of the other hosts, by one rank of each. */
static bool look_at_hosts(struct bw_watch *watch, uint64_t now_ns)
{
    const struct bw_watch_slot *slot = own_slot(watch);
    struct bw_beat_note mine = {.rank = watch->options.rank};
    struct bw_beat_note lost;

    if (watch->options.beat == NULL) {
        return false;
    }
    (void)snprintf(mine.host, sizeof(mine.host), "%.63s", watch->options.host);
    memcpy(mine.gpu, slot->gpu, sizeof(mine.gpu));
    memcpy(mine.phase, slot->phase, sizeof(mine.phase));
    memcpy(mine.step, slot->step, sizeof(mine.step));
    if (!bw_beat_look(watch->options.beat, now_ns, watch->options.silent_ms, &mine, &lost)) {
        return false;
    }
    bw_error("rank %d on %s (%s) shows no sign of life; it was at: %s%s%s", lost.rank, lost.host,
             lost.gpu[0] != '\0' ? lost.gpu : "no GPU yet",
             lost.phase[0] != '\0' ? lost.phase : "start", lost.step[0] != '\0' ? ", " : "",
             lost.step);
    return true;
}

/* A main thread that neither naps nor tells where it is, is in a call that does not return. */
static bool hangs(struct bw_watch *watch, uint64_t now_ns)
{
    const uint64_t signs = atomic_load(&own_slot(watch)->signs);
    const unsigned long naps = bw_clock_naps();
    const uint32_t hung_ms = atomic_load(&watch->hung_ms);
    char trouble[80];

    if (signs != watch->signs || naps != watch->naps || watch->signs_since_ns == 0) {
        watch->signs = signs;
        watch->naps = naps;
        watch->signs_since_ns = now_ns;
        return false;
    }
    if (now_ns - watch->signs_since_ns < (uint64_t)hung_ms * 1000000) {
        return false;
    }
    (void)snprintf(trouble, sizeof(trouble), "hangs: a call has not returned for %u s",
                   hung_ms / 1000);
    say(watch, watch->options.mine, trouble);
    return true;
}

/* SIGTERM has come: who was lost before? Then do as told. */
static void obey(struct bw_watch *watch)
{
    const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000L};
    sigset_t set;

    /* A death takes four looks to be sure of; launchers wait longer before they kill */
    for (int i = 0; i < 5 && atomic_load(&own_slot(watch)->is_said) == 0 &&
                    !look_at_others(watch, bw_clock_ns());
         i++) {
        nanosleep(&moment, NULL);
    }
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    (void)signal(SIGTERM, SIG_DFL);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(SIGTERM);
}

static void *run(void *argument)
{
    struct bw_watch *watch = argument;
    const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000L};
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    while (!atomic_load(&watch->is_closing)) {
        const bool is_told = sigtimedwait(&set, NULL, &moment) == SIGTERM;
        const uint64_t now_ns = bw_clock_ns();

        atomic_fetch_add(&own_slot(watch)->beats, 1);
        if (is_told) {
            obey(watch);
        }
        if (watch->over_since_ns == 0 && (look_at_others(watch, now_ns) ||
                                          look_at_hosts(watch, now_ns) || hangs(watch, now_ns))) {
            watch->over_since_ns = now_ns;
            atomic_store(&watch->is_over, true);
        }
        if (watch->over_since_ns != 0 &&
            now_ns - watch->over_since_ns > (uint64_t)GRACE_MS * 1000000) {
            watch->options.end_job();
        }
    }
    return NULL;
}

struct bw_watch *bw_watch_open(const struct bw_watch_options *options)
{
    struct bw_watch *watch = calloc(1, sizeof(*watch));
    struct bw_watch_slot *slot = &options->slots[options->mine];

    if (watch != NULL) {
        watch->seen = calloc((size_t)options->count, sizeof(*watch->seen));
    }
    if (watch == NULL || watch->seen == NULL) {
        bw_beat_close(options->beat);
        free(watch);
        return NULL;
    }
    watch->options = *options;
    atomic_store(&watch->hung_ms, options->hung_ms);
    slot->pid = (int32_t)getpid();
    slot->rank = options->rank;
    slot->pid_space = pid_space();
    if (pthread_create(&watch->thread, NULL, run, watch) != 0) {
        bw_beat_close(options->beat);
        free(watch->seen);
        free(watch);
        return NULL;
    }
    atomic_store(&slot->is_here, 1);
    return watch;
}

void bw_watch_close(struct bw_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    atomic_store(&own_slot(watch)->is_here, 0);
    atomic_store(&watch->is_closing, true);
    pthread_join(watch->thread, NULL);
    bw_watch_leave_signals();
    bw_beat_close(watch->options.beat);
    free(watch->seen);
    free(watch);
}

void bw_watch_sign(struct bw_watch *watch, const char *phase, const char *gpu)
{
    struct bw_watch_slot *slot = NULL;

    if (watch == NULL) {
        return;
    }
    slot = own_slot(watch);
    if (phase != NULL) {
        slot->step[0] = '\0';
        (void)snprintf(slot->phase, sizeof(slot->phase), "%s", phase);
    }
    if (gpu != NULL) {
        (void)snprintf(slot->gpu, sizeof(slot->gpu), "%s", gpu);
    }
    atomic_fetch_add(&slot->signs, 1);
}

void bw_watch_step(struct bw_watch *watch, const char *step)
{
    if (watch != NULL) {
        (void)snprintf(own_slot(watch)->step, BW_WATCH_TEXT, "%s", step);
        atomic_fetch_add(&own_slot(watch)->signs, 1);
    }
}

void bw_watch_allow(struct bw_watch *watch, uint32_t hung_ms)
{
    if (watch != NULL) {
        atomic_store(&watch->hung_ms, hung_ms != 0 ? hung_ms : watch->options.hung_ms);
    }
}

bool bw_watch_is_over(const struct bw_watch *watch)
{
    return watch != NULL && atomic_load(&watch->is_over);
}
