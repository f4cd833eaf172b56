/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SHMEM_H
#define BW_SHMEM_H

#include "baseline.h"
#include "frames.h"
#include "measure.h"
#include "operators.h"
#include "peak.h"

#include <stdio.h>

/* Measuring operators over symmetric memory, and what is found. */

/* What one size was found to take. */
struct bw_shmem_point {
    const struct bw_operator *row; /* the algorithm that ran */
    enum bw_placement placement;
    enum bw_shmem_dtype dtype;
    uint64_t elements; /* of a shard, or of the whole */
    unsigned ctas, default_ctas, threads;
    bool has_pdl;
    int ranks;
    struct bw_stats e2e_us, kernel_us;    /* of the slowest rank, a mean over the iterations */
    double *rank_e2e_us, *rank_kernel_us; /* by rank; the point's own */
    double mean_e2e_us, mean_kernel_us;   /* over ranks */
    double staging_us;                    /* placement B: the copy alone; NAN else */
    unsigned long long iterations;        /* in a sample */
    unsigned warm;
    struct bw_shmem_figures figures;
    struct bw_shmem_bytes bytes; /* of the rank that has most */
    /* Dispatch and combine: shape.ranks is 0 for the others. */
    struct bw_route_shape route;
    struct bw_shmem_bytes *rank_bytes; /* counted, by rank; the point's own; NULL else */
    int busiest;                       /* the rank whose bytes make the bus factor */
    double operations;                 /* additions of the rank that has most */
    enum bw_shmem_pass pass;
    const struct bw_baseline_point *baseline; /* NULL: none; the run's own */
    unsigned rounds_checked;       /* with a fresh pattern each, before anything was timed */
    struct bw_frame_table *frames; /* --profile; NULL: not asked for, or it came to nothing */
    bool is_unrun;                 /* --max-time was over before its turn: BW_ERR_TIMEOUT, too */
    enum bw_status status;
    char *reason;
};

struct bw_shmem_result {
    struct bw_shmem_point *points;
    size_t count, room;
    char peak_kind[24], peak_source[240];
    bool has_perf_lines;                /* --perf */
    const struct bw_baseline *baseline; /* NULL: none was asked for; the run's own */
};
void bw_shmem_result_free(struct bw_shmem_result *result);

/*
 * Measure a row: a point for each size. The worst status is returned; points
 * keep their own. Collective.
 */
enum bw_status bw_shmem_measure_all(struct bw_session *session, const struct bw_operator *row,
                                    const struct bw_shmem_request *request,
                                    const struct bw_sampling *sampling,
                                    struct bw_shmem_result *result);

/*
 * Bytes of symmetric memory that each rank needs for the row, at the size
 * that needs most: the same in all ranks, but for one without host memory,
 * which finds more, or 0. 0 if it cannot run.
 */
uint64_t bw_shmem_window_bytes(const struct bw_session *session, const struct bw_operator *row,
                               const struct bw_shmem_request *request);

/* The same of memory behind a multicast address. */
uint64_t bw_shmem_multicast_bytes(const struct bw_session *session, const struct bw_operator *row,
                                  const struct bw_shmem_request *request);

/*
 * Why the row cannot run here, or not as asked for, in words that the caller
 * frees; NULL if it can. `is_usage` tells a contradiction from a lack.
 */
char *bw_shmem_waiver(const struct bw_session *session, const struct bw_operator *row,
                      const struct bw_shmem_request *request, bool *is_usage);

/*
 * True for such a contradiction, on whatever machine: no session is needed.
 * Then `*reason` is as above, or NULL if there was no memory to find out.
 */
bool bw_shmem_is_misuse(const struct bw_operator *row, const struct bw_shmem_request *request,
                        char **reason);

/*
 * Lanes and steps of a row, at every size and with every grid that is asked
 * for, on `ranks` GPUs like `gpus` (none: H200s), as --dry-run prints them.
 * BW_ERR_MEMORY, logged.
 */
enum bw_status bw_shmem_print_plan(const struct bw_operator *row,
                                   const struct bw_shmem_request *request,
                                   const struct bw_gpus *gpus, int ranks, FILE *out);

#endif
