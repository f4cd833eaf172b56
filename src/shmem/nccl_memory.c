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

static enum bw_status allocate(struct bw_baseline_job *job, struct shmem_case *c, int r)
{
    struct nccl_registered *own = &job->registered[r];
    struct shmem_rank *rank = &c->rank[r];
    enum bw_status st = BW_OK;

    TRY(NCCL(MemAlloc, &own->in, round_up(c->in_bytes)));
    TRY(bw_gpu_use(rank->gpu)); /* NCCL may have changed it */
    TRY(NCCL(MemAlloc, &own->out, round_up(c->out_bytes)));
    TRY(check_place(rank, own->in));
    TRY(check_place(rank, own->out));
    rank->in = (CUdeviceptr)(uintptr_t)own->in;
    rank->out = (CUdeviceptr)(uintptr_t)own->out;
out:
    return st;
}

/* All ranks together: each waits for the others. */
static enum bw_status register_all(struct bw_baseline_job *job, const struct shmem_case *c)
{
    int res = nccl.GroupStart();
    int end = BW_NCCL_OK;

    for (int r = 0; r < c->ranks && res == BW_NCCL_OK; r++) {
        struct nccl_registered *own = &job->registered[r];

        res = nccl.CommWindowRegister(job->comms[r], own->in, round_up(c->in_bytes),
                                      &own->in_window, BW_NCCL_COLL_SYMMETRIC);
        res = res != BW_NCCL_OK
                  ? res
                  : nccl.CommWindowRegister(job->comms[r], own->out, round_up(c->out_bytes),
                                            &own->out_window, BW_NCCL_COLL_SYMMETRIC);
    }
    end = nccl.GroupEnd();
    if (res != BW_NCCL_OK || end != BW_NCCL_OK) {
        return bw_nccl(res != BW_NCCL_OK ? res : end, "ncclCommWindowRegister", __FILE__, __LINE__);
    }
    for (int r = 0; r < c->ranks; r++) {
        if (job->registered[r].in_window == NULL || job->registered[r].out_window == NULL) {
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
        TRY(bw_gpu_use(c->rank[r].gpu));
        TRY(allocate(job, c, r));
    }
    TRY(register_all(job, c));
out:
    return st;
}

static enum bw_status open_plain(struct bw_baseline_job *job, struct shmem_case *c)
{
    enum bw_status st = BW_OK;

    bw_pool_begin(job->session->pool);
    for (int r = 0; r < c->ranks; r++) {
        struct shmem_rank *rank = &c->rank[r];
        const int gpu = rank->gpu->ordinal;

        TRY(bw_gpu_use(rank->gpu));
        TRY(bw_pool_take(job->session->pool, false, gpu, c->in_bytes, &rank->in));
        TRY(bw_pool_take(job->session->pool, false, gpu, c->out_bytes, &rank->out));
    }
out:
    return st;
}

enum bw_status nccl_memory_open(struct bw_baseline_job *job, struct shmem_case *c,
                                enum bw_baseline_class kind)
{
    const struct bw_session *session = job->session;
    enum bw_status st = BW_OK;

    for (int r = 0; r < c->ranks; r++) {
        struct shmem_rank *rank = &c->rank[r];

        job->registered[r] = (struct nccl_registered){.in = NULL};
        rank->gpu = &session->gpus.gpus[r];
        rank->check = bw_session_slip(session, rank->gpu->ordinal, (unsigned)r, 0);
        rank->timed_out = bw_session_slip(session, rank->gpu->ordinal, (unsigned)r, 1);
        TRY(bw_gpu_use(rank->gpu));
        /* No wait of ours can give up here: the check finds that none did. */
        TRY(CU(cu.MemsetD8Async(rank->timed_out.device, 0, BW_SLIP_BYTES,
                                bw_session_stream(session, rank->gpu->ordinal))));
    }
    TRY(kind == BASELINE_REGISTERED ? open_registered(job, c) : open_plain(job, c));
    TRY(bw_session_settle(session));
out:
    return st;
}

/* What is not given back when a context is lost goes with the process. */
void nccl_memory_close(struct bw_baseline_job *job, const struct shmem_case *c)
{
    for (int r = 0; r < c->ranks && !bw_cu_context_lost(); r++) {
        struct nccl_registered *own = &job->registered[r];

        if (own->in_window != NULL) {
            (void)nccl.CommWindowDeregister(job->comms[r], own->in_window);
        }
        if (own->out_window != NULL) {
            (void)nccl.CommWindowDeregister(job->comms[r], own->out_window);
        }
        if (own->in != NULL && bw_gpu_use(c->rank[r].gpu) == BW_OK) {
            (void)nccl.MemFree(own->in);
        }
        if (own->out != NULL && bw_gpu_use(c->rank[r].gpu) == BW_OK) {
            (void)nccl.MemFree(own->out);
        }
        *own = (struct nccl_registered){.in = NULL};
    }
}
