/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_JOB_H
#define SIM_JOB_H

#include <stdbool.h>

struct flow_net;

/*
 * The processes of a job (mpirun, srun) have one clock and one set of links,
 * in memory that all of them map. Time moves only when every process has dealt
 * with what is due, so that a flow of one begins at the moment when another's
 * ends or a word that it waited for was written. In a process alone all of
 * this does nothing.
 */

/* Join the job, if the environment says that there is one. 0, or -1. */
int sim_job_open(void);
void sim_job_close(void);
/* The job's links, or NULL: alone. */
struct flow_net *sim_job_net(void);

/* Around calls of flow_...(): the network is everybody's. */
void sim_job_lock(void);
void sim_job_unlock(void);

/* From here to the end, time stands still. Returns the job's time, or `now_ns` if alone. */
double sim_job_begin(double now_ns);
/*
 * What is due has been dealt with. `next_ns`: this process's next event that
 * is no flow's; `spins`: kernels wait for a word; `moved`: something happened,
 * so that others should look whether they still wait. False: look again.
 */
bool sim_job_end(double next_ns, bool spins, bool moved);

/* The earliest event of any process that is no flow's; `mine_ns` if alone. */
double sim_job_next(double mine_ns);
/* Move all to `ns` or to the next event before. False if some process is not ready. */
bool sim_job_advance(double ns);

/* There is something to be looked at here. */
bool sim_job_is_due(void);

/*
 * From sim_job_watch() on, has every other process had the turns that it has in
 * `ms` of real time? One that is stopped, or that others keep from the CPU, has
 * not: that it does not answer means nothing then.
 */
void sim_job_watch(void);
bool sim_job_had_turns(double ms);

/* Counts what happened in any process. */
unsigned long sim_job_moves(void);

/* Wait a moment for something to be due here; false if alone. */
bool sim_job_wait(void);

#endif
