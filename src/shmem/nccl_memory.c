/* SPDX-License-Identifier: Apache-2.0 */
/* What NCCL works on: plain memory of the pool, or its own in symmetric windows. */
#include "nccl.h"

#include "../measure/pool.h"
#include "../measure/session.h"

#include "bwtool/log.h"

#include <stdint.h>

/* NCCL wants windows to begin and end there. */
static const size_t window_bytes = 4096;

static size_t round_up(uint64_t bytes)
{
    return (size_t)((bytes + window_bytes - 1) / window_bytes * window_bytes);
}

/* Memory of another GPU would be measured as if it were this one's. */
static enum bw_status check_place(const struct shmem_rank *rank, const void *at)
{
    int ordinal = rank->gpu->ordinal;
    enum bw_status st = BW_OK;

    if (cu.PointerGetAttribute == NULL) {
        return BW_OK;
    }
    TRY(CU(cu.PointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                  (CUdeviceptr)(uintptr_t)at)));
    if (ordinal != rank->gpu->ordinal) {
        bw_error("ncclMemAlloc took memory of GPU %d for GPU %d", ordinal, rank->gpu->ordinal);
        st = BW_ERR_CUDA;
    }
out:
    return st;
}

/* What each buffer has room for, on all ranks alike; 0: there is none. */
static void sizes_of(const struct shmem_case *c, uint64_t bytes[NCCL_BUFFERS])
{
    bytes[NCCL_IN] = c->in_bytes;
    bytes[NCCL_OUT] = c->out_bytes;
    bytes[NCCL_STAGE] = nccl_stage_bytes(c);
}

static void take_over(struct bw_baseline_job *job, struct shmem_case *c, int r,
                      const CUdeviceptr at[NCCL_BUFFERS])
{
    c->rank[r].in = at[NCCL_IN];
    c->rank[r].out = at[NCCL_OUT];
    job->stage[r] = at[NCCL_STAGE];
}

static enum bw_status allocate(struct bw_baseline_job *job, struct shmem_case *c, int r)
{
    struct nccl_registered *own = &job->registered[r];
    CUdeviceptr at[NCCL_BUFFERS] = {0};
    uint64_t bytes[NCCL_BUFFERS];
    enum bw_status st = BW_OK;

    sizes_of(c, bytes);
    for (int i = 0; i < NCCL_BUFFERS; i++) {
        if (bytes[i] > 0) {
            TRY(bw_gpu_use(c->rank[r].gpu)); /* NCCL may have changed it */
            TRY(NCCL(MemAlloc, &own->at[i], round_up(bytes[i])));
            TRY(check_place(&c->rank[r], own->at[i]));
            at[i] = (CUdeviceptr)(uintptr_t)own->at[i];
        }
    }
    take_over(job, c, r, at);
out:
    return st;
}

static int register_rank(struct bw_baseline_job *job, const struct shmem_case *c, int r)
{
    struct nccl_registered *own = &job->registered[r];
    uint64_t bytes[NCCL_BUFFERS];
    int res = BW_NCCL_OK;

    sizes_of(c, bytes);
    for (int i = 0; i < NCCL_BUFFERS && res == BW_NCCL_OK; i++) {
        if (bytes[i] > 0) {
            res = nccl.CommWindowRegister(job->comms[r], own->at[i], round_up(bytes[i]),
                                          &own->window[i], BW_NCCL_COLL_SYMMETRIC);
        }
    }
    return res;
}

/* All ranks together: each waits for the others. */
static enum bw_status register_all(struct bw_baseline_job *job, const struct shmem_case *c)
{
    int res = nccl.GroupStart();
    int end = BW_NCCL_OK;

    for (int r = 0; r < c->ranks && res == BW_NCCL_OK; r++) {
        res = register_rank(job, c, r);
    }
    end = nccl.GroupEnd();
    if (res != BW_NCCL_OK || end != BW_NCCL_OK) {
        return bw_nccl(res != BW_NCCL_OK ? res : end, "ncclCommWindowRegister", __FILE__, __LINE__);
    }
    for (int i = 0; i < c->ranks * NCCL_BUFFERS; i++) {
        const struct nccl_registered *own = &job->registered[i / NCCL_BUFFERS];

        if (own->at[i % NCCL_BUFFERS] != NULL && own->window[i % NCCL_BUFFERS] == NULL) {
            bw_error("NCCL did not register memory, and names no error (NCCL_CUMEM_ENABLE or "
                     "NCCL_WIN_ENABLE may be 0)");
            return BW_WAIVED;
        }
    }
    return BW_OK;
}

