/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_MEASURE_H
#define BW_MEASURE_H

#include "gpu.h"
#include "peak.h"
#include "plan.h"
#include "stats.h"
#include "status.h"
#include "topology.h"
#include "world.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * One loop measures any plan. It knows lanes only, through struct
 * bw_engine_ops (engine.h); the timing rules live here and nowhere else.
 */

/* How samples are taken: from the options. */
struct bw_sampling {
    uint64_t buffer_bytes;
    unsigned samples;          /* so many; 0: until `precision` is reached     */
    unsigned long long copies; /* in one sample; 0: chosen by time             */
    double precision;          /* of the median, as a fraction, for samples = 0 */
    bool use_mean;             /* the value is the mean, not the median         */
    uint64_t deadline_ns;      /* no launch begins after it; UINT64_MAX: none   */
    bool skip_verification;
    bool no_multicast;        /* as if there were none                          */
    unsigned multicast_width; /* bytes of a multicast store: 16 or 4            */
    bool bind;                /* to the NUMA node nearest to the GPU           */
    uint64_t corrupt_word;    /* test hook: after the copies, spoil this 32-bit word of each
                                 measured destination; UINT64_MAX: don't       */
    bool created_memory;      /* device memory of one process by cuMemCreate, too, so that what
                                 that costs can be told from what ranks cost */
    const struct bw_peak_override *peaks; /* --peak; borrowed              */
    size_t peak_count;
};

/* True if the time that --max-time gives is over. */
bool bw_sampling_is_over(const struct bw_sampling *sampling);

/*
 * How a copy that the host starts spends its time: of the first sample of the
 * cell's last gate. All but held_ns together is what a caller waits for from
 * his call to seeing the end; the host looks at intervals of up to 50 us.
 */
struct bw_life {
    double submit_ns;     /* the calls that put its copies into the queue               */
    double held_ns;       /* then, behind the gate: the measurement's own, no copy's    */
    double queue_ns;      /* from the gate's opening until the host saw that it began   */
    double engine_ns;     /* from its begin to its end, by events; 0: nothing is known  */
    double completion_ns; /* from then until the host saw the end                       */
};

/* One cell of a result. Zeroed: N/A without a reason. */
struct bw_cell {
    bool is_present;
    double value; /* GB/s (1e9) or ns */
    struct bw_stats stats;
    double *samples;           /* stats.n of them, in the order taken; the cell's own */
    uint64_t bytes;            /* counted in one sample; for a latency, loads         */
    uint64_t buffer_bytes;     /* of memory that it went over                    */
    unsigned long long copies; /* in one sample                              */
    bool is_precise;           /* adaptive sampling reached the precision asked for   */
    double seconds;            /* measured, all samples                               */
    double reverse_gb_per_s;   /* split-warp: the other direction's rate; NAN else */
    enum bw_status status;     /* why it is not present; BW_OK if not asked for    */
    char *reason;              /* in words; NULL if none; the cell's own           */
    bool is_doubtful;          /* present, but not to be trusted                      */
    char *doubt;               /* why not; NULL if fine, or without memory for it     */
    struct bw_life life;       /* of a copy by a GPU                                    */
    struct bw_peak peak;       /* what its link could do                                */
};

/* Everything that lives as long as the run; opened before the first testcase that needs it. */
struct bw_session {
    struct bw_world *world;       /* borrowed */
    struct bw_topology *topology; /* borrowed */
    struct bw_gpus gpus;
    int *gpu_node;            /* NUMA node nearest to each GPU, -1: unknown */
    struct bw_bench *benches; /* per GPU: what work that is not timed needs     */
    void *slips;              /* pinned: copies of what kernels report          */
    const bool *pairs;        /* borrowed: of the pairs of GPUs, those to be measured; NULL: all */
    bool wants_huge_pages;    /* warn where host memory has none */
    bool wants_created;       /* device memory by cuMemCreate */
    struct bw_pool *pool;
    struct bw_gate *gate;
    struct bw_state *state; /* of the GPUs; NULL: not watched */
    bool has_gpus;
    struct bw_world alone;          /* for testcases of one process */
    int own;                        /* this rank's GPU; 0 in one process */
    struct bw_ranks *ranks;         /* what all ranks have and share; NULL in one process */
    bool is_multicast_off;          /* by the options */
    struct bw_multicast_area *area; /* behind a multicast address; NULL: nothing asked for it */
    struct bw_twins *twins;         /* per GPU: kernels with frames; NULL: not loaded */
    uint32_t seed; /* of patterns that all ranks must know; the same in all ranks */
};

