/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "kinds.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * One rank of an MPI job. Waits poll with a deadline: MPI_Wait would spin for
 * ever if a rank is stuck, and takes a core from the rank that measures. (What
 * clang-tidy misses at each collective is in wait_for().)
 */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

/* Longer than any part that one rank does while the others wait. */
enum { WAIT_S_DEFAULT = 300, WAIT_S_MAX = 86400 };

struct mpi {
    MPI_Comm comm;
    unsigned wait_s;
};

/* A rank that cannot talk to the others cannot tell them to end either: only this can. */
static _Noreturn void end_job(const char *why)
{
    bw_error("%s; ending the job", why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

/* From 1 us to 1 ms: quick answers stay quick, and long waits cost nothing. */
static void pause_a_bit(unsigned round)
{
    bw_clock_sleep_us(round < 10 ? 1U << round : 1000U);
}

static void wait_for(const struct mpi *mpi, int started, MPI_Request *request, const char *phase)
{
    const uint64_t start = bw_clock_ns();
    int done = 0;

    if (started != MPI_SUCCESS) {
        end_job("an MPI collective could not be started");
    }
    for (unsigned round = 0;; round++) {
        if (MPI_Test(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            end_job("an MPI collective failed");
        }
        if (done) {
            return;
        }
        if ((bw_clock_ns() - start) / 1000000000U >= mpi->wait_s) {
            bw_error("%s: some rank has not come after %u s", phase, mpi->wait_s);
            end_job("ranks lost");
        }
        pause_a_bit(round);
    }
}

static enum bw_status agree_all(struct bw_world *world, enum bw_status mine, const char *phase)
{
    const struct mpi *mpi = world->impl;
    struct {
        int status, rank;
    } my = {(int)mine, world->rank}, worst = {0, 0};
    MPI_Request request = MPI_REQUEST_NULL;

    wait_for(mpi, MPI_Iallreduce(&my, &worst, 1, MPI_2INT, MPI_MAXLOC, mpi->comm, &request),
             &request, phase);
    if (mine == BW_OK && worst.status != (int)BW_OK) {
        bw_verbose("%s: rank %d could not go on", phase, worst.rank);
        return BW_ERR_PEER;
    }
    return mine;
}

static enum bw_status gather_all(struct bw_world *world, const void *mine, void *all, size_t bytes)
{
    const struct mpi *mpi = world->impl;
    MPI_Request request = MPI_REQUEST_NULL;

    if (bytes > INT_MAX) { /* the same in all ranks, so all return here */
        bw_error("cannot gather %zu bytes of every rank at once", bytes);
        return BW_ERR_SYSTEM;
    }
    wait_for(
        mpi,
        MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, mpi->comm, &request),
        &request, "gather");
    return BW_OK;
}

static void close_world(struct bw_world *world)
{
    struct mpi *mpi = world->impl;
    MPI_Request request = MPI_REQUEST_NULL;

    /* MPI_Finalize waits for all, without a deadline: so wait for them here, with one */
    wait_for(mpi, MPI_Ibarrier(mpi->comm, &request), &request, "end");
    MPI_Finalize();
    free(mpi);
    world->impl = NULL;
}

static const struct bw_world_ops mpi_ops = {
    .name = "MPI",
    .agree_all = agree_all,
    .gather_all = gather_all,
    .close = close_world,
};

static unsigned wait_seconds(void)
{
    const char *text = getenv("BWTOOL_RANK_TIMEOUT_S");
    char *end = NULL;
    const long seconds = text != NULL ? strtol(text, &end, 10) : 0;

    return seconds > 0 && seconds <= WAIT_S_MAX && *end == '\0' ? (unsigned)seconds
                                                                : WAIT_S_DEFAULT;
}

static bool find_ranks(struct bw_world *world)
{
    MPI_Comm local = MPI_COMM_NULL;
    bool ok = MPI_Comm_rank(MPI_COMM_WORLD, &world->rank) == MPI_SUCCESS &&
              MPI_Comm_size(MPI_COMM_WORLD, &world->ranks) == MPI_SUCCESS &&
              MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL,
                                  &local) == MPI_SUCCESS;

    ok = ok && MPI_Comm_rank(local, &world->local_rank) == MPI_SUCCESS &&
         MPI_Comm_size(local, &world->local_ranks) == MPI_SUCCESS;
    if (local != MPI_COMM_NULL) {
        MPI_Comm_free(&local);
    }
    return ok;
}

/* First line of what MPI says about itself, for the report's header. */
static void find_library(struct bw_world *world)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    if (MPI_Get_library_version(text, &length) == MPI_SUCCESS) {
        text[strcspn(text, "\r\n")] = '\0';
        (void)snprintf(world->library, sizeof(world->library), "%.255s", text);
    }
}

enum bw_status bw_world_open_mpi_all(struct bw_world *world, int *argc, char ***argv, bool *is_open)
{
    const char *name = NULL;
    const int launched = bw_world_launched(&name);
    struct mpi *mpi = NULL;
    int provided = 0;

    *is_open = false;
    if (launched ==
        0) { /* by hand: MPI would only cost time, or fail where its daemons cannot run */
        return BW_OK;
    }
    mpi = calloc(1, sizeof(*mpi));
    if (mpi == NULL) {
        return bw_errno("state of the MPI world");
    }
    /* FUNNELED: our other threads never call MPI */
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        bw_error("MPI_Init_thread failed");
        free(mpi);
        return BW_ERR_SYSTEM;
    }
    if (MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        !find_ranks(world)) {
        end_job("MPI cannot describe the job");
    }
    mpi->comm = MPI_COMM_WORLD;
    mpi->wait_s = wait_seconds();
    world->ops = &mpi_ops;
    world->impl = mpi;
    find_library(world);
    bw_world_host(world);
    if (world->ranks > 1) {
        bw_log_set_rank(world->rank, world->host);
    } else if (launched > 1) {
        bw_warn("the launcher started %d processes (%s), but MPI sees one: this build's MPI is "
                "not the launcher's (try srun --mpi=pmix, or this MPI's own mpirun)",
                launched, name);
    }
    *is_open = true;
    return BW_OK;
}
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
