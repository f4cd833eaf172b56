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
    void (*close)(struct bw_world *world);
};

struct bw_world {
    const struct bw_world_ops *ops;
    int rank, ranks;
    int local_rank, local_ranks; /* on this host */
    char host[256];
    char library[256]; /* MPI's version text, "" without */
    void *impl;        /* the implementation's own */
};

/*
 * MPI if this build has it and a launcher started us, else one process.
 * Collective. `argc` and `argv` as main() got them.
 */
enum bw_status bw_world_open_all(struct bw_world *world, int *argc, char ***argv);
/* Collective. Zeroed is fine. */
void bw_world_close_all(struct bw_world *world);

enum bw_status bw_world_agree_all(struct bw_world *world, enum bw_status mine, const char *phase);
enum bw_status bw_world_gather_all(struct bw_world *world, const void *mine, void *all,
                                   size_t bytes);

/* True in the rank that reports. */
bool bw_world_is_root(const struct bw_world *world);

#endif
