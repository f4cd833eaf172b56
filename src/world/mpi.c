/* SPDX-License-Identifier: Apache-2.0 */
#include "beat.h"
#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "kinds.h"
#include "watch.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * One rank of an MPI job. Waits poll with a deadline: MPI_Wait would spin for
 * ever if a rank is stuck, and takes a core from the rank that measures. (What
 * clang-tidy misses at each collective is in wait_for().)
 */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

/* Longer than any part that one rank does while the others wait. */
enum { WAIT_S_DEFAULT = 300, WAIT_S_MAX = 86400 };

/* A rank that is silent or hung for so long is lost; the job then ends within 30 s. */
enum { SILENT_MS = 10000, HUNG_MS = 25000 };

struct mpi {
    MPI_Comm comm;
    MPI_Comm local; /* of the ranks of this host  */
    MPI_Win page;   /* that they watch each other through */
    struct bw_watch *watch;
    unsigned wait_s;
    bool is_one_host, all_watch;
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

/* From the watching thread, when the main thread did not do it: the last thing that can help. */
static void end_job_at_once(void)
{
    MPI_Abort(MPI_COMM_WORLD, 1);
    _exit(1);
}

/* Ranks of this host are watched; of others it is only known that they do not come. */
static unsigned patience_s(const struct bw_world *world)
{
    const struct mpi *mpi = world->impl;

    if (mpi->is_one_host && mpi->all_watch) {
        return WAIT_S_MAX;
    }
    return world->patience_s > mpi->wait_s ? world->patience_s : mpi->wait_s;
}

static void wait_for(const struct bw_world *world, int started, MPI_Request *request,
                     const char *phase)
{
    const struct mpi *mpi = world->impl;
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
        if (bw_watch_is_over(mpi->watch)) {
            end_job("a rank is lost");
        }
        if ((bw_clock_ns() - start) / 1000000000U >= patience_s(world)) {
            bw_error("%s: a rank of another host has not come after %u s", phase,
                     patience_s(world));
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

    bw_watch_step(mpi->watch, phase);
    wait_for(world, MPI_Iallreduce(&my, &worst, 1, MPI_2INT, MPI_MAXLOC, mpi->comm, &request),
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
        world,
        MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, mpi->comm, &request),
        &request, "gather");
    return BW_OK;
}

static enum bw_status sum_all(struct bw_world *world, double *numbers, size_t count)
{
    const struct mpi *mpi = world->impl;
    MPI_Request request = MPI_REQUEST_NULL;

    if (count > INT_MAX) {
        bw_error("cannot add up %zu numbers of every rank at once", count);
        return BW_ERR_SYSTEM;
    }
    wait_for(
        world,
        MPI_Iallreduce(MPI_IN_PLACE, numbers, (int)count, MPI_DOUBLE, MPI_SUM, mpi->comm, &request),
        &request, "sum");
    return BW_OK;
}

static void tell(struct bw_world *world, const char *phase, const char *gpu)
{
    const struct mpi *mpi = world->impl;

    bw_watch_allow(mpi->watch, world->patience_s * 1000);
    bw_watch_sign(mpi->watch, phase, gpu);
}

static void close_world(struct bw_world *world)
{
    struct mpi *mpi = world->impl;
    MPI_Request request = MPI_REQUEST_NULL;

    /* MPI_Finalize waits for all, without a deadline: so wait for them here, with one */
    wait_for(world, MPI_Ibarrier(mpi->comm, &request), &request, "end");
    bw_watch_close(mpi->watch);
    mpi->watch = NULL;
    if (mpi->page != MPI_WIN_NULL) {
        MPI_Win_free(&mpi->page);
    }
    MPI_Comm_free(&mpi->local);
    MPI_Finalize();
    free(mpi);
    world->impl = NULL;
}

static const struct bw_world_ops mpi_ops = {
    .name = "MPI",
    .agree_all = agree_all,
    .gather_all = gather_all,
    .sum_all = sum_all,
    .tell = tell,
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

/*
 * For tests only: BWTOOL_PRETEND_HOSTS=N makes hosts of the ranks of one, so
 * that what is done across hosts can be seen without a second one.
 */
static bool pretend_hosts(struct bw_world *world, MPI_Comm *local)
{
    const char *text = getenv("BWTOOL_PRETEND_HOSTS");
    const long hosts = text != NULL ? strtol(text, NULL, 10) : 0;
    MPI_Comm part = MPI_COMM_NULL;
    int host = 0;

    if (hosts < 2 || hosts > world->ranks) {
        return true;
    }
    host = (int)((long)world->rank * hosts / world->ranks);
    (void)snprintf(world->host, sizeof(world->host), "pretended-host-%d", host);
    if (MPI_Comm_split(*local, host, world->rank, &part) != MPI_SUCCESS) {
        return false;
    }
    MPI_Comm_free(local);
    *local = part;
    return true;
}

static bool find_ranks(struct bw_world *world, MPI_Comm *local)
{
    if (MPI_Comm_rank(MPI_COMM_WORLD, &world->rank) != MPI_SUCCESS ||
        MPI_Comm_size(MPI_COMM_WORLD, &world->ranks) != MPI_SUCCESS ||
        MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL,
                            local) != MPI_SUCCESS ||
        MPI_Comm_rank(*local, &world->local_rank) != MPI_SUCCESS || /* pretended or not: its GPU */
        !pretend_hosts(world, local)) {
        return false;
    }
    return MPI_Comm_size(*local, &world->local_ranks) == MPI_SUCCESS &&
           MPI_Allreduce(&world->rank, &world->host_rank, 1, MPI_INT, MPI_MIN, *local) ==
               MPI_SUCCESS;
}

/* With other hosts, where there are any: rank 0 tells all where it listens. NULL: not this rank. */
static struct bw_beat *open_beat_all(const struct bw_world *world)
{
    struct bw_beat_ticket ticket = {.count = 0};
    struct bw_beat *beat = NULL;