/*
 * Collective. `gpus` is listed already (bw_gpus_open) and moves into the
 * session, also on failure: close the session either way. NULL or none: host
 * testcases only.
 */
enum bw_status bw_session_open_all(struct bw_session *session, struct bw_world *world,
                                   struct bw_topology *topology, struct bw_gpus *gpus);
/* Zeroed or half-opened is fine. Collective. */
void bw_session_close_all(struct bw_session *session);

/* What operators need of each rank, in bytes. */
struct bw_operator_needs {
    uint64_t window_bytes;    /* that all ranks map; in one process it comes from elsewhere */
    uint64_t multicast_bytes; /* behind a multicast address */
};

/*
 * Memory that all ranks map, as much as these testcases and operators need,
 * and memory behind a multicast address, this in one process, too: once a run,
 * before the first of them. That it cannot be had is no error here, but the
 * testcases' waiver or reason. Collective.
 */
enum bw_status bw_session_share_all(struct bw_session *session,
                                    const struct bw_testcase *const *cases, size_t count,
                                    const struct bw_operator_needs *needs,
                                    const struct bw_sampling *sampling);

/* What a rank's GPU and host have for sharing memory. */
struct bw_rank_info {
    int visible;   /* GPUs that the rank sees */
    bool sees_all; /* those of all ranks of its host among them */
    bool has_multicast, has_imex_channel;
    const char *fabric_answer, *fd_answer; /* the driver's, when memory was to be made so */
    int fabric_state; /* NVML's: 0 not supported, 1 not started, 2 in progress, 3 completed; -1:
                         unknown */
    unsigned clique;
    char cluster[40]; /* UUID; all zero is none */
};
/* False in one process, or before the session is open. */
bool bw_session_rank(const struct bw_session *session, int rank, struct bw_rank_info *info);

/*
 * The GPU of this rank among those that it sees; 0 in one process.
 * BW_ERR_NO_GPU, logged, if there are more ranks than GPUs. Not collective.
 */
enum bw_status bw_session_choose_gpu(const struct bw_world *world, const struct bw_gpus *gpus,
                                     int *own);

/*
 * Why the ranks share no memory, as a sentence without full stop that the
 * caller frees; NULL if they do, or if that failed. Not in one process.
 */
char *bw_session_unshared(const struct bw_session *session);
/* Why there is no memory behind a multicast address, in words; NULL: there is. */
const char *bw_session_no_multicast(const struct bw_session *session);
/* By what the ranks share memory ("POSIX file descriptor"); NULL if they do not. */
const char *bw_session_shared_by(const struct bw_session *session);
/* How far apart the ranks' streams start, at most, in ns; NAN if that is not known. */
double bw_session_skew_ns(const struct bw_session *session);

/*
 * Why the testcase cannot run here, as a sentence without full stop that the
 * caller frees; NULL if it can.
 */
char *bw_session_waiver(const struct bw_session *session, const struct bw_testcase *tc);

/* Plan of a testcase for this machine. */
enum bw_status bw_session_plan(const struct bw_session *session, struct bw_plan *plan,
                               const struct bw_testcase *tc);

/*
 * Measure all cells of a plan. cells[m] is matrix m, rows x cols, row-major,
 * zeroed by the caller, who closes every cell afterwards. A failing cell keeps
 * its reason and the others go on; the worst status is returned. BW_ERR_LOST
 * and BW_ERR_NO_GPU end the testcase: the cells left have that status.
 * Collective.
 */
enum bw_status bw_measure_all(struct bw_session *session, const struct bw_plan *plan,
                              const struct bw_sampling *sampling, struct bw_cell **cells);

/* Its value is not to be trusted, and why: takes the text over, in place of what was said before;
 * NULL: no memory for it. */
void bw_cell_set_doubt(struct bw_cell *cell, char *text);
/* Zeroed is fine. */
void bw_cell_close(struct bw_cell *cell);

#endif
