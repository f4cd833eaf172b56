/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/log.h"
#include "job.h"

#include <inttypes.h>
#include <string.h>

/* Whether the bytes that should be there are there. */

enum { LINE_WORDS = 8 };

#define LINE_BYTES (LINE_WORDS * sizeof(uint64_t))

/* Memory that check() compares. */
static void *checked(const struct bw_cpu_job *job)
{
    return job->dst.data != NULL ? job->dst.data : job->src.data;
}

static uint64_t expected_word(const struct bw_cpu_job *job, size_t index)
{
    const uint64_t first = bw_pattern_first(job->seed);

    return job->spec.op == CPU_CHASE ? bw_chain_word(&job->chain, job->src.data, first, index)
                                     : first + index * BW_PATTERN_STEP;
}

/* Bytes of a word in which two differ, the first `bytes` of it counted. */
static void note_word(struct slice *slice, size_t offset, uint64_t difference, size_t bytes)
{
    for (size_t k = 0; k < bytes; k++) {
        if ((difference >> (8 * k) & 0xff) != 0) {
            if (slice->wrong_bytes == 0) {
                slice->first_offset = offset + k;
            }
            slice->wrong_bytes++;
        }
    }
}

/* Up to 8 bytes as a word, filled up with zeros. */
static uint64_t word_at(const struct bw_cpu_job *job, size_t offset)
{
    const size_t left = job->bytes - offset;
    uint64_t word = 0;

    memcpy(&word, (const char *)checked(job) + offset, left < 8 ? left : 8);
    return word;
}

/* Quickly: whether there is anything to find in a full line. */
static bool line_differs(const struct bw_cpu_job *job, const uint64_t *word, uint64_t value,
                         size_t index)
{
    const bool is_chain = job->spec.op == CPU_CHASE;
    uint64_t any = word[0] ^ (is_chain ? expected_word(job, index) : value);

    for (size_t k = 1; k < LINE_WORDS; k++) {
        any |= word[k] ^ (value + k * BW_PATTERN_STEP);
    }
    return any != 0;
}

static void check_slice(void *context, int index)
{
    struct bw_cpu_job *job = context;
    struct slice *slice = &job->slices[index];
    const uint64_t first = bw_pattern_first(job->seed);
    const uint64_t *data = checked(job);

    slice->wrong_bytes = 0;
    slice->first_offset = 0;
    for (size_t i = slice->begin; i < slice->end; i += LINE_BYTES) {
        const size_t end = slice->end - i < LINE_BYTES ? slice->end : i + LINE_BYTES;

        if (end - i == LINE_BYTES &&
            !line_differs(job, data + i / 8, first + i / 8 * BW_PATTERN_STEP, i / 8)) {
            continue;
        }
        for (size_t k = i; k < end; k += 8) {
            note_word(slice, k, word_at(job, k) ^ expected_word(job, k / 8),
                      end - k < 8 ? end - k : 8);
        }
    }
}

/* What the threads read, all passes together, is known without reading it again. */
static void check_sum(const struct bw_cpu_job *job, struct bw_cpu_check *check)
{
    const uint64_t first = bw_pattern_first(job->seed);
    const size_t words = job->bytes / 8;
    const size_t rest = job->bytes % 8;
    uint64_t sum = bw_pattern_sum(first, 0, words);

    if (rest > 0) {
        sum += (first + words * BW_PATTERN_STEP) & ((UINT64_C(1) << (8 * rest)) - 1);
    }
    check->expected = sum * job->passes;
    for (int i = 0; i < bw_workers_count(job->workers); i++) {
        check->got += job->slices[i].sum;
    }
}

/* Loads that went another way than the cycle's end elsewhere. */
static void check_place(const struct bw_cpu_job *job, struct bw_cpu_check *check)
{
    const uint64_t loads = job->passes % job->chain.count * bw_cpu_job_unit(job);
    const size_t line = bw_chain_line_after(&job->chain, loads);

    check->expected = (uintptr_t)job->src.data + line * BW_CHAIN_LINE;
    check->got = (uintptr_t)job->slices[0].at;
}

static enum bw_status report(const struct bw_cpu_job *job, const struct bw_cpu_check *check)
{
    if (check->wrong_bytes == 0) {
        return BW_OK;
    }
    if (check->is_sum) {
        bw_error("verification: what the CPUs of NUMA node %d read is not what is there: "
                 "expected %016" PRIx64 ", got %016" PRIx64,
                 bw_topology_node_os_index(job->topology, job->spec.cpu_node), check->expected,
                 check->got);
    } else {
        bw_error("verification: %" PRIu64 " wrong bytes, moved by the CPUs of NUMA node %d, the "
                 "first at offset %" PRIu64 ": expected %016" PRIx64 ", got %016" PRIx64,
                 check->wrong_bytes, bw_topology_node_os_index(job->topology, job->spec.cpu_node),
                 check->first_offset, check->expected, check->got);
    }
    return BW_ERR_VERIFY;
}

enum bw_status bw_cpu_job_check(struct bw_cpu_job *job, uint64_t seed, struct bw_cpu_check *check)
{
    enum bw_status st = BW_OK;

    memset(check, 0, sizeof(*check));
    TRY(bw_cpu_job_alive(job));
    job->seed = seed;
    TRY(bw_cpu_job_do(job, check_slice));
    for (int i = bw_workers_count(job->workers) - 1; i >= 0; i--) {
        const struct slice *slice = &job->slices[i];

        check->wrong_bytes += slice->wrong_bytes;
        check->first_offset = slice->wrong_bytes > 0 ? slice->first_offset : check->first_offset;
    }
    if (check->wrong_bytes > 0) {
        const size_t word = check->first_offset / 8;
        const size_t left = job->bytes - word * 8;

        check->got = word_at(job, word * 8);
        check->expected = expected_word(job, word);
        check->expected &= left < 8 ? (UINT64_C(1) << (8 * left)) - 1 : UINT64_MAX;
    } else if (job->spec.op == CPU_READ || job->spec.op == CPU_CHASE) {
        if (job->spec.op == CPU_READ) {
            check_sum(job, check);
        } else {
            check_place(job, check);
        }
        check->is_sum = check->expected != check->got;
        check->wrong_bytes = check->is_sum;
    }
    st = report(job, check);
out:
    return st;
}

void bw_cpu_job_corrupt(struct bw_cpu_job *job, uint64_t word)
{
    unsigned char *byte = (unsigned char *)checked(job) + word % (job->bytes / 4) * 4;

    for (int k = 0; k < 4; k++) {
        byte[k] ^= 0xff;
    }
}
