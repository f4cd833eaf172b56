/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_HOST_JOB_H
#define BW_HOST_JOB_H

#include "bwtool/cpu.h"
#include "chain.h"
#include "map.h"
#include "pass.h"
#include "workers.h"

/* What cpu.c, which opens a job, and job.c, which runs it, share; and their tests. */

/* Threads look after every piece whether they shall stop. */
#define JOB_PIECE_BYTES ((size_t)4 << 20)
#define JOB_GRACE_NS    UINT64_C(10000000000)

/* A thread's part, on cache lines of its own. */
struct slice {
    _Alignas(128) size_t begin, end; /* bytes; begin is a multiple of a page */
    uint64_t begin_ns, end_ns;       /* of the sample under way              */
    uint64_t sum;                    /* READ: of all passes                  */
    const void *at;                  /* CHASE: where the next load is from   */
    uint64_t wrong_bytes, first_offset;
};

struct bw_cpu_job {
    struct bw_cpu_spec spec;
    const struct bw_topology *topology; /* borrowed */
    const struct bw_pass *pass;
    struct bw_workers *workers;
    struct slice *slices; /* one a thread */
    size_t bytes;
    struct bw_map src, dst;
    struct bw_chain chain;
    uint64_t grace_ns; /* for threads to come back in at the end */
    bool is_dead;      /* a thread did not come back in time     */

    uint64_t seed, copies;
    size_t samples, sample; /* asked for; under way         */
    double *sample_ns;
    uint64_t passes; /* that READ and CHASE made since fill(), to check their sum and place */
};

/* BW_ERR_TIMEOUT, logged, if threads are still out: then nothing of the job may be touched. */
enum bw_status bw_cpu_job_alive(const struct bw_cpu_job *job);

/* Let all threads of a job that is alive do `work`, and wait for them. */
enum bw_status bw_cpu_job_do(struct bw_cpu_job *job, bw_work *work);

#endif
