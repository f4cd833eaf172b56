/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_TESTCASE_H
#define BW_TESTCASE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A testcase is a row of data. Each result cell belongs to a (row, column)
 * pair of ends; eight fields say which cells there are, what memory the two
 * ends have, which way the bytes go, which end issues the work, who moves the
 * bytes, what is done with them, and what else runs meanwhile. Everything else
 * (waivers, units, reduction, titles) follows from these fields.
 *
 * The place of a row in the table is its index in the user interface: new
 * rows go to the end, and no row ever moves.
 */

enum bw_shape {
    SHAPE_EACH,   /* 1 x N: end c with itself or with the host memory near it      */
    SHAPE_PAIRS,  /* N x N: end r with end c; the diagonal only where ends are CPUs */
    SHAPE_FAN,    /* 1 x N: every reachable end r with hub c, all at once           */
    SHAPE_BISECT, /* N x 1: end r with end (r + N/2) % N, all at once               */
    SHAPE_EVERY,  /* 1 x 1: every end with itself, all at once                      */
};

enum bw_mem {
    MEM_HOST,      /* on the NUMA node nearest to the column's GPU, or a CPU's own node */
    MEM_DEVICE,    /* visible to its own process                                        */
    MEM_SHARED,    /* device memory that every rank maps                                */
    MEM_MULTICAST, /* multicast object bound on every rank                              */
};

enum bw_flow { FLOW_TO_COL, FLOW_TO_ROW };
enum bw_by { BY_SRC, BY_DST }; /* push or pull; host memory issues only where CPUs do */

enum bw_engine {
    ENGINE_CE,  /* cuMemcpyAsync                                      */
    ENGINE_SM,  /* kernel; multimem stores if dst is MEM_MULTICAST    */
    ENGINE_TMA, /* kernel of bulk copies through shared memory        */
    ENGINE_CPU, /* pinned host threads                                */
};

enum bw_op {
    OP_COPY,
    OP_READ,  /* no destination: what was read is summed up */
    OP_WRITE, /* no source: a pattern is written            */
    OP_CHASE, /* dependent loads; the result is a latency   */
    /* Steps of operators over symmetric memory (shmem.h), whose rows have the last two. */
    OP_STAGE,    /* a copy between the user's memory and symmetric memory */
    OP_BARRIER,  /* all ranks' streams wait for each other                */
    OP_OPERATOR, /* the operator itself; the result is a rate             */
    OP_SIGNAL,   /* an operator that is a signal; the result is a latency */
};

enum bw_load {
    LOAD_NONE = 0,
    LOAD_REVERSE = 1, /* also a copy the other way between the same ends */
    LOAD_OTHERS = 2,  /* also the same traffic on all other GPUs         */
};

struct bw_testcase {
    const char *name; /* unique, [a-z0-9_]+; part of the user interface */
    enum bw_shape shape;
    enum bw_mem row, col;
    enum bw_flow flow;
    enum bw_by by;
    enum bw_engine engine;
    enum bw_op op;
    unsigned load; /* enum bw_load bits */
};

extern const struct bw_testcase bw_testcases[];
extern const size_t bw_testcase_count;

/* The rows that nvbandwidth v0.8 has: 0 to 34 in one process, 35 to 47 over ranks. */
enum { BW_TESTCASE_V08_SINGLE = 35, BW_TESTCASE_V08_ALL = 48 };

/* How the rates of a cell's copies become its value. */
enum bw_reduce {
    REDUCE_FIRST, /* the first copy's rate; the others are only load  */
    REDUCE_SUM,   /* the sum of all copies' rates                     */
    REDUCE_TOTAL, /* all bytes over the time until the last one ends  */
    REDUCE_EACH,  /* a value for each copy; pairs both ways also give their sum */
};

enum bw_need {
    NEED_GPU = 1,       /* a GPU and its driver                     */
    NEED_PEER = 2,      /* some pair of local GPUs has peer access  */
    NEED_RANKS = 4,     /* more than one MPI rank                   */
    NEED_MULTICAST = 8, /* every GPU supports multicast objects     */
    NEED_TMA = 16,      /* compute capability 9.0 or newer          */
};

/* -1 if there is none of that name. */
int bw_testcase_find(const char *name);

/* The existing name nearest to `name` by edit distance, or NULL if none is near. */
const char *bw_testcase_nearest(const char *name);

/* True if the ends are MPI ranks instead of this process's GPUs. */
bool bw_testcase_is_multinode(const struct bw_testcase *tc);

/* True if the ends are NUMA nodes and no GPU is needed. */
bool bw_testcase_is_host(const struct bw_testcase *tc);

/* True if one kernel copies both ways: warps of the same GPU push and pull. */
bool bw_testcase_is_split(const struct bw_testcase *tc);

/* True if the value is a latency in ns, else it is a rate in GB/s. */
bool bw_testcase_is_latency(const struct bw_testcase *tc);

/* What the machine must offer, as enum bw_need bits; if not, waive. */
unsigned bw_testcase_needs(const struct bw_testcase *tc);

enum bw_reduce bw_testcase_reduce(const struct bw_testcase *tc);

/* Matrices that the result has: 1, or 3 (one a direction, and their sum). */
int bw_testcase_matrix_count(const struct bw_testcase *tc);

/* Key suffix of a matrix: "", or "_read1", "_read2", "_write1", "_write2", "_total". */
const char *bw_testcase_suffix(const struct bw_testcase *tc, int matrix);

/*
 * Title line of a matrix, e.g. "memcpy CE CPU(row) -> GPU(column) bandwidth
 * (GB/s)". The arrow is the way of the bytes. snprintf's return value.
 */
int bw_testcase_title(const struct bw_testcase *tc, int matrix, char *text, size_t room);

/*
 * What -l says about a testcase, one or more lines separated by '\n'.
 * snprintf's return value.
 */
int bw_testcase_describe(const struct bw_testcase *tc, char *text, size_t room);

/*
 * Who moves the bytes, over which link, and what limits it: a line each,
 * separated by '\n'. snprintf's return value.
 */
int bw_testcase_explain(const struct bw_testcase *tc, char *text, size_t room);

/* "ce", "sm", "tma", "cpu". */
const char *bw_engine_name(enum bw_engine engine);

/*
 * Size of a load copy in nvbandwidth v0.8, in units of the measured copy's
 * size: 1 or 2. Printed by --dry-run; real load repeats until it is no longer
 * needed.
 */
unsigned bw_testcase_load_scale(const struct bw_testcase *tc);

#endif
