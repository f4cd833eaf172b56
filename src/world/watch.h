/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_WORLD_WATCH_H
#define BW_WORLD_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The ranks of one host watch each other through a page that they share: a
 * thread of each beats there, and looks who has stopped to; the first rank of
 * each host and rank 0 do it by datagrams (beat.h). It finds ranks
 * that died, were stopped, or whose main thread hangs, says which one, where
 * and in what phase, and has the job ended. No MPI in here.
 */

enum { BW_WATCH_TEXT = 128 };

/* One rank's place in the shared page. Zeroed: has not come yet. */
struct bw_watch_slot {
    _Atomic uint64_t beats;   /* of its thread: the process runs                    */
    _Atomic uint64_t signs;   /* of its main thread                                 */
    _Atomic uint32_t is_here; /* between open and close                             */
    _Atomic uint32_t is_said; /* somebody has said that it is lost                  */
    int32_t pid, rank;
    uint64_t pid_space; /* pids can be compared only within one               */
    char gpu[BW_WATCH_TEXT], phase[BW_WATCH_TEXT], step[BW_WATCH_TEXT];
};

struct bw_watch;
struct bw_beat;

struct bw_watch_options {
    struct bw_watch_slot *slots; /* `count` of them, shared; one a rank of this host */
    int count, mine;             /* mine: place of this rank                          */
    int rank;
    const char *host;     /* borrowed */
    uint32_t silent_ms;   /* without a beat for so long, a rank counts as stopped         */
    uint32_t hung_ms;     /* without a sign of its main thread for so long, a rank hangs  */
    struct bw_beat *beat; /* with the other hosts (beat.h); the watch closes it. NULL: none */
    /* End the job; comes from the watching thread if the main thread does not do it. */
    void (*end_job)(void);
};

/* NULL if there is no thread or memory for it: then nobody watches, and the beat is closed. */
struct bw_watch *bw_watch_open(const struct bw_watch_options *options);
/* NULL is fine. */
void bw_watch_close(struct bw_watch *watch);

/* From the main thread: it lives, and is about this now (NULL: as before). */
void bw_watch_sign(struct bw_watch *watch, const char *phase, const char *gpu);
/* The same: it has come to this step of its phase. */
void bw_watch_step(struct bw_watch *watch, const char *step);

/* Its calls may take so long from now on; 0: as long as the options say. */
void bw_watch_allow(struct bw_watch *watch, uint32_t hung_ms);

/* From the main thread: true if the job must be ended, for a rank is lost; that has been said. */
bool bw_watch_is_over(const struct bw_watch *watch);

/*
 * Launchers end a job by SIGTERM, also after a rank has died: who gets it says
 * first who that was. Blocks it in this thread and those that it makes from
 * now on; the watching thread takes it.
 */
void bw_watch_take_signals(void);
/* Undo that, where nobody watches; closing does it, too. */
void bw_watch_leave_signals(void);

#endif
