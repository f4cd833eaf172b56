/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_STATE_H
#define BW_STATE_H

#include "nvml.h"
#include "peak.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * What the GPUs are in while they are measured: clocks, heat, links, errors.
 * Asking costs time, so it is done while the GPUs work, not too often, and
 * never for more than a small part of the run; then the last answers stay.
 * Nothing here fails: what cannot be told is unknown. A NULL state knows
 * nothing.
 */
struct bw_state;
struct bw_gpus;
struct bw_world;

/* How often a launch is measured at most, where something spoils it each time. */
enum { BW_STATE_TAKES_MAX = 3 };
/* Room for what has spoiled a launch of several ranks, in words. */
enum { BW_STATE_TEXT_BYTES = 640 };

/* What was seen of one GPU while a testcase ran. */
struct bw_gpu_record {
    struct bw_nvml_values before, after;
    struct bw_nvml_values low, high; /* levels; of throttle: bits always, and ever, set */
    unsigned looks;                  /* while it worked                                  */
    int other_processes;             /* that compute on it; -1: unknown                  */
};

/*
 * Before the contexts are made; `job_processes` ranks of this job may work on
 * these GPUs, and are no strangers. NULL if there is no memory for it.
 */
struct bw_state *bw_state_build(const struct bw_gpus *gpus, int job_processes);
/* NULL is fine. */
void bw_state_free(struct bw_state *state);

/* A testcase begins. */
void bw_state_begin(struct bw_state *state);
/* It ended: a record for each GPU. The caller frees it; NULL if nothing is known. */
struct bw_gpu_record *bw_state_end(struct bw_state *state);

/* A launch is about to be measured; where its ends are ranks, `own` is this rank's GPU. */
void bw_state_launch(struct bw_state *state, const struct bw_plan *plan,
                     const struct bw_launch *launch, int own);
/* All that a testcase measures by these GPUs is watched as if it were one launch. */
void bw_state_whole(struct bw_state *state, int first, int count);
/* The GPUs are at work: a moment to look at them, if it is time to. */
void bw_state_look(struct bw_state *state);
/*
 * The launch has ended: what has spoiled it, e.g. "GPU 1: hardware thermal
 * slowdown", or NULL. Valid until the next launch. Also says, once, what links
 * are slower than they could be.
 */
const char *bw_state_spoiled(struct bw_state *state);
/*
 * The same of all ranks, in `text`, which is alike in all of them: "rank 1 (host): GPU 1: ...".
 * Of one rank alone as above. Collective.
 */
const char *bw_state_spoiled_all(struct bw_state *state, struct bw_world *world, char *text,
                                 size_t room);

/*
 * What has spoiled launches of the testcase that ended last, of which there
 * was no time to find out then; NULL: nothing. Which ones, nobody knows. Valid
 * until the next testcase. And the same of all ranks, collective, as above.
 */
const char *bw_state_late(const struct bw_state *state);
const char *bw_state_late_all(struct bw_state *state, struct bw_world *world, char *text,
                              size_t room);

/* True for the first of a testcase's launches that stays spoiled: one loud line is enough. */
bool bw_state_first_doubt(struct bw_state *state);

/* The links as they were seen last; valid until the next call. */
struct bw_ports bw_state_ports(const struct bw_state *state);

/* Time spent with asking so far. */
double bw_state_cost_ms(const struct bw_state *state);

/*
 * state_judge.c, pure: what spoils a measurement that began with counters
 * `start`, ended with `end`, and had `throttle` bits set at some time (-1:
 * unknown). False if nothing; else `text` says what.
 */
bool bw_state_judge(const struct bw_nvml_values *start, const struct bw_nvml_values *end,
                    int64_t throttle, char *text, size_t room);

/* The name of bit `bit` of throttle, e.g. "power_cap"; NULL if it has none. */
const char *bw_state_throttle_name(int bit);

#endif