    if (world->local_ranks == world->ranks) {
        return NULL;
    }
    if (world->rank == 0) {
        beat = bw_beat_open_hub(&ticket, world->ranks);
    }
    if (MPI_Bcast(&ticket, sizeof(ticket), MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS &&
        world->rank == world->host_rank && world->rank != 0) {
        beat = bw_beat_open(&ticket);
    }
    explicit_bzero(&ticket, sizeof(ticket));
    return beat;
}

/* Watch each other, if there is shared memory for it; without, the deadlines are all there is. */
static void open_watch(struct bw_world *world, struct mpi *mpi)
{
    const MPI_Aint bytes = world->rank == world->host_rank
                               ? world->local_ranks * (MPI_Aint)sizeof(struct bw_watch_slot)
                               : 0;
    struct bw_watch_options options = {
        .count = world->local_ranks,
        .rank = world->rank,
        .host = world->host,
        .silent_ms = SILENT_MS,
        .hung_ms = HUNG_MS,
        .end_job = end_job_at_once,
        .beat = open_beat_all(world),
    };
    MPI_Aint size = 0;
    int unit = 0;
    void *mine = NULL;
    void *page = NULL;

    if (MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, mpi->local, &mine, &mpi->page) !=
            MPI_SUCCESS ||
        MPI_Win_shared_query(mpi->page, 0, &size, &unit, &page) != MPI_SUCCESS) {
        bw_verbose("no memory that this host's ranks could watch each other through");
        mpi->page = MPI_WIN_NULL;
        bw_beat_close(options.beat);
        return;
    }
    if (MPI_Comm_rank(mpi->local, &options.mine) != MPI_SUCCESS) {
        bw_beat_close(options.beat);
        return;
    }
    options.slots = page;
    memset(&options.slots[options.mine], 0, sizeof(options.slots[0]));
    mpi->watch = bw_watch_open(&options);
}

/* Only where each watches does somebody see whatever becomes of a rank. */
static void open_watch_all(struct bw_world *world, struct mpi *mpi)
{
    int watches = 0;

    open_watch(world, mpi);
    watches = mpi->watch != NULL;
    if (MPI_Allreduce(MPI_IN_PLACE, &watches, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS) {
        mpi->all_watch = watches != 0;
    }
}

/* First line of what MPI says about itself, for the report's header. */
static void find_library(struct bw_world *world)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    if (MPI_Get_library_version(text, &length) == MPI_SUCCESS) {
        text[strcspn(text, "\r\n")] = '\0';
        (void)snprintf(world->mpi_version, sizeof(world->mpi_version), "%.255s", text);
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
    mpi->local = MPI_COMM_NULL;
    mpi->page = MPI_WIN_NULL;
    bw_watch_take_signals(); /* before MPI makes threads */
    /* FUNNELED: our other threads never call MPI */
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        bw_error("MPI_Init_thread failed");
        free(mpi);
        return BW_ERR_SYSTEM;
    }
    bw_world_host(world);
    if (MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) != MPI_SUCCESS ||
        !find_ranks(world, &mpi->local)) {
        end_job("MPI cannot describe the job");
    }
    mpi->comm = MPI_COMM_WORLD;
    mpi->wait_s = wait_seconds();
    world->ops = &mpi_ops;
    world->impl = mpi;
    mpi->is_one_host = world->local_ranks == world->ranks;
    find_library(world);
    if (world->ranks > 1) {
        bw_log_set_rank(world->rank, world->host);
        open_watch_all(world, mpi);
    } else if (launched > 1) {
        bw_warn("the launcher started %d processes (%s), but MPI sees one: this build's MPI is "
                "not the launcher's (try srun --mpi=pmix, or this MPI's own mpirun)",
                launched, name);
    }
    if (mpi->watch == NULL) {
        bw_watch_leave_signals();
    }
    *is_open = true;
    return BW_OK;
}
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */
