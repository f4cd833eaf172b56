/* SPDX-License-Identifier: Apache-2.0 */
/* Which call of NCCL an operator is. Collectives have their own; transport is sends and receives.
 */
#include "nccl.h"

#include "bwtool/log.h"

#include <stdint.h>

const char *nccl_api_of(enum bw_shmem_op op, const char **reason)
{
    *reason = "";
    switch (op) {
    case SHMEM_ALL_REDUCE:
        return "ncclAllReduce";
    case SHMEM_REDUCE_SCATTER:
        return "ncclReduceScatter";
    case SHMEM_ALL_GATHER:
        return "ncclAllGather";
    case SHMEM_BROADCAST:
        return "ncclBroadcast";
    case SHMEM_ALL_TO_ALL:
        return nccl.AlltoAll != NULL ? "ncclAlltoAll" : "ncclSendRecv";
    case SHMEM_PUT:
    case SHMEM_GET:
    case SHMEM_DISPATCH:
    case SHMEM_COMBINE:
        return "ncclSendRecv";
    case SHMEM_BARRIER:
        *reason = "NCCL has no barrier";
        return NULL;
    case SHMEM_PUT_SIGNAL:
        *reason = "NCCL has no put with a signal";
        return NULL;
    default:
        *reason = "there is no baseline for it yet";
        return NULL;
    }
}

int nccl_lanes(const struct shmem_case *c)
{
    return c->row->op == SHMEM_PUT || c->row->op == SHMEM_GET ? 2 : c->ranks;
}

static int type_of(enum bw_shmem_dtype dtype)
{
    static const int types[BW_SHMEM_DTYPES] = {
        [BW_FP16] = BW_NCCL_FLOAT16, [BW_BF16] = BW_NCCL_BFLOAT16, [BW_FP32] = BW_NCCL_FLOAT32,
        [BW_INT32] = BW_NCCL_INT32,  [BW_INT8] = BW_NCCL_INT8,
    };

    return types[dtype];
}

/* To each and from each: the messages lie one behind the other. */
static int exchange(const struct shmem_case *c, const struct shmem_rank *rank, int type,
                    struct bw_nccl_comm *comm, CUstream stream)
{
    int res = BW_NCCL_OK;

    if (nccl.AlltoAll != NULL) {
        return nccl.AlltoAll((const void *)(uintptr_t)rank->in, (void *)(uintptr_t)rank->out,
                             c->elements, type, comm, stream);
    }
    for (int p = 0; p < c->ranks && res == BW_NCCL_OK; p++) {
        const uint64_t offset = (uint64_t)p * c->message_bytes;

        res = nccl.Send((const void *)(uintptr_t)(rank->in + offset), c->elements, type, p, comm,
                        stream);
        res = res != BW_NCCL_OK ? res
                                : nccl.Recv((void *)(uintptr_t)(rank->out + offset), c->elements,
                                            type, p, comm, stream);
    }
    return res;
}

/* The part of rank `r`. */
static int call_of(const struct nccl_program *program, int r)
{
    const struct shmem_case *c = program->c;
    const struct shmem_rank *rank = &c->rank[r];
    const void *in = (const void *)(uintptr_t)rank->in;
    void *out = (void *)(uintptr_t)rank->out;
    struct bw_nccl_comm *comm = program->job->comms[r];
    CUstream stream = program->lanes[r]->stream;
    const int type = type_of(c->dtype);
    const int sender = c->row->op == SHMEM_GET ? 1 : 0;

    switch (c->row->op) {
    case SHMEM_ALL_REDUCE:
        return nccl.AllReduce(in, out, c->elements, type, BW_NCCL_SUM, comm, stream);
    case SHMEM_REDUCE_SCATTER:
        return nccl.ReduceScatter(in, out, c->elements, type, BW_NCCL_SUM, comm, stream);
    case SHMEM_ALL_GATHER:
        return nccl.AllGather(in, out, c->elements, type, comm, stream);
    case SHMEM_BROADCAST:
        return nccl.Broadcast(in, out, c->elements, type, c->root, comm, stream);
    case SHMEM_ALL_TO_ALL:
        return exchange(c, rank, type, comm, stream);
    case SHMEM_DISPATCH:
    case SHMEM_COMBINE:
        return nccl_route_exchange(program, r, type);
    default: /* a message from one rank to the other */
        return r == sender ? nccl.Send(in, c->elements, type, 1 - r, comm, stream)
                           : nccl.Recv(out, c->elements, type, 1 - r, comm, stream);
    }
}

static enum bw_status call_group(const struct nccl_program *program)
{
    const char *ignored = NULL;
    int res = nccl.GroupStart();
    int end = BW_NCCL_OK;

    for (int r = 0; r < program->lane_count && res == BW_NCCL_OK; r++) {
        res = call_of(program, r);
    }
    end = nccl.GroupEnd(); /* in any case: a group left open would take all later calls */
    program->job->is_broken |= res != BW_NCCL_OK || end != BW_NCCL_OK;
    return bw_nccl(res != BW_NCCL_OK ? res : end, nccl_api_of(program->c->row->op, &ignored),
                   __FILE__, __LINE__);
}

enum bw_status nccl_call(const struct nccl_program *program)
{
    enum bw_status st = BW_OK;

    TRY(nccl_route_launch(program, true));
    TRY(call_group(program));
    TRY(nccl_route_launch(program, false));
out:
    return st;
}
