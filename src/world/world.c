/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/world.h"
#include "bwtool/clock.h"
#include "bwtool/phase.h"
#include "kinds.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Set for the processes of a job only. SLURM_NTASKS and SLURM_PROCID are not
 * among them: a batch script's own shell has them too.
 */
static const char *const size_variables[] = {
    "OMPI_COMM_WORLD_SIZE", /* Open MPI                      */
    "PMI_SIZE",             /* MPICH, Intel MPI, Cray        */
    "MV2_COMM_WORLD_SIZE",  /* MVAPICH                       */
    "SLURM_STEP_NUM_TASKS", /* srun                          */
    "PALS_SIZE",            /* HPE's PALS                    */
    "FLUX_JOB_SIZE",        /* Flux                          */
    "JSM_NAMESPACE_SIZE",   /* IBM's jsrun                   */
};

/* A launcher that gives a rank, but not always their number. */
static const char *const rank_variables[] = {"PMIX_RANK", "PMI_RANK", "PMI_FD"};

int bw_world_launched(const char **name)
{
    *name = NULL;
    for (size_t i = 0; i < sizeof(size_variables) / sizeof(size_variables[0]); i++) {
        const char *text = getenv(size_variables[i]);
        char *end = NULL;
        const long size = text != NULL ? strtol(text, &end, 10) : 0;

        if (size > 0 && size <= INT_MAX && *end == '\0') {
            *name = size_variables[i];
            return (int)size;
        }
    }
    for (size_t i = 0; i < sizeof(rank_variables) / sizeof(rank_variables[0]); i++) {
        if (getenv(rank_variables[i]) != NULL) {
            *name = rank_variables[i];
            return 1;
        }
    }
    return 0;
}

void bw_world_host(struct bw_world *world)
{
    if (gethostname(world->host, sizeof(world->host)) != 0) {
        (void)snprintf(world->host, sizeof(world->host), "unknown");
    }
    world->host[sizeof(world->host) - 1] = '\0'; /* a name that was cut may lack it */
}

enum bw_status bw_world_open_all(struct bw_world *world, int *argc, char ***argv)
{
    enum bw_status st = BW_OK;
    bool is_open = false;

    memset(world, 0, sizeof(*world));
    TRY(bw_world_open_mpi_all(world, argc, argv, &is_open));
    if (!is_open) {
        bw_world_open_single(world);
    }
out:
    return st;
}

void bw_world_close_all(struct bw_world *world)
{
    if (world->ops != NULL) {
        world->ops->close(world);
    }
    memset(world, 0, sizeof(*world));
}

/* The time until the call has returned counts as waiting for the others. */
static void count(struct bw_world *world, size_t bytes, uint64_t start_ns)
{
    world->use.collectives++;
    world->use.bytes += bytes;
    world->use.seconds += (double)(bw_clock_ns() - start_ns) * 1e-9;
}

enum bw_status bw_world_agreed_all(struct bw_world *world, enum bw_status mine, const char *phase)
{
    const uint64_t start_ns = bw_clock_ns();
    const enum bw_phase before = bw_phase_enter(PHASE_RANKS);
    const enum bw_status st = world->ops->agree_all(world, mine, phase);

    (void)bw_phase_enter(before);
    count(world, 2 * sizeof(int), start_ns);
    return st;
}

enum bw_status bw_world_gather_all(struct bw_world *world, const void *mine, void *all,
                                   size_t bytes)
{
    const uint64_t start_ns = bw_clock_ns();
    const enum bw_phase before = bw_phase_enter(PHASE_RANKS);
    const enum bw_status st = world->ops->gather_all(world, mine, all, bytes);

    (void)bw_phase_enter(before);
    count(world, bytes, start_ns);
    return st;
}

enum bw_status bw_world_sum_all(struct bw_world *world, double *numbers, size_t n)
{
    const uint64_t start_ns = bw_clock_ns();
    const enum bw_phase before = bw_phase_enter(PHASE_RANKS);
    const enum bw_status st = world->ops->sum_all(world, numbers, n);

    (void)bw_phase_enter(before);
    count(world, n * sizeof(*numbers), start_ns);
    return st;
}

void bw_world_tell(struct bw_world *world, const char *phase, const char *gpu)
{
    if (world->ops->tell != NULL) {
        world->ops->tell(world, phase, gpu);
    }
}

bool bw_world_is_root(const struct bw_world *world)
{
    return world->rank == 0;
}
