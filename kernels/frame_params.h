/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device frames: what instrumented kernels record, and where. C, CUDA C and
 * C++. A frame's number never changes; new ones go to the end (FRAMES_MAX is
 * their room), with their words in src/shmem/frame_map.c and docs/METHOD.md.
 */
#ifndef BW_FRAME_PARAMS_H
#define BW_FRAME_PARAMS_H

#include <stdint.h>

enum bw_frame {
    FRAME_COPY_IN,    /* loads of this GPU's own input                                */
    FRAME_COPY_OUT,   /* what is stored to, or within, this GPU's own memory as it is */
    FRAME_TRANSPORT,  /* the loop around all moves; what is inside has frames, too    */
    FRAME_REMOTE_PUT, /* stores to peers                                              */
    FRAME_REMOTE_GET, /* loads from peers, and what combine by pull adds up of them           */
    FRAME_ENTRY_WAIT, /* for "you may write", or "you may read"                       */
    FRAME_DATA_WAIT,  /* for "all is there"                                           */
    FRAME_TILE_WAIT,  /* for "so many tiles are there"                                */
    FRAME_WORD_WAIT,  /* for words that carry their own flag                          */
    FRAME_PUBLISH,    /* a block's barrier, the release, the signal's store           */
    FRAME_BULK_WAIT,  /* for groups of bulk stores                                    */
    FRAME_REDUCE,     /* sums, with the loads of what is summed up from own memory    */
    FRAME_LAYOUT,     /* routes, packing, permuting                                   */
    FRAME_FINALIZE,   /* stores of results, and putting back what the next one needs  */
    FRAME_COUNT,
    FRAMES_MAX = 16,
};

/* One frame of one block in one launch, in cycles of its multiprocessor. */
struct bw_frame_record {
    uint32_t count;   /* times that it was entered; 0: what follows is not written */
    uint32_t parents; /* bit 1 + f: it was inside frame f; bit 0: inside of none     */
    uint64_t sum;
    uint64_t children; /* of the sum, what frames inside took */
    uint64_t min, max, first, last;
};

/* One block in one launch. Times are the GPU's timer, which is another one on each GPU. */
struct bw_frame_cta {
    uint64_t begin_ns, end_ns;
    uint64_t cycles; /* between the two, by the multiprocessor's clock */
    uint32_t sm;
    uint32_t is_written; /* 1 */
    struct bw_frame_record frames[FRAMES_MAX];
};

/* Of a launch: record b of slot `slot` is block b's. */
struct bw_frame_args {
    uint64_t records; /* struct bw_frame_cta [slots][ctas]; 0: nothing is recorded */
    uint32_t ctas;    /* the grid's blocks */
    uint32_t slot;
    uint32_t is_sync; /* a barrier of the block at the edges of frames that all its threads pass */
    uint32_t rank;
};

/* What bw_frame_tick finds: how often, and in which steps, the GPU's timer went on. */
struct bw_frame_tick {
    uint64_t smallest_ns, divisor_ns; /* smallest step; the greatest that divides all of them */
    uint64_t first_ns, last_ns;
    uint32_t changes, reads;
};

#endif
