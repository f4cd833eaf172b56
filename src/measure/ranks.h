/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_RANKS_H
#define BW_RANKS_H

#include "bwtool/measure.h"
#include "bwtool/nvml.h"
#include "bwtool/pass.h"
#include "bwtool/share.h"

/*
 * The GPUs of all ranks: what each rank knows of its own, how their memory can
 * be shared, and the memory itself. It is got and exchanged once a run; a
 * launch takes slots of it by rank, in the same order in all ranks, so that
 * all have the same idea of what is where.
 */

/* What a rank tells the others about itself. Sent as it is: fixed size, no pointers. */
struct bw_rank_facts {
    int32_t rank, host_rank;
    int32_t ordinal, visible; /* of its GPU, and of how many that it sees */
    int32_t sees_all;         /* the GPUs of all ranks of its host are among those */
    int32_t is_fabric_attribute, is_fd_attribute, has_multicast, has_imex_channel;
    int32_t is_multicast_off;       /* NCCL_NVLS_ENABLE=0 */
    int32_t fabric_probe, fd_probe; /* CUresult of trying */
    int32_t sm_count, has_bulk;     /* bulk: copies of whole blocks, by TMA */
    struct bw_nvml_fabric fabric;
    uint64_t free_bytes, granularity, seed;
    char host[64], uuid[48], pci[20];
};

/* One rank's part of the exchange. */
struct bw_rank_offer {
    int32_t status;
    uint64_t bytes;
    struct bw_share_token token;
    struct bw_pass_ticket ticket;
};

struct bw_ranks {
    struct bw_rank_facts *facts; /* by rank */
    enum bw_share_kind kind;
    enum bw_status status;   /* why nothing is shared: BW_WAIVED, or an error; BW_OK: it is */
    char *reason;            /* in words; the same in all ranks                            */
    struct bw_share *shares; /* by rank, one's own among them */
    size_t bytes;            /* of each rank, all in all */
    CUdeviceptr base;        /* rank r's is at base + r * bytes, in this process's addresses */
    size_t slot_bytes;
    unsigned slots;  /* of each rank */
    unsigned *taken; /* by rank, in this launch */
    double open_ms;
    double skew_ns; /* the furthest that a rank's stream was found to start from rank 0's */
};

/* Beginning of every rank's memory: flags that other GPUs write or poll (params.h). */
enum { BW_RANKS_CONTROL_BYTES = 2 << 20 };

/* Tell each other what everybody has. On failure too: close it. Collective. */
enum bw_status bw_ranks_open_all(struct bw_ranks *ranks, struct bw_session *session);
void bw_ranks_close_all(struct bw_ranks *ranks, struct bw_session *session);

/*
 * How memory can be shared by what the facts say: the same in all ranks.
 * SHARE_NONE: `*reason` says why not, for free(); NULL if there is no memory for it.
 */
enum bw_share_kind bw_ranks_choose_kind(const struct bw_rank_facts *facts, int ranks,
                                        char **reason);
/*
 * Where it is SHARE_NONE: true if a driver's answer to a rank that asked for
 * memory to share is not one of those that say that the machine has none, so
 * that it is a failure. `*why` says whose, for free(); NULL if there is no memory for it.
 */
bool bw_ranks_has_trouble(const struct bw_rank_facts *facts, int ranks, char **why);

/* Most slots of one rank that a launch of the plan takes; `count` is room for a number of each. */
unsigned bw_ranks_slots(const struct bw_plan *plan, int ranks, unsigned *count);
/* The same of those behind multicast addresses. */
unsigned bw_ranks_multicast_slots(const struct bw_plan *plan);

/* A launch begins: slots count from 0 again. */
void bw_ranks_begin(struct bw_ranks *ranks, int count);
/* The next slot of `rank`, as this process sees it. BW_ERR_MEMORY, logged, if there are no more. */
enum bw_status bw_ranks_take(struct bw_ranks *ranks, int rank, CUdeviceptr *ptr);

/*
 * Symmetric memory of operators: all that `rank` shares, but for the control
 * page, as this process sees it; the slots lie there, too. BW_ERR_MEMORY,
 * logged, in all ranks if `bytes` is more than that.
 */
enum bw_status bw_ranks_window(const struct bw_ranks *ranks, int rank, uint64_t bytes,
                               CUdeviceptr *ptr);

/* Find ranks->skew_ns, by a gate for each rank. Collective. */
enum bw_status bw_ranks_find_skew_all(struct bw_session *session);
#endif
