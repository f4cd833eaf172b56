/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_OPERATORS_H
#define BW_OPERATORS_H

#include "frames.h"
#include "route.h"
#include "shmem_formulas.h"
#include "testcase.h"

#include "shmem_params.h"

/*
 * Operators over symmetric memory: a second table of testcases, whose indices
 * follow those of the first. Pure.
 */

/* Who moves the data, and how the ranks agree. */
enum bw_algorithm {
    ALGORITHM_AUTO,      /* the best known one for the size, the dtype and the placement */
    ALGORITHM_DIRECT,    /* the operator is a single move or signal                       */
    ALGORITHM_PUSH,      /* stores into the peers' outputs                                */
    ALGORITHM_PULL,      /* loads from the peers' inputs                                  */
    ALGORITHM_TMA,       /* push by bulk copies                                           */
    ALGORITHM_CE,        /* push by copy engines                                          */
    ALGORITHM_TILES,     /* by way of scratch, in tiles with signals                      */
    ALGORITHM_TWO_SHOT,  /* scattered sums, then pushed to all                            */
    ALGORITHM_LL,        /* words with the epoch in them, by way of scratch               */
    ALGORITHM_POISON,    /* words that are not a certain NaN, likewise                    */
    ALGORITHM_POISON4,   /* the same, four words under way                                */
    ALGORITHM_MULTICAST, /* by the switch                                                 */
    ALGORITHM_COUNT
};
const char *bw_algorithm_name(enum bw_algorithm algorithm);
/* False if there is none of that name. */
bool bw_algorithm_find(const char *name, enum bw_algorithm *algorithm);

/*
 * Who brings the user's data to symmetric memory, or the result from there: A
 * the kernel itself; B a copy outside of it, which is part of e2e; R nobody,
 * the user's tensor lies there.
 */
enum bw_placement { PLACEMENT_AUTO = 0, PLACEMENT_A = 1, PLACEMENT_B = 2, PLACEMENT_R = 4 };
/* "A", "B", "R", "auto" */
const char *bw_placement_name(enum bw_placement placement);
bool bw_placement_find(const char *name, enum bw_placement *placement);

/* "fp16", "bf16", "fp32", "int32", "int8" */
const char *bw_dtype_name(enum bw_shmem_dtype dtype);
unsigned bw_dtype_bytes(enum bw_shmem_dtype dtype);
bool bw_dtype_find(const char *name, enum bw_shmem_dtype *dtype);

/* A row. An algorithm's row is one kernel (or the copy engines); that of ALGORITHM_AUTO has none.
 */
struct bw_operator {
    struct bw_testcase tc; /* name, engine and needs, as all testcases have them */
    enum bw_shmem_op op;
    enum bw_algorithm algorithm;
    int kernel;                /* enum bw_kernel */
    unsigned placements;       /* that are honest, as bits */
    enum bw_placement natural; /* what auto means */
    enum bw_shmem_dtype dtype; /* by default */
    bool is_float_only;
    unsigned slots;  /* of scratch */
    unsigned spread; /* bytes of scratch for one of data */
    unsigned threads;
    unsigned blocks_a_sm; /* at most */
    const char *schedule; /* engine, source, destination: as the standard asks for it */
};

extern const struct bw_operator bw_operators[];
extern const size_t bw_operator_count;

/* Index among the operators; -1 if there is none of that name. */
int bw_operator_find(const char *name);
/* The operator whose `tc` this is, or NULL. */
const struct bw_operator *bw_operator_of(const struct bw_testcase *tc);
/* What -l says; snprintf's return value. */
int bw_operator_describe(const struct bw_operator *row, char *text, size_t room);

/* The table of all testcases: that of testcase.h first, then the operators. */
size_t bw_all_count(void);
const struct bw_testcase *bw_all_at(size_t index);
int bw_all_find(const char *name);

enum { BW_SHMEM_GRIDS_MAX = 16 };

/* What is asked for beyond the row; from the options. Zeroed: all defaults. */
struct bw_shmem_request {
    uint64_t bytes_min, bytes_max; /* of payload; equal without --sweep */
    double factor;                 /* from one size to the next */
    enum bw_placement placement;
    enum bw_algorithm algorithm;
    bool has_dtype;
    enum bw_shmem_dtype dtype;
    unsigned ctas[BW_SHMEM_GRIDS_MAX]; /* to be tried, in this order; none: the default */
    unsigned ctas_count;
    bool is_swept;   /* bytes_min and bytes_max were given for operators */
    int ranks;       /* so many of the first; 0: all. Ranks of their own process: all or none */
    unsigned rounds; /* checked with a fresh pattern each; 0: the default */
    enum bw_profile_mode profile;
    const char *no_multicast; /* why it is switched off; NULL: it is not. For a plan without GPUs */
    /* Dispatch and combine: tokens (0: as many as the payload has), hidden, top_k, experts (0: the
     * default), skew and seed; the rest is not looked at. */
    struct bw_route_shape route;
};

#endif
