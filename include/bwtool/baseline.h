/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_BASELINE_H
#define BW_BASELINE_H

#include "measure.h"
#include "operators.h"
#include "route.h"

/*
 * NCCL beside the operators: what it takes for the same operator, size, dtype
 * and number of ranks. It is measured by a process of its own that drives all
 * GPUs (cli/), and told to the one that reports; here is what is told, and how
 * it is measured. NCCL is a black box: its e2e latency is its kernel latency.
 */

/* What memory NCCL works on. Placement R is held against REGISTERED, A and B against PLAIN. */
enum bw_baseline_class { BASELINE_PLAIN, BASELINE_REGISTERED, BASELINE_CLASSES };
/* How its calls come to the GPUs: each queued by the host, or captured and launched as a graph. */
enum bw_baseline_mode { BASELINE_LAUNCH, BASELINE_GRAPH, BASELINE_MODES };
/* "plain", "registered"; "launch", "graph" */
const char *bw_baseline_class_name(enum bw_baseline_class kind);
const char *bw_baseline_mode_name(enum bw_baseline_mode mode);
enum bw_baseline_class bw_baseline_class_for(enum bw_placement placement);

enum { BW_BASELINE_REASON = 240 };

/* One way: microseconds of an iteration, medians over samples, or means where those are asked for.
 * Zeroed is "not measured". */
struct bw_baseline_taken {
    bool is_there;
    double us; /* of the slowest rank */
    double min_us, max_us, cv;
    unsigned samples;
    unsigned long long iterations; /* in a sample */
    double rank_us[BW_SHMEM_RANKS_MAX];
    char reason[BW_BASELINE_REASON]; /* why it is not there; "" if it was not tried */
};

/* One operator at one size. */
struct bw_baseline_point {
    enum bw_shmem_op op;
    enum bw_shmem_dtype dtype;
    int ranks;
    uint64_t elements, payload_bytes;
    char api[32]; /* "ncclAllReduce"; "none" */
    double bus_factor;
    bool is_counted;                        /* dispatch and combine: from their routes */
    double rank_factor[BW_SHMEM_RANKS_MAX]; /* then: of each rank's own bytes */
    char route[160];                        /* then: what makes the same routes again; else "" */
    bool is_checked;                        /* every byte of its output was compared */
    struct bw_baseline_taken taken[BASELINE_CLASSES][BASELINE_MODES];
    char doubt[BW_BASELINE_REASON];  /* why what was measured is not to be relied on; "" */
    char reason[BW_BASELINE_REASON]; /* why there is nothing at all; "" */
};

struct bw_baseline {
    char version[24];                /* "2.28.3"; "" if it was not even loaded              */
    char nvls[16];                   /* NCCL_NVLS_ENABLE as NCCL saw it; "unset"            */
    char reason[BW_BASELINE_REASON]; /* why there is none, or why it is not whole; ""       */
    bool is_absent;                  /* there is no NCCL here that will do                  */
    double settle_s;                 /* the GPUs were left alone before anything else       */
    bool is_alone;                   /* nothing but it was asked for                        */
    struct bw_baseline_point *points;
    size_t count, room;
};

/* Zeroed is fine; the points are freed. */
void bw_baseline_free(struct bw_baseline *baseline);
/* A zeroed point at the end, valid until the next one; NULL, logged, without memory. */
struct bw_baseline_point *bw_baseline_add(struct bw_baseline *baseline);
/* NULL if there is no such point. */
const struct bw_baseline_point *bw_baseline_find(const struct bw_baseline *baseline,
                                                 enum bw_shmem_op op, enum bw_shmem_dtype dtype,
                                                 int ranks, uint64_t payload_bytes);

/* The better mode of a class; NULL: none was measured. `mode` may be NULL. */
const struct bw_baseline_taken *bw_baseline_of_class(const struct bw_baseline_point *point,
                                                     enum bw_baseline_class kind,
                                                     enum bw_baseline_mode *mode);
/* The best of all classes and modes, likewise. */
const struct bw_baseline_taken *bw_baseline_best(const struct bw_baseline_point *point,
                                                 enum bw_baseline_class *kind,
                                                 enum bw_baseline_mode *mode);
/* Why a class has nothing, in words; "" if it has. */
const char *bw_baseline_reason(const struct bw_baseline_point *point, enum bw_baseline_class kind);

/* Payload and rates of so many microseconds; of one rank, with its own bytes where they count. */
struct bw_shmem_figures bw_baseline_figures(const struct bw_baseline_point *point, double us);
struct bw_shmem_figures bw_baseline_rank_figures(const struct bw_baseline_point *point, int rank,
                                                 double us);

/* Why nothing is to be held against a class, although it was measured; "" if something is. */
const char *bw_baseline_doubt(const struct bw_baseline_point *point, enum bw_baseline_class kind);

/*
 * True if `point` is of what the request has the row measure at its first size, where there are
 * `ranks` GPUs. Not `is_exact`: of a point that has no size, its reason would be the same.
 */
bool bw_baseline_answers(const struct bw_baseline_point *point, const struct bw_operator *row,
                         const struct bw_shmem_request *request, int ranks, bool is_exact);

/* What makes the same routes again, in one line. */
void bw_baseline_route_text(const struct bw_route_shape *shape, char *text, size_t room);

struct bw_shmem_result;
/* Give every point of an operator its baseline, and the verdict that follows from it: none from
 * one that is in doubt. */
void bw_baseline_join(const struct bw_baseline *baseline, struct bw_shmem_result *result);

/* --- measuring; in the process that is the baseline's own --------------------------------------
 */

struct bw_baseline_job;

/*
 * Load NCCL and make its communicators, for all GPUs of the session. On
 * failure too: close it. BW_WAIVED, logged, if there is no NCCL that will do.
 */
enum bw_status bw_baseline_open(struct bw_baseline_job **job, struct bw_session *session);
void bw_baseline_close(struct bw_baseline_job *job);
/* Version and NVLS, as far as it has come. */
void bw_baseline_describe(const struct bw_baseline_job *job, struct bw_baseline *baseline);

/*
 * Measure a row at every size that is asked for, each once, and call `tell`
 * for each point. What cannot be measured has its reason. The worst status of
 * what ends everything is returned: BW_ERR_LOST, a timeout, or what `tell` said.
 */
typedef enum bw_status bw_baseline_tell(void *to, const struct bw_baseline_point *point);
enum bw_status bw_baseline_measure(struct bw_baseline_job *job, const struct bw_operator *row,
                                   const struct bw_shmem_request *request,
                                   const struct bw_sampling *sampling, bw_baseline_tell *tell,
                                   void *to);

#endif
