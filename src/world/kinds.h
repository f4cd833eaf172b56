/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_WORLD_KINDS_H
#define BW_WORLD_KINDS_H

#include "bwtool/world.h"

/* The ways to be a world, for bw_world_open_all() to choose from. */

/*
 * A rank of an MPI job: `*is_open` says whether this is one. mpi.c where the
 * build has MPI; else without_mpi.c, which never is one.
 */
enum bw_status bw_world_open_mpi_all(struct bw_world *world, int *argc, char ***argv,
                                     bool *is_open);

/*
 * Processes that a launcher (mpirun, srun) says it started, from the
 * environment; 1 if it started us alone, 0 if there is no trace of one. `name`
 * is the variable that says so, NULL for 0.
 */
int bw_world_launched(const char **name);

/* This host's name, cut to fit. */
void bw_world_host(struct bw_world *world);

#endif