static enum bw_status open_registered(struct bw_baseline_job *job, struct shmem_case *c)
{
    enum bw_status st = BW_OK;

    if (nccl.MemAlloc == NULL || nccl.MemFree == NULL || nccl.CommWindowRegister == NULL ||
        nccl.CommWindowDeregister == NULL) {
        bw_error("this NCCL has no symmetric windows (ncclCommWindowRegister came with 2.27)");
        return BW_WAIVED;
    }
    for (int r = 0; r < c->ranks; r++) {
        TRY(allocate(job, c, r));
    }
    TRY(register_all(job, c));
out:
    return st;
}

static enum bw_status open_plain(struct bw_baseline_job *job, struct shmem_case *c)
{
    enum bw_status st = BW_OK;

    for (int r = 0; r < c->ranks; r++) {
        const struct bw_gpu *gpu = c->rank[r].gpu;
        CUdeviceptr at[NCCL_BUFFERS] = {0};
        uint64_t bytes[NCCL_BUFFERS];

        sizes_of(c, bytes);
        TRY(bw_gpu_use(gpu));
        for (int i = 0; i < NCCL_BUFFERS; i++) {
            TRY(bytes[i] == 0
                    ? BW_OK
                    : bw_pool_take(job->session->pool, false, gpu->ordinal, bytes[i], &at[i]));
        }
        take_over(job, c, r, at);
    }
out:
    return st;
}

/* What a rank has in either class. */
static enum bw_status open_rank(struct bw_baseline_job *job, struct shmem_case *c, int r)
{
    const struct bw_session *session = job->session;
    struct shmem_rank *rank = &c->rank[r];
    enum bw_status st = BW_OK;

    job->registered[r] = (struct nccl_registered){.at = {NULL}};
    job->stage[r] = 0;
    rank->gpu = &session->gpus.gpus[r];
    rank->stream = bw_session_stream(session, rank->gpu->ordinal);
    rank->check = bw_session_slip(session, rank->gpu->ordinal, (unsigned)r, 0);
    rank->timed_out = bw_session_slip(session, rank->gpu->ordinal, (unsigned)r, 1);
    TRY(bw_gpu_use(rank->gpu));
    /* No wait of ours can give up here: the check finds that none did. */
    TRY(CU(cu.MemsetD8Async(rank->timed_out.device, 0, BW_SLIP_BYTES, rank->stream)));
    if (shmem_is_routed(c->row->op)) {
        TRY(shmem_route_upload(c, r));
    }
out:
    return st;
}

enum bw_status nccl_memory_open(struct bw_baseline_job *job, struct shmem_case *c,
                                enum bw_baseline_class kind)
{
    enum bw_status st = BW_OK;

    bw_pool_begin(job->session->pool);
    for (int r = 0; r < c->ranks; r++) {
        TRY(open_rank(job, c, r));
    }
    TRY(kind == BASELINE_REGISTERED ? open_registered(job, c) : open_plain(job, c));
    TRY(bw_session_settle(job->session));
out:
    return st;
}

/* What is not given back when a context is lost goes with the process. */
void nccl_memory_close(struct bw_baseline_job *job, const struct shmem_case *c)
{
    for (int i = 0; i < c->ranks * NCCL_BUFFERS && !bw_cu_context_lost(); i++) {
        struct nccl_registered *own = &job->registered[i / NCCL_BUFFERS];
        const int k = i % NCCL_BUFFERS;

        if (own->window[k] != NULL && job->ranks > 0) { /* else they went with the communicators */
            (void)nccl.CommWindowDeregister(job->comms[i / NCCL_BUFFERS], own->window[k]);
        }
        if (own->at[k] != NULL && bw_gpu_use(c->rank[i / NCCL_BUFFERS].gpu) == BW_OK) {
            (void)nccl.MemFree(own->at[k]);
        }
        own->window[k] = NULL;
        own->at[k] = NULL;
    }
}
