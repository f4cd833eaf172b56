/* SPDX-License-Identifier: Apache-2.0 */
#include "job.h"
#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Filling and checking: as long as the slowest memory takes, and a minute. */
static uint64_t own_deadline(const struct bw_cpu_job *job)
{
    return bw_clock_ns() + UINT64_C(60000000000) + (uint64_t)job->bytes * 20;
}

enum bw_status bw_cpu_job_alive(const struct bw_cpu_job *job)
{
    if (job->is_dead) {
        bw_error("CPU threads that did not come back cannot go on");
        return BW_ERR_TIMEOUT;
    }
    return BW_OK;
}

enum bw_status bw_cpu_job_do(struct bw_cpu_job *job, bw_work *work)
{
    bw_workers_post(job->workers, work, job);
    if (bw_workers_wait(job->workers, own_deadline(job)) != BW_OK) {
        job->is_dead = true;
        bw_error("CPU threads did not come back from filling or checking memory");
        return BW_ERR_TIMEOUT;
    }
    return BW_OK;
}

static void fill_slice(void *context, int index)
{
    struct bw_cpu_job *job = context;
    struct slice *slice = &job->slices[index];
    const uint64_t first = bw_pattern_first(job->seed);

    slice->sum = 0;
    slice->at = job->src.data;
    if (job->spec.op == CPU_CHASE) {
        bw_chain_write(&job->chain, job->src.data, first, job->pass);
    } else {
        job->pass->write((char *)job->src.data + slice->begin, slice->end - slice->begin,
                         first + slice->begin / 8 * BW_PATTERN_STEP, BW_PATTERN_STEP);
        job->pass->fence();
    }
}

enum bw_status bw_cpu_job_fill(struct bw_cpu_job *job, uint64_t seed)
{
    enum bw_status st = BW_OK;

    TRY(bw_cpu_job_alive(job)); /* first: threads that are still out look at the rest */
    job->seed = seed;
    job->passes = 0;
    if (job->src.data != NULL) {
        TRY(bw_cpu_job_do(job, fill_slice));
    }
out:
    return st;
}

static void poison_slice(void *context, int index)
{
    struct bw_cpu_job *job = context;
    const struct slice *slice = &job->slices[index];
    const uint64_t first = bw_pattern_first(job->seed) + slice->begin / 8 * BW_PATTERN_STEP;

    /* the complement of first + i * step is ~first - i * step */
    job->pass->write((char *)job->dst.data + slice->begin, slice->end - slice->begin, ~first,
                     UINT64_C(0) - BW_PATTERN_STEP);
    job->pass->fence();
}

enum bw_status bw_cpu_job_poison(struct bw_cpu_job *job, uint64_t seed)
{
    enum bw_status st = BW_OK;

    TRY(bw_cpu_job_alive(job));
    job->seed = seed;
    if (job->dst.data != NULL) {
        TRY(bw_cpu_job_do(job, poison_slice));
    }
out:
    return st;
}

/* One copy's part of one thread. False: told to stop. */
static bool one_pass(struct bw_cpu_job *job, struct slice *slice)
{
    const uint64_t first = bw_pattern_first(job->seed);

    for (size_t i = slice->begin; i < slice->end; i += JOB_PIECE_BYTES) {
        const size_t left = slice->end - i;
        const size_t bytes = left < JOB_PIECE_BYTES ? left : JOB_PIECE_BYTES;
        const char *src = job->src.data; /* NULL where the operation has none */
        char *dst = job->dst.data;

        switch (job->spec.op) {
        case CPU_COPY:
            job->pass->copy(dst + i, src + i, bytes);
            break;
        case CPU_READ:
            slice->sum += job->pass->read(src + i, bytes);
            break;
        case CPU_WRITE:
            job->pass->write(dst + i, bytes, first + i / 8 * BW_PATTERN_STEP, BW_PATTERN_STEP);
            break;
        case CPU_CHASE:
            break;
        }
        if (bw_workers_is_stopped(job->workers)) {
            return false;
        }
    }
    return true;
}

static bool one_copy(struct bw_cpu_job *job, struct slice *slice)
{
    if (job->spec.op == CPU_CHASE) {
        slice->at = bw_chain_follow(slice->at, bw_cpu_job_unit(job));
        return !bw_workers_is_stopped(job->workers);
    }
    return one_pass(job, slice);
}

/* By the last thread at the barrier: what lies behind it is over, on all of them. */
static void close_sample(void *context)
{
    struct bw_cpu_job *job = context;
    const int threads = bw_workers_count(job->workers);
    uint64_t begin = UINT64_MAX;
    uint64_t end = 0;

    if (job->sample > 0) {
        for (int i = 0; i < threads; i++) {
            const struct slice *slice = &job->slices[i];

            begin = slice->begin_ns < begin ? slice->begin_ns : begin;
            end = slice->end_ns > end ? slice->end_ns : end;
        }
        job->sample_ns[job->sample - 1] = (double)(end - begin);
    }
    job->sample++;
}

static void run_slice(void *context, int index)
{
    struct bw_cpu_job *job = context;
    struct slice *slice = &job->slices[index];

    if (!bw_workers_hold(job->workers)) {
        return;
    }
    for (size_t sample = 0; sample < job->samples; sample++) {
        if (!bw_workers_meet(job->workers, close_sample, job)) {
            return;
        }
        slice->begin_ns = bw_clock_ns();
        for (uint64_t copy = 0; copy < job->copies; copy++) {
            if (!one_copy(job, slice)) {
                return;
            }
        }
        job->pass->fence();
        slice->end_ns = bw_clock_ns();
    }
    (void)bw_workers_meet(job->workers, close_sample, job);
}

enum bw_status bw_cpu_job_start(struct bw_cpu_job *job, uint64_t copies, size_t samples)
{
    if (bw_cpu_job_alive(job) != BW_OK) {
        return BW_ERR_TIMEOUT;
    }
    free(job->sample_ns);
    job->sample_ns = calloc(samples, sizeof(*job->sample_ns));
    if (job->sample_ns == NULL) {
        return bw_errno("times of %zu samples", samples);
    }
    job->copies = copies;
    job->samples = samples;
    job->sample = 0;
    bw_workers_shut(job->workers);
    bw_workers_post(job->workers, run_slice, job);
    return BW_OK;
}

void bw_cpu_job_release(struct bw_cpu_job *job)
{
    bw_workers_release(job->workers);
}

enum bw_status bw_cpu_job_wait(struct bw_cpu_job *job, uint64_t deadline_ns, double *sample_ns)
{
    if (job->is_dead || bw_workers_wait(job->workers, deadline_ns) != BW_OK) {
        job->is_dead = true;
        bw_error("CPU threads of NUMA node %d did not end in time: %zu samples of %" PRIu64
                 " copies",
                 bw_topology_node_os_index(job->topology, job->spec.cpu_node), job->samples,
                 job->copies);
        return BW_ERR_TIMEOUT;
    }
    memcpy(sample_ns, job->sample_ns, job->samples * sizeof(*sample_ns));
    job->passes += job->copies * job->samples;
    return BW_OK;
}
