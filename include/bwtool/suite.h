/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SUITE_H
#define BW_SUITE_H

#include "operators.h"
#include "status.h"

#include <stdio.h>

/*
 * A suite: operators over symmetric memory, each at a size, with a dtype, a
 * placement and a number of ranks, as a table of cases. Pure.
 */

/* Payload of a rank. */
enum bw_suite_size {
    SUITE_S,  /* BW_SUITE_S_BYTES; a quarter of L, if that is less */
    SUITE_L,  /* what is asked for: bw_suite_bytes()      */
    SUITE_XL, /* BW_SUITE_XL_FACTOR times that            */
    SUITE_OWN /* the case's own                           */
};

enum {
    BW_SUITE_S_BYTES = 256 << 10,
    BW_SUITE_S_MIN = 64 << 10,    /* S is from here                                          */
    BW_SUITE_S_MAX = 1 << 20,     /* to here                                                 */
    BW_SUITE_L_BYTES = 128 << 20, /* unless another size is asked for                       */
    BW_SUITE_L_MIN = 64 << 20,    /* L is at least so much of each rank,                     */
    BW_SUITE_L_TOTAL = 256000000, /* and so much of all of them together                    */
    BW_SUITE_XL_FACTOR = 8,
    BW_SUITE_CASES_MIN = 20,
    BW_SUITE_BOUNDARIES = 8, /* B1 to B8 */
};

struct bw_suite_case {
    const char *name; /* "L.R.all_gather"; a boundary's begins with its number: "B1.chunk_tail" */
    const char *row;  /* name of the operator's row */
    enum bw_suite_size size;
    uint64_t bytes; /* of SUITE_OWN without tokens; 0 else */
    enum bw_shmem_dtype dtype;
    enum bw_placement placement;
    int ranks;                      /* so many of the first; 0: all there are */
    uint32_t tokens, hidden, top_k; /* dispatch and combine; 0: the defaults */
    unsigned ctas;                  /* blocks; 0: the default */
    unsigned rounds;                /* checked with a fresh pattern each; 0: the default */
    const char *what;               /* why it is there */
};

/* The cases of --suite shmem, in the order in which they run. */
extern const struct bw_suite_case bw_suite_shmem[];
extern const size_t bw_suite_shmem_count;

/* True if there is a suite of that name. */
bool bw_suite_is_known(const char *name);

/* 1 to 8 for B1 to B8; 0: none of those. */
int bw_suite_boundary(const struct bw_suite_case *c);
/* "S", "L", "XL", "own" */
const char *bw_suite_size_name(enum bw_suite_size size);
/* Bytes of payload asked for, where L is `large_bytes`. */
uint64_t bw_suite_bytes(const struct bw_suite_case *c, uint64_t large_bytes);
/* Put the case into the request; what it does not speak of stays. */
void bw_suite_set(const struct bw_suite_case *c, uint64_t large_bytes,
                  struct bw_shmem_request *request);

struct bw_gpus;
/* What would run on `ranks` GPUs like `gpus` (none: H200s), a line a case. BW_ERR_MEMORY, logged.
 */
enum bw_status bw_suite_print(FILE *out, uint64_t large_bytes, const struct bw_gpus *gpus,
                              int ranks);

#endif
