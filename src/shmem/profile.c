/* SPDX-License-Identifier: Apache-2.0 */
#include "profile.h"

#include "../measure/session.h"

#include "bwtool/log.h"
#include "bwtool/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- launches ---------------------------------------------------------------------------------
 */

CUfunction shmem_profile_function(const struct shmem_case *c, int r)
{
    return c->profile != NULL ? c->profile->rank[r].function
                              : c->rank[r].gpu->functions[c->row->kernel];
}

void shmem_profile_record(struct shmem_case *c, int r, bool is_recording)
{
    if (c->profile != NULL) {
        c->profile->rank[r].is_recording = is_recording;
    }
}

struct bw_frame_args shmem_profile_args(struct shmem_case *c, int r)
{
    struct shmem_profile_rank *rank = c->profile != NULL ? &c->profile->rank[r] : NULL;
    struct bw_frame_args args = {.ctas = c->ctas, .rank = (uint32_t)r};

    if (rank == NULL) {
        return args;
    }
    args.is_sync = c->profile->is_sync;
    if (rank->is_recording) {
        args.records = rank->records.ptr;
        args.slot = (uint32_t)(rank->launches++ % SHMEM_PROFILE_LAUNCHES);
    }
    return args;
}

/* --- what is needed ---------------------------------------------------------------------------
 */

/* In which steps the GPU's timer goes on: looked at once a run. */
static enum bw_status find_tick(struct bw_session *session, int gpu)
{
    enum { READS = 4096 };
    const uint64_t patience_ns = 20ULL * 1000 * 1000 * 1000;
    const struct bw_slip slip = bw_session_slip(session, gpu, 0, 0);
    CUstream stream = bw_session_stream(session, gpu);
    struct bw_twins *twins = &session->twins[gpu];
    CUdeviceptr to = slip.device;
    uint32_t reads = READS;
    void *args[] = {&to, &reads};
    enum bw_status st = BW_OK;

    _Static_assert(sizeof(twins->found) <= BW_SLIP_BYTES, "a slip holds what is found");
    TRY(CU(cu.LaunchKernel(twins->tick, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL)));
    TRY(bw_slip_fetch(&slip, sizeof(twins->found), stream));
    TRY(bw_stream_wait(stream, patience_ns, "measuring the timer's tick"));
    memcpy(&twins->found, slip.host, sizeof(twins->found));
out:
    return st;
}

/* The second image on all GPUs of this process, once a run. */
static enum bw_status load_twins(struct bw_session *session)
{
    const int count = session->gpus.count;
    enum bw_status st = BW_OK;

    if (session->twins != NULL) {
        return BW_OK;
    }
    session->twins = calloc((size_t)count, sizeof(*session->twins));
    if (session->twins == NULL) {
        return bw_errno("no memory for the kernels with frames of %d GPUs", count);
    }
    for (int i = 0; i < count; i++) {
        const struct bw_gpu *gpu = &session->gpus.gpus[i];

        if (gpu->is_left_out) {
            continue;
        }
        st = bw_twins_open(&session->twins[i], gpu);
        st = st == BW_OK ? find_tick(session, i) : st;
        if (st != BW_OK) {
            break;
        }
    }
    if (st != BW_OK) { /* another point tries again */
        for (int i = 0; i < count; i++) {
            bw_twins_close(&session->twins[i]);
        }
        free(session->twins);
        session->twins = NULL;
    }
    return st;
}

size_t shmem_profile_bytes(const struct shmem_case *c)
{
    return (size_t)SHMEM_PROFILE_LAUNCHES * c->ctas * sizeof(struct bw_frame_cta);
}

static enum bw_status open_rank(const struct shmem_case *c, int r, struct shmem_profile_rank *rank)
{
    const struct bw_gpu *gpu = c->rank[r].gpu;
    enum bw_status st = BW_OK;

    rank->function = c->session->twins[gpu->ordinal].functions[c->row->kernel];
    TRY(bw_gpu_use(gpu));
    TRY(bw_buffer_open_device(&rank->records, gpu, shmem_profile_bytes(c)));
out:
    return st;
}

static void close_profile(struct shmem_case *c, struct shmem_profile *profile)
{
    for (int r = 0; r < c->ranks; r++) {
        bw_buffer_close(&profile->rank[r].records, &c->session->gpus);
    }
    free(profile);
    c->profile = NULL;
}

/* --- what was recorded ------------------------------------------------------------------------
 */

/* As of now: nothing. */
static enum bw_status clear(struct shmem_case *c, struct shmem_profile *profile)
{
    enum bw_status st = BW_OK;

    for (int r = 0; r < shmem_issuers(c); r++) {
        struct shmem_profile_rank *rank = &profile->rank[r];

        if (!shmem_is_here(c, r)) {
            continue;
        }
        rank->launches = 0;
        TRY(bw_gpu_use(c->rank[r].gpu));
        TRY(CU(cu.MemsetD8Async(rank->records.ptr, 0, shmem_profile_bytes(c), c->rank[r].stream)));
        TRY(bw_stream_wait(c->rank[r].stream, shmem_patience_ns(c), "clearing frames"));
    }
out:
    return st;
}

/* --- a point ----------------------------------------------------------------------------------
 */

/* The same launches in a sample as without frames, and as few samples as will do. */
static struct bw_sampling sampling_of(const struct bw_sampling *plain,
                                      const struct bw_shmem_point *point)
{
    struct bw_sampling sampling = *plain;

    sampling.samples = plain->samples > 0 ? plain->samples : SHMEM_SAMPLES;
    sampling.copies = point->iterations;
    return sampling;
}

