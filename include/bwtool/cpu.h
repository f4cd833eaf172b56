/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CPU_H
#define BW_CPU_H

#include "status.h"
#include "topology.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The CPU as an engine: threads pinned to the cores of a NUMA node copy, read,
 * write or chase pointers in memory of chosen nodes. The caller decides how
 * often; in order: open, fill, start(1, 1), release, wait (a warm-up), poison,
 * start, release, wait, check, close. One thread drives a job. Calls are
 * logged by whoever finds an error, here or below.
 *
 * Bytes of a copy are counted once. Copies and writes use stores that go
 * around the caches, where the machine has such; so no bytes are read but
 * the source's. A read smaller than the caches is served by them.
 */

enum bw_cpu_op {
    CPU_COPY,  /* source to destination                                       */
    CPU_READ,  /* the source is summed up; the sum is checked                 */
    CPU_WRITE, /* the destination gets the pattern                            */
    CPU_CHASE, /* dependent loads by one thread, a random cycle in the source */
};

struct bw_cpu_spec {
    enum bw_cpu_op op;
    int cpu_node;           /* whose CPUs work                                       */
    int src_node, dst_node; /* where memory is; the one that `op` lacks is not used  */
    size_t bytes;           /* at least 1 KiB; CHASE, 0: beyond the caches, as below  */
};

/*
 * A cycle of pointers covers four times the last cache that its CPU has, at
 * least 64 MiB; of caches above 256 MiB 1 GiB or twice the cache; and never
 * more than half of what is free. It is written around the caches.
 */

struct bw_cpu_job; /* opaque */

/* Why there can be no such job here, for the caller to free; NULL if there can. */
char *bw_cpu_waiver(const struct bw_topology *topology, const struct bw_cpu_spec *spec);

/*
 * Start the threads, allocate and touch the memory on its nodes, in huge pages
 * where there are any. BW_WAIVED if bw_cpu_waiver() says so. BW_ERR_MEMORY says
 * how much was asked for and how much is free. `topology` must outlive the job.
 */
enum bw_status bw_cpu_job_open(struct bw_cpu_job **job, const struct bw_topology *topology,
                               const struct bw_cpu_spec *spec);
/*
 * NULL is fine, and so is a job that runs: it is stopped. Threads that do not
 * come back in time are left alone, with the memory that they use: said.
 */
void bw_cpu_job_close(struct bw_cpu_job *job);

int bw_cpu_job_threads(const struct bw_cpu_job *job);
/* Size of the buffer; for a CHASE, what the cycle covers. */
size_t bw_cpu_job_bytes(const struct bw_cpu_job *job);
/* What a "copy" is: the bytes that it moves or, for a CHASE, its loads. */
uint64_t bw_cpu_job_unit(const struct bw_cpu_job *job);
/* True if nearly all of its memory is in huge pages. */
bool bw_cpu_job_is_huge(const struct bw_cpu_job *job);
/* What moves the bytes: "avx512", "avx2", "sse2", "neon" or "portable". */
const char *bw_cpu_job_kernel(const struct bw_cpu_job *job);

/* Give the source its pattern. */
enum bw_status bw_cpu_job_fill(struct bw_cpu_job *job, uint64_t seed);
/* Make every byte of the destination differ from the pattern. Nothing to do for READ and CHASE. */
enum bw_status bw_cpu_job_poison(struct bw_cpu_job *job, uint64_t seed);

/*
 * Let the threads get ready for so many samples of so many copies each (both
 * at least 1); they then wait for bw_cpu_job_release().
 */
enum bw_status bw_cpu_job_start(struct bw_cpu_job *job, uint64_t copies, size_t samples);
void bw_cpu_job_release(struct bw_cpu_job *job);

/*
 * Wait for their end, at most until `deadline_ns` on bw_clock_ns()'s clock.
 * sample_ns[i], as many as were started, is the time from the first thread's
 * start, behind a barrier, to the last one's end, its stores being in memory.
 * BW_ERR_TIMEOUT stops the threads: such a job can only be closed.
 */
enum bw_status bw_cpu_job_wait(struct bw_cpu_job *job, uint64_t deadline_ns, double *sample_ns);

/* What a check found; no error: wrong_bytes is 0. */
struct bw_cpu_check {
    uint64_t wrong_bytes;   /* a lower bound if is_sum                               */
    uint64_t first_offset;  /* of the first wrong byte; 0 if is_sum                  */
    uint64_t expected, got; /* the aligned 64-bit word that it is in, bytes past the
                               buffer's end as 0; or the two sums                    */
    bool is_sum;            /* the buffer is right, but what was read from it is not  */
};

/*
 * Compare every byte of the destination (READ and CHASE: of the source, and of
 * what was read: the sum of all passes, the way through the cycle) with the
 * pattern that fill() and poison() were told. BW_ERR_VERIFY, logged, if it differs.
 */
enum bw_status bw_cpu_job_check(struct bw_cpu_job *job, uint64_t seed, struct bw_cpu_check *check);

/* For tests: spoil the 32-bit word `word` (modulo their number) of what check() compares. */
void bw_cpu_job_corrupt(struct bw_cpu_job *job, uint64_t word);

#endif
