/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SHMEM_NCCL_H
#define BW_SHMEM_NCCL_H

#include "shmem.h"

#include "bwtool/baseline.h"
#include "bwtool/nccl.h"

/* Internal to the measuring of NCCL. */

enum { NCCL_IN, NCCL_OUT, NCCL_STAGE, NCCL_BUFFERS };

/* Of one rank, registered memory that NCCL itself has allocated; plain memory is the pool's. */
struct nccl_registered {
    void *at[NCCL_BUFFERS];
    struct bw_nccl_window *window[NCCL_BUFFERS];
};

struct bw_baseline_job {
    struct bw_session *session;
    int ranks;
    struct bw_nccl_comm *comms[BW_SHMEM_RANKS_MAX];
    bool is_broken; /* a call failed, or did not end: no other one of these communicators may */
    struct nccl_registered registered[BW_SHMEM_RANKS_MAX];
    CUdeviceptr stage[BW_SHMEM_RANKS_MAX]; /* dispatch and combine: pieces for, or of, each rank */
    struct bw_baseline done; /* points that were told: another row's may be the same */
};

/* One operator, size, class and mode at work: what its lanes share. */
struct nccl_program {
    struct bw_baseline_job *job;
    struct shmem_case *c;
    enum bw_baseline_mode mode;
    bool is_checked, is_connected;
    int lane_count;
    struct bw_lane *lanes[BW_SHMEM_RANKS_MAX];
    CUgraphExec graphs[BW_SHMEM_RANKS_MAX];
    unsigned long long captured; /* iterations that the graphs hold; 0: there are none */
};

/* --- nccl_calls.c ------------------------------------------------------------------------------
 */

/* What the operator is for NCCL; NULL: it has nothing like it, and `*reason` says so. */
const char *nccl_api_of(enum bw_shmem_op op, const char **reason);
/* Ranks that take part, from 0 on. */
int nccl_lanes(const struct shmem_case *c);
/* One iteration, of all ranks, as one group, into the lanes' streams. */
enum bw_status nccl_call(const struct nccl_program *program);

/* --- nccl_route.c ------------------------------------------------------------------------------
 */

/* Bytes of the pieces of a rank; 0 of other operators. */
uint64_t nccl_stage_bytes(const struct shmem_case *c);
/* Packing, before the group of calls, or unpacking behind it; nothing where there is none. */
enum bw_status nccl_route_launch(const struct nccl_program *program, bool is_before);
/* Rank r's sends and receives. NCCL's result. */
int nccl_route_exchange(const struct nccl_program *program, int r, int type);

/* --- nccl_memory.c -----------------------------------------------------------------------------
 */

/* Input and output of each rank in memory of that class. Close it either way. */
enum bw_status nccl_memory_open(struct bw_baseline_job *job, struct shmem_case *c,
                                enum bw_baseline_class kind);
void nccl_memory_close(struct bw_baseline_job *job, const struct shmem_case *c);

/* --- nccl_lane.c -------------------------------------------------------------------------------
 */

extern const struct bw_engine_ops bw_engine_nccl;
/* bw_plan_free() frees it. */
enum bw_status nccl_plan_build(struct bw_plan *plan, struct nccl_program *program);

#endif
