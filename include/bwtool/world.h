/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_WORLD_H
#define BW_WORLD_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * The processes that measure together: one process with all GPUs of the host,
 * or one MPI rank a GPU. `_all` marks a collective call: every rank makes it,
 * and between two of them no rank returns early.
 */

struct bw_world;

struct bw_world_ops {
    const char *name; /* "single process", "MPI" */
    /* Leave with one answer: BW_OK only if all brought BW_OK, else each its own or BW_ERR_PEER. */
    enum bw_status (*agree_all)(struct bw_world *world, enum bw_status mine, const char *phase);
    /* Every rank's `bytes` at `mine`, in rank order, into `all` (bytes x ranks). */
    enum bw_status (*gather_all)(struct bw_world *world, const void *mine, void *all, size_t bytes);
    /* `numbers` become the sums over all ranks; exact where all but one bring 0. */
    enum bw_status (*sum_all)(struct bw_world *world, double *numbers, size_t count);
    /* For whoever watches: what this rank is about now, and the name of its GPU; may be NULL. */
    void (*tell)(struct bw_world *world, const char *phase, const char *gpu);
    void (*close)(struct bw_world *world);
};

/* What the ranks have cost each other, for the report: collective calls, and bytes brought to them.
 */
struct bw_world_use {
    unsigned long long collectives, bytes;
    double seconds; /* waited in them */
};

struct bw_world {
    const struct bw_world_ops *ops;
    int rank, ranks;
    int local_rank, local_ranks; /* on this host                        */
    int host_rank;               /* the lowest rank on it names the host */
    /* So long others may take before the next collective, and a call of this rank; 0: the usual. */
    unsigned patience_s;
    char host[256];
    char mpi_version[256]; /* its text, "" without */
    struct bw_world_use use;
    void *impl; /* the implementation's own */
};

/*
 * MPI if this build has it and a launcher started us, else one process.
 * Collective. `argc` and `argv` as main() got them.
 */
enum bw_status bw_world_open_all(struct bw_world *world, int *argc, char ***argv);
/* Collective. Zeroed is fine. */
void bw_world_close_all(struct bw_world *world);

/* One process, for what concerns no other rank. Cannot fail, and need not be closed. */
void bw_world_open_single(struct bw_world *world);

/* What the implementation answers: see bw_world_agree_all(). */
enum bw_status bw_world_agreed_all(struct bw_world *world, enum bw_status mine, const char *phase);
/*
 * Leave with one answer: BW_OK only if all ranks brought BW_OK, else each its
 * own or BW_ERR_PEER; so never BW_OK where ours is not. `phase` is for the
 * message if a rank does not come. Collective.
 */
static inline enum bw_status bw_world_agree_all(struct bw_world *world, enum bw_status mine,
                                                const char *phase)
{
    const enum bw_status agreed = bw_world_agreed_all(world, mine, phase);

    return agreed == BW_OK ? mine : agreed;
}
enum bw_status bw_world_gather_all(struct bw_world *world, const void *mine, void *all,
                                   size_t bytes);
enum bw_status bw_world_sum_all(struct bw_world *world, double *numbers, size_t n);

/*
 * After a failure that all ranks know of: the worst status of all, and why, by
 * the rank that it happened to ("rank 1 (host): ..."; one that has waited in
 * vain only if no other says more), for free(); or `*reason` NULL. `mine` and `text` are this
 * rank's. Collective.
 */
enum bw_status bw_world_explain_all(struct bw_world *world, enum bw_status mine, const char *text,
                                    char **reason);

/* What this rank begins to do, or is ("GPU 1, GPU-..."); NULL: as it was. Not collective. */
void bw_world_tell(struct bw_world *world, const char *phase, const char *gpu);

/* True in the rank that reports. */
bool bw_world_is_root(const struct bw_world *world);

#endif
