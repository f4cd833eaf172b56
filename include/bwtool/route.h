/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_ROUTE_H
#define BW_ROUTE_H

#include "shmem_formulas.h"
#include "status.h"

#include <math.h>
#include <stdint.h>

/*
 * Which token goes where, for dispatch and combine: `tokens` tokens of each
 * rank go to `top_k` different experts each, of `experts` experts a rank. A
 * token is sent once to each rank that has at least one of its experts. The
 * same shape gives the same route on every machine and in every process. Pure.
 */

/* All tokens go to experts of rank 0. */
#define BW_ROUTE_ONE_RANK ((double)INFINITY)

enum {
    BW_ROUTE_HIDDEN = 7168, /* defaults: those of a model that is often measured */
    BW_ROUTE_TOP_K = 8,
    BW_ROUTE_EXPERTS = 32,
    BW_ROUTE_TOP_K_MAX = 64,
    BW_ROUTE_EXPERTS_MAX = 1024,
    BW_ROUTE_SKEW_MAX = 16,
    BW_ROUTE_HIDDEN_MAX = 1 << 20,
    BW_ROUTE_TOKENS_MAX = 1 << 22, /* of all ranks: tables of the host's hold them */
};
/* Payload of a rank: kernels count its vectors in 32 bits. */
#define BW_ROUTE_BYTES_MAX ((uint64_t)1 << 34)

struct bw_route_shape {
    int ranks;       /* 1 to BW_SHMEM_RANKS_MAX                                      */
    uint32_t tokens; /* of each rank, 1 or more                                      */
    uint32_t hidden; /* elements of a token                                          */
    unsigned element_bytes;
    uint32_t top_k;   /* experts of a token, all different                            */
    uint32_t experts; /* of each rank; expert e is on rank e / experts                */
    double skew;      /* 0: all alike; s: expert e is as likely as 1 / (e + 1)^s, to
                       * 1/1024 of s; BW_ROUTE_ONE_RANK                               */
    uint64_t seed;
};

struct bw_route {
    struct bw_route_shape shape;
    uint32_t width; /* ranks that a token goes to at most */
    /*
     * Of token t of rank r, from [(r * tokens + t) * width] on: the ranks that
     * it goes to, in rising order, and its row in their receive areas; -1 behind
     * the last.
     */
    int32_t *dst, *slot;
    uint32_t *rows;    /* [from * ranks + to]: tokens of `from` that go to `to`               */
    uint32_t *base;    /* likewise: the row of `to`'s receive area where `from`'s begin; in
                        * the order of their tokens                                           */
    uint32_t rows_max; /* most rows that come to any rank                                     */
    uint32_t pair_max; /* most rows from one rank to another                                  */
};

/* NULL, or what is wrong with the shape, as the caller's own text. */
char *bw_route_why_not(const struct bw_route_shape *shape);

/* BW_ERR_MEMORY, logged. The shape must be a good one. Call bw_route_free() either way. */
enum bw_status bw_route_build(struct bw_route *route, const struct bw_route_shape *shape);
void bw_route_free(struct bw_route *route);

uint32_t bw_route_rows(const struct bw_route *route, int from, int to);
/* Rows that come to `rank`, those of its own tokens included. */
uint32_t bw_route_received(const struct bw_route *route, int rank);

/*
 * Bytes from rank `from` to rank `to` by SHMEM_DISPATCH or SHMEM_COMBINE (which
 * sends the same rows back); from == to: what stays in the rank's own memory.
 */
uint64_t bw_route_bytes(const struct bw_route *route, enum bw_shmem_op op, int from, int to);
/* The same for all that a rank sends, receives, and keeps. */
struct bw_shmem_bytes bw_route_bytes_of(const struct bw_route *route, enum bw_shmem_op op,
                                        int rank);
/* The rank that moves most bytes over links, one way: by it the bus factor is counted. */
int bw_route_busiest(const struct bw_route *route, enum bw_shmem_op op);

#endif