static void set_times(const struct shmem_case *c, const struct bw_shmem_point *point,
                      struct shmem_taken *kernel, const struct shmem_taken *e2e,
                      struct bw_frame_table *table)
{
    table->messages = c->rounds > 0 ? 2.0 * c->rounds : 1;
    table->plain_us = point->kernel_us.median * table->messages;
    table->kernel_us = kernel->us.median * table->messages;
    table->e2e_us = (e2e->rank_us != NULL ? e2e->us.median : kernel->us.median) * table->messages;
    for (int r = 0; r < shmem_issuers(c); r++) {
        kernel->rank_us[r] *= table->messages;
    }
    table->rank_kernel_us = kernel->rank_us;
    kernel->rank_us = NULL;
}

/*
 * Frames are of the loop that e2e is of. Where that has moves outside of the
 * kernel, what frames cost is found by the loop of the kernel alone.
 */
static enum bw_status measure_all(struct shmem_case *c, const struct bw_sampling *sampling,
                                  const struct bw_shmem_point *point, struct bw_frame_table *table)
{
    struct shmem_taken kernel = {.rank_us = NULL};
    struct shmem_taken e2e = {.rank_us = NULL};
    enum bw_status st = BW_OK;

    TRY(shmem_take_program_all(c, PROGRAM_KERNEL, sampling, &kernel));
    if (shmem_has_staging(c)) {
        TRY(shmem_agree_all(c, clear(c, c->profile), "clearing frames"));
        TRY(shmem_take_program_all(c, PROGRAM_E2E, sampling, &e2e));
    }
    set_times(c, point, &kernel, &e2e, table);
    TRY(shmem_profile_sum_all(c, table));
    if (table->reason == NULL) {
        bw_frame_table_fill(table);
    }
out:
    free(kernel.rank_us);
    free(e2e.rank_us);
    return st;
}

const char *shmem_profile_why_none(const struct shmem_case *c)
{
    if (c->row->algorithm == ALGORITHM_CE) {
        return "copy engines move the data: there is no kernel to have frames";
    }
    if (c->row->op == SHMEM_PUT || c->row->op == SHMEM_GET) {
        return "one move by the copy testcases' kernel, which has no frames: all of it is "
               "remote_put_get";
    }
    return NULL;
}

static enum bw_status get_ready(struct shmem_case *c, struct shmem_profile *profile)
{
    enum bw_status st = BW_OK;

    profile->is_sync = c->profile_mode == PROFILE_SYNC;
    TRY(load_twins(c->session));
    for (int r = 0; r < shmem_issuers(c); r++) {
        TRY(shmem_is_here(c, r) ? open_rank(c, r, &profile->rank[r]) : BW_OK);
    }
    TRY(clear(c, profile));
out:
    return st;
}

/* Why all ranks go without frames, in all of them. A GPU that is lost stays a failure. */
static enum bw_status give_up_all(struct shmem_case *c, enum bw_status st,
                                  struct bw_frame_table *table)
{
    const char *text = st == BW_WAIVED
                           ? "the time that --max-time gives was over before frames were measured"
                           : bw_log_reason();

    if (c->session->ranks != NULL) {
        st = bw_world_explain_all(c->session->world, st, text, &table->reason);
    } else if (text != NULL) {
        table->reason = strdup(text);
    }
    if (table->reason == NULL) {
        table->reason = bw_text_reason("getting ready for frames failed");
    }
    st = st == BW_ERR_LOST || bw_cu_context_lost() ? BW_ERR_LOST : BW_OK;
    return shmem_agree_all(c, st, "going without frames");
}

static void warn_of(const struct shmem_case *c, const struct bw_frame_table *table)
{
    if (table->reason == NULL && table->perturbation > BW_FRAME_PERTURBATION &&
        bw_world_is_root(c->session->world)) {
        bw_warn("%s: frames make the kernel %.1f %% slower: compare them with each other only",
                c->row->tc.name, (table->perturbation - 1) * 100);
    }
}

static enum bw_status profile_all(struct shmem_case *c, const struct bw_sampling *sampling,
                                  const struct bw_shmem_point *point, struct bw_frame_table *table,
                                  struct shmem_profile *profile)
{
    const struct bw_sampling own = sampling_of(sampling, point);
    enum bw_status st = BW_OK;

    bw_log_mark();
    st = bw_sampling_is_over(sampling) ? BW_WAIVED : get_ready(c, profile);
    st = shmem_agree_all(c, st, "getting ready for frames");
    if (st != BW_OK) {
        return give_up_all(c, st, table);
    }
    c->profile = profile;
    st = measure_all(c, &own, point, table);
    warn_of(c, table);
    return st;
}

enum bw_status shmem_profile_all(struct shmem_case *c, const struct bw_sampling *sampling,
                                 struct bw_shmem_point *point)
{
    struct shmem_profile *profile = calloc(1, sizeof(*profile));
    struct bw_frame_table *table = calloc(1, sizeof(*table));
    const char *reason = shmem_profile_why_none(c);
    enum bw_status st =
        profile == NULL || table == NULL ? bw_errno("no memory for a profile") : BW_OK;

    point->frames = table;
    TRY(shmem_agree_all(c, st, "making room for a profile"));
    table->mode = c->profile_mode;
    if (reason != NULL) {
        table->reason = strdup(reason);
        st = table->reason == NULL ? bw_errno("no memory for a reason") : BW_OK;
        TRY(shmem_agree_all(c, st, "making room for a reason"));
    } else {
        TRY(profile_all(c, sampling, point, table, profile));
    }
out:
    if (st != BW_OK && table != NULL && table->reason == NULL) {
        table->reason = bw_text_reason("measuring with frames failed");
    }
    if (profile != NULL) {
        close_profile(c, profile);
    }
    return st;
}
