/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_PLAN_H
#define BW_PLAN_H

#include "status.h"
#include "testcase.h"

#include <stdio.h>

/*
 * A plan is a testcase spelled out for a machine: the launches it takes, each
 * a set of lanes that run at the same time. A lane is one issuer with an
 * ordered list of steps. Building one needs no GPU, and every rank builds the
 * same.
 */

struct bw_end {
    enum bw_mem mem;
    int id; /* GPU ordinal, rank or NUMA node; for MEM_HOST beside a GPU, that GPU */
};

struct bw_step {
    enum bw_op op;
    struct bw_end src, dst; /* READ and CHASE have no dst, WRITE no src: both name the one end */
};

struct bw_engine_ops;

struct bw_lane_plan {
    enum bw_engine engine;
    const struct bw_engine_ops *ops; /* not NULL: drive it by these, not by the engine's     */
    void *program;                   /* what such operations work on; their owner's          */
    int issuer;              /* GPU, rank or NUMA node whose engine does the work          */
    bool is_split;           /* a two-way kernel: the step's bytes, and as many back       */
    bool is_load;            /* only there to load the links: must outlast the others      */
    unsigned scale;          /* nvbandwidth v0.8's size in units of the buffer size        */
    size_t step, step_count; /* slice of plan.steps */
};

struct bw_launch {
    int row, col;            /* cell of the result matrix; SHAPE_BISECT: lane i's is row i  */
    size_t lane, lane_count; /* slice of plan.lanes; the first is the (first) measured one  */
};

struct bw_plan {
    const struct bw_testcase *tc;
    int rows, cols; /* of the result matrix; cells with no launch are "N/A" */
    struct bw_launch *launches;
    size_t launch_count;
    struct bw_lane_plan *lanes;
    size_t lane_count;
    struct bw_step *steps;
    size_t step_count;
};

/*
 * Spell out `tc` for `ends` GPUs (ranks if it is multinode, NUMA nodes if it
 * is a host testcase). `peer` is an ends x ends matrix, row-major, of which
 * GPU can reach which; NULL means all can. On success `plan` owns its arrays:
 * call bw_plan_free(). BW_ERR_MEMORY leaves `plan` empty. Needs `ends` >= 0.
 */
enum bw_status bw_plan_build(struct bw_plan *plan, const struct bw_testcase *tc, int ends,
                             const bool *peer);

/* Empty plans are fine. */
void bw_plan_free(struct bw_plan *plan);

/* The launch whose cell is (row, col), or NULL: the cell is N/A. */
const struct bw_launch *bw_plan_find(const struct bw_plan *plan, int row, int col);

/*
 * Print a line for each result cell: "NAME RxC [r,c] copy 0 | ce first
 * H0>D0@0x1". Letters: H host, D device, F shared by ranks, M multicast, and
 * C for a NUMA node; the number after @ is the issuer.
 */
void bw_plan_print(const struct bw_plan *plan, FILE *out);

#endif
