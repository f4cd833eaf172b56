/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_FRAMES_H
#define BW_FRAMES_H

#include "frame_params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where an operator's kernel spends its time: what its twin with frames
 * recorded (kernels/frame_params.h), summed up for each rank, and the table
 * over all ranks. Pure.
 */

enum bw_profile_mode {
    PROFILE_OFF,
    PROFILE_LIGHT, /* the clock is read, and nothing else */
    PROFILE_SYNC,  /* with a barrier of the block at frames' edges, where all its threads pass */
};
/* "light", "sync" */
const char *bw_profile_mode_name(enum bw_profile_mode mode);
/* False if there is none of that name. */
bool bw_profile_mode_find(const char *name, enum bw_profile_mode *mode);

enum bw_frame_class {
    FRAMES_OF_COPY,
    FRAMES_OF_REMOTE,
    FRAMES_OF_WAIT,
    FRAMES_OF_COMPUTE,
    FRAMES_OF_FINALIZE,
    FRAME_CLASSES
};
/* "copy_in/copy_out", "remote_put_get", ... */
const char *bw_frame_class_name(enum bw_frame_class of);

/* The frame map: what each number stands for, for ever. */
struct bw_frame_info {
    const char *name;
    enum bw_frame_class of;
    const char *contents;
};
extern const struct bw_frame_info bw_frame_map[FRAME_COUNT];

/* One frame on one rank. Times are of a launch: all entries of it together. */
struct bw_frame_sum {
    unsigned blocks;               /* that entered it; 0: all else is 0 */
    unsigned count_min, count_max; /* entries of one of those in a launch */
    uint32_t parents;        /* bit 1 + f: it was seen inside frame f; bit 0: inside of none */
    double incl_us, self_us; /* mean over all blocks; self: without the frames inside */
    double max_us;           /* incl. of the block that took longest; which: */
    int max_block, max_sm;
    double call_min_us, call_max_us; /* a single entry */
    double first_us, last_us;        /* the first entry and the last one, mean over its blocks */
};

/* A rank's recorded launches. Plain data: ranks send it to each other. */
struct bw_frame_rank {
    unsigned launches, blocks;
    double ghz, ghz_min, ghz_max;          /* cycles in a ns: of all launches, of one */
    double window_us;                      /* a block's begin to its end, mean */
    double dev_us, dev_min_us, dev_max_us; /* last block's end - first one's begin; median */
    struct bw_frame_sum frames[FRAME_COUNT];
    struct bw_frame_tick tick;
};

/*
 * Sum up `launches` x `blocks` records, launch after launch. NULL, or why they
 * are of no use.
 */
const char *bw_frame_rank_sum(struct bw_frame_rank *rank, const struct bw_frame_cta *records,
                              unsigned launches, unsigned blocks);

/* A line of the table: a frame on all ranks. */
struct bw_frame_row {
    enum bw_frame frame;
    uint32_t parents;
    double avg_us;      /* of a launch, mean over the blocks that entered it */
    double max_core_us; /* of the slowest block; which: */
    int max_rank, max_block, max_sm;
    unsigned count_min, count_max;
    double incl_us, self_us; /* of a launch, mean over all blocks of all ranks */
    double share_pct;        /* self of e2e */
    bool is_largest;         /* share of all */
    bool is_tail;            /* max_core_us / avg_us is above BW_FRAME_TAIL */
};
#define BW_FRAME_TAIL         1.5
#define BW_FRAME_PERTURBATION 1.05

struct bw_frame_table {
    enum bw_profile_mode mode;
    char *reason;        /* why there are no frames; the table's own; NULL: there are */
    double messages;     /* in a launch: more than 1 of a ping-pong */
    double e2e_us;       /* of a launch with frames, slowest rank: what shares are of */
    double kernel_us;    /* likewise, without moves outside of it */
    double plain_us;     /* kernel_us of the plain kernel */
    double perturbation; /* kernel_us / plain_us */
    double dev_us;       /* of the slowest rank */
    double gap_us;       /* of that rank: kernel_us - dev_us, its launch gap and drain */
    struct bw_frame_row rows[FRAME_COUNT];
    size_t count;
    double inside_us;                         /* of blocks' windows, what is in no frame, mean */
    double outside_us;                        /* of e2e_us, what is in no block's window, mean */
    double unattributed_us, unattributed_pct; /* both: shares and this are 100 % */
    struct bw_frame_rank *ranks;              /* the table's own */
    double *rank_kernel_us;                   /* likewise */
    int rank_count;
};

/*
 * Rows, shares and what is unattributed from ranks and times, which are set
 * already. Rows are in the order of frames.
 */
void bw_frame_table_fill(struct bw_frame_table *table);
void bw_frame_table_free(struct bw_frame_table *table);

/* True if some frame of that class was entered. */
bool bw_frame_table_has(const struct bw_frame_table *table, enum bw_frame_class of);

#endif
