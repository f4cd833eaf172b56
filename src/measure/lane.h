/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_LANE_H
#define BW_LANE_H

#include "bwtool/measure.h"

#include <stdint.h>

/*
 * A lane at work: one issuer that repeats its steps, and how to drive it. The
 * loop (loop.c) knows lanes through their operations only.
 */

/* Most samples in one round: a lane has that many events. */
enum { BW_ROUND_SAMPLES_MAX = 32 };

/*
 * Most entries that a lane queues behind a gate: 1,021 copies, launches or sets
 * fit, then the call that queues waits. Events that take the time, as a lane's
 * do, may be counted, too.
 */
enum { BW_ROUND_ENTRIES_MAX = 400 };

/* One gate's worth of work. */
struct bw_round {
    unsigned samples;          /* spans of time that are told apart          */
    unsigned long long copies; /* in each                                    */
    unsigned warm;             /* copies before, not measured                */
    double load_factor;        /* load does this times as much as is measured */
    uint32_t seed;             /* of the pattern: new for each gate          */
};

struct bw_lane;

/* What warms up in front of a gate takes 4 s at 1 GB/s, slower than any link that is well; the gate
 * waits 20 s for it. */
#define BW_WARM_BYTES_MAX UINT64_C(4000000000)

struct bw_engine_ops {
    /* Copies that one entry of a queue does at most; the loop keeps rounds below the queue's
     * length. */
    unsigned long long copies_per_entry;
    /* Its kernels wait for each other: whether one gave up is asked even if no bytes are compared.
     */
    bool has_waits;
    /* Why the lane cannot work here, for the caller to free; NULL if it can. May be NULL itself. */
    char *(*waiver)(const struct bw_lane *lane);
    /* Get buffers and handles. Once a launch. */
    enum bw_status (*prepare)(struct bw_lane *lane);
    /* Some untimed work, waited for; NULL where there is nothing to warm. */
    enum bw_status (*warm)(struct bw_lane *lane);
    /* Start writing what is to be copied; bw_session_settle() waits for it. */
    enum bw_status (*fill)(struct bw_lane *lane, const struct bw_round *round);
    /* Queue warm-up, poison, hold, and the timed work. Nothing timed starts before the release. */
    enum bw_status (*enqueue)(struct bw_lane *lane, const struct bw_round *round);
    /* Let go what the gate itself does not hold; NULL if there is none. */
    void (*release)(struct bw_lane *lane);
    /* Wait, with a deadline that each finished sample renews, until all timed work is done. */
    enum bw_status (*wait)(struct bw_lane *lane, const struct bw_round *round);
    /* After the wait, for load: time from the common start to its end, in ns. */
    enum bw_status (*load_time)(struct bw_lane *lane, double *load_ns);
    /* Time from the common start to the end of each sample, in ns, into marks[round->samples]. */
    enum bw_status (*elapsed)(struct bw_lane *lane, const struct bw_round *round, double *marks_ns);
    /* Start comparing what arrived; bw_session_settle() waits for it. */
    enum bw_status (*verify)(struct bw_lane *lane, const struct bw_round *round);
    /* BW_ERR_VERIFY, logged with all that is known, if it is not what was sent. */
    enum bw_status (*verdict)(struct bw_lane *lane, const struct bw_round *round);
    /* Zeroed or half prepared is fine. */
    void (*finish)(struct bw_lane *lane);
};

extern const struct bw_engine_ops bw_engine_ce, bw_engine_sm, bw_engine_cpu;

/* A structure that a kernel fills: in memory of the GPU that runs it, and its copy in pinned
 * memory. */
struct bw_slip {
    CUdeviceptr device;
    void *host;
};

/* One direction of bytes. */
struct bw_path {
    CUdeviceptr src, dst;
    CUdeviceptr seen; /* where whoever owns the destination finds it: not at a multicast address */
    struct bw_end src_end, dst_end;
    struct bw_slip check;
};

enum { BW_PATHS_MAX = 2 };

struct bw_lane {
    const struct bw_engine_ops *ops;
    struct bw_session *session;
    const struct bw_sampling *sampling;
    const struct bw_plan *plan;
    const struct bw_lane_plan *lane_plan;
    const struct bw_step *step;
    unsigned number;   /* in its launch */
    bool is_elsewhere; /* another rank issues it; here it is filled or compared, if at all */
    uint64_t bytes;    /* in one copy; for a latency, in its list  */
    uint64_t unit;     /* what one copy counts: its bytes or loads */
    unsigned entries_per_copy; /* of the queue; 1, but for a chase in many parts */

    /* GPU engines */
    const struct bw_gpu *gpu;           /* the issuer; NULL where that is elsewhere */
    struct bw_path paths[BW_PATHS_MAX]; /* the second: what a split-warp kernel copies back */
    unsigned path_count;
    CUstream stream;
    /* The life of the round's first sample: by the host's clock, and by events. */
    uint64_t begun_ns, submitted_ns /* 0: not queued */, released_ns, seen_begun_ns, seen_ended_ns;
    struct bw_life life;
    CUevent *events; /* start, and the end of each sample */
    unsigned event_count;
    struct bw_slip work;  /* of kernels that report; an array of one a sample */
    double reverse_bytes; /* split-warp: moved the other way in all samples so far       */
    double reverse_ns;

    /* CPU engine */
    struct bw_cpu_job *job;
    bool is_started; /* and waits for its release */
    double sample_ns[BW_ROUND_SAMPLES_MAX];
};

/* "Host" or "Device 3", for messages. */
const char *bw_end_text(const struct bw_lane *lane, struct bw_end end, char *text, size_t room);

/* Log what a comparison found. Returns BW_ERR_VERIFY. */
enum bw_status bw_lane_mismatch(const struct bw_lane *lane, struct bw_end src, struct bw_end dst,
                                uint64_t wrong_bytes, uint64_t first, uint32_t expected,
                                uint32_t got);

#endif
