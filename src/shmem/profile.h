/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SHMEM_PROFILE_H
#define BW_SHMEM_PROFILE_H

#include "shmem.h"

#include "bwtool/memory.h"

/*
 * --profile: a point's programs once more, with the kernels that have frames,
 * behind the plain ones, which alone make the results.
 */

/* Launches of which records are kept: the last ones. */
enum { SHMEM_PROFILE_LAUNCHES = 40 };

struct shmem_profile {
    bool is_sync;
    struct shmem_profile_rank {
        CUfunction function;         /* the twin */
        struct bw_buffer records;    /* struct bw_frame_cta [SHMEM_PROFILE_LAUNCHES][ctas] */
        bool is_recording;           /* not while warming up */
        unsigned long long launches; /* recorded */
    } rank[BW_SHMEM_RANKS_MAX];
};

/* The function that a launch of the row's kernel on rank r is of. */
CUfunction shmem_profile_function(const struct shmem_case *c, int r);
/* Where a launch of rank r writes its records; counts it. Without a profile: nowhere. */
struct bw_frame_args shmem_profile_args(struct shmem_case *c, int r);
/* From here on, launches of rank r are recorded, or no longer. */
void shmem_profile_record(struct shmem_case *c, int r, bool is_recording);

/* Room for a rank's records, in bytes. */
size_t shmem_profile_bytes(const struct shmem_case *c);
/* Why this row's kernel has no frames; NULL if it has. */
const char *shmem_profile_why_none(const struct shmem_case *c);
/* Fetch and sum up all ranks' records into the table, or why not. Collective. */
enum bw_status shmem_profile_sum_all(struct shmem_case *c, struct bw_frame_table *table);

/*
 * Measure what `point` measured, with frames, into point->frames. What keeps
 * frames from being there is said in the table, and fails nothing; what fails
 * is a twin that hangs, is lost or leaves wrong data. Collective.
 */
enum bw_status shmem_profile_all(struct shmem_case *c, const struct bw_sampling *sampling,
                                 struct bw_shmem_point *point);

#endif
