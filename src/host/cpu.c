/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/text.h"
#include "job.h"

#include <stdlib.h>
#include <string.h>

/* Opening and closing a job, and what can be asked about it; job.c does the work. */

enum {
    BYTES_MIN = 1024,
    SLICE_MIN = 32 << 10, /* a thread with less costs more than it brings              */
    SLICE_ALIGN = 4096,   /* no two threads on one page                                */
    CHASE_BYTES_MIN = 64 << 20,
    CHASE_CACHES = 4, /* of the last cache: filled around the caches, none of it is in them */
    CHASE_BYTES_MANY = 1 << 30, /* from there on, twice the cache will do */
    CHASE_LOADS = 1 << 16,      /* in a "copy": some 6 ms                                    */
};

char *bw_cpu_waiver(const struct bw_topology *topology, const struct bw_cpu_spec *spec)
{
    if (bw_topology_node_cpus(topology, spec->cpu_node) == 0) {
        return bw_text_reason("NUMA node %d has no CPU that this process may use",
                              bw_topology_node_os_index(topology, spec->cpu_node));
    }
    return NULL;
}

static bool has_src(enum bw_cpu_op op)
{
    return op != CPU_WRITE;
}

static bool has_dst(enum bw_cpu_op op)
{
    return op == CPU_COPY || op == CPU_WRITE;
}

/* Larger than what the caches hold, unless that is more than the machine can spare. */
static size_t chase_bytes(const struct bw_topology *topology, const struct bw_cpu_spec *spec)
{
    const size_t half = bw_topology_node_free_bytes(topology, spec->src_node) / 2;
    const size_t cache = bw_topology_cache_bytes(topology, spec->cpu_node);
    size_t bytes = CHASE_CACHES * cache;

    if (spec->bytes > 0) {
        bytes = spec->bytes;
    } else {
        bytes = bytes > CHASE_BYTES_MIN ? bytes : CHASE_BYTES_MIN;
        if (bytes > CHASE_BYTES_MANY) {
            bytes = 2 * cache > CHASE_BYTES_MANY ? 2 * cache : CHASE_BYTES_MANY;
        }
        if (bytes > half && half >= CHASE_BYTES_MIN) {
            bw_warn("the pointer cycle covers %zu MiB, half of what is free: %zu MiB would be "
                    "more certain to be beyond a cache of %zu MiB",
                    half >> 20, bytes >> 20, cache >> 20);
            bytes = half;
        }
    }
    return bytes / BW_CHAIN_LINE * BW_CHAIN_LINE;
}

/*
 * One thread a core: hardware threads of a core share its buffers for lines
 * under way, which is what limits a stream.
 */
static int thread_count(const struct bw_topology *topology, const struct bw_cpu_job *job)
{
    const size_t cores = (size_t)bw_topology_node_cores(topology, job->spec.cpu_node);
    const size_t useful = job->bytes / SLICE_MIN;

    if (job->spec.op == CPU_CHASE || useful < 2) {
        return 1;
    }
    return (int)(cores < useful ? cores : useful);
}

static enum bw_status cut_slices(struct bw_cpu_job *job, int count)
{
    const size_t pages = job->bytes / SLICE_ALIGN;
    size_t done = 0;

    job->slices = aligned_alloc(sizeof(struct slice), (size_t)count * sizeof(struct slice));
    if (job->slices == NULL) {
        return bw_errno("threads");
    }
    memset(job->slices, 0, (size_t)count * sizeof(struct slice));
    for (int i = 0; i < count; i++) {
        const size_t end =
            i + 1 == count ? job->bytes : pages * (size_t)(i + 1) / (size_t)count * SLICE_ALIGN;

        job->slices[i].begin = done;
        job->slices[i].end = end;
        done = end;
    }
    return BW_OK;
}

static enum bw_status check_waiver(const struct bw_topology *topology,
                                   const struct bw_cpu_spec *spec)
{
    char *waiver = bw_cpu_waiver(topology, spec);

    if (waiver == NULL) {
        return BW_OK;
    }
    bw_verbose("%s", waiver);
    free(waiver);
    return BW_WAIVED;
}

static enum bw_status open_memory(struct bw_cpu_job *job, const struct bw_topology *topology)
{
    enum bw_status st = BW_OK;

    if (job->spec.op == CPU_CHASE) {
        TRY(bw_chain_build(&job->chain, job->bytes / BW_CHAIN_LINE));
    }
    if (has_src(job->spec.op)) {
        TRY(bw_map_open(&job->src, topology, job->spec.src_node, job->bytes));
    }
    if (has_dst(job->spec.op)) {
        TRY(bw_map_open(&job->dst, topology, job->spec.dst_node, job->bytes));
    }
out:
    return st;
}

enum bw_status bw_cpu_job_open(struct bw_cpu_job **job, const struct bw_topology *topology,
                               const struct bw_cpu_spec *spec)
{
    struct bw_cpu_job *j = calloc(1, sizeof(*j));
    enum bw_status st = BW_OK;
    int threads = 0;

    *job = NULL;
    if (j == NULL) {
        return bw_errno("CPU job");
    }
    j->spec = *spec;
    j->topology = topology;
    j->pass = bw_pass_at(0);
    j->grace_ns = JOB_GRACE_NS;
    TRY(check_waiver(topology, spec));
    j->bytes = spec->op == CPU_CHASE ? chase_bytes(topology, spec) : spec->bytes;
    if (j->bytes < BYTES_MIN) {
        bw_error("a buffer of %zu bytes for the CPU: at least %d are needed", j->bytes, BYTES_MIN);
        st = BW_ERR_USAGE;
        goto out;
    }
    threads = thread_count(topology, j);
    TRY(cut_slices(j, threads));
    TRY(open_memory(j, topology));
    TRY(bw_workers_open(&j->workers, topology, spec->cpu_node, threads));
    *job = j;
    j = NULL;
out:
    bw_cpu_job_close(j);
    /* a job whose threads stay out is left alone on purpose */
    return st; /* NOLINT(clang-analyzer-unix.Malloc) */
}

void bw_cpu_job_close(struct bw_cpu_job *job)
{
    if (job == NULL) {
        return;
    }
    if (!bw_workers_close(job->workers, job->grace_ns)) {
        bw_warn("a CPU thread does not come back: it is left alone, with %zu MiB of memory",
                (job->src.bytes + job->dst.bytes) >> 20);
        return;
    }
    bw_map_close(&job->src);
    bw_map_close(&job->dst);
    bw_chain_free(&job->chain);
    free(job->sample_ns);
    free(job->slices);
    free(job);
}

int bw_cpu_job_threads(const struct bw_cpu_job *job)
{
    return bw_workers_count(job->workers);
}

size_t bw_cpu_job_bytes(const struct bw_cpu_job *job)
{
    return job->bytes;
}

uint64_t bw_cpu_job_unit(const struct bw_cpu_job *job)
{
    if (job->spec.op != CPU_CHASE) {
        return job->bytes;
    }
    return job->chain.count < CHASE_LOADS ? job->chain.count : CHASE_LOADS;
}

bool bw_cpu_job_is_huge(const struct bw_cpu_job *job)
{
    const double enough = 0.95;

    return (job->src.bytes == 0 || bw_map_huge_part(&job->src) > enough) &&
           (job->dst.bytes == 0 || bw_map_huge_part(&job->dst) > enough);
}

const char *bw_cpu_job_kernel(const struct bw_cpu_job *job)
{
    return job->pass->name;
}
