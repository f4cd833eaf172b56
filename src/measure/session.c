/* SPDX-License-Identifier: Apache-2.0 */
#include "session.h"

#include "gate.h"
#include "multicast_area.h"
#include "pool.h"
#include "ranks.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/phase.h"
#include "bwtool/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 96 };

/* Bound on work that is not timed: filling and comparing buffers. */
static const uint64_t settle_patience_ns = 120ULL * 1000 * 1000 * 1000;

struct bw_bench {
    CUstream stream;
    CUdeviceptr slips;
    uint64_t busy_ns;
};

unsigned bw_session_lanes_max(const struct bw_session *session)
{
    const int ranks = session->world->ranks;
    const int ends = session->gpus.count > ranks ? session->gpus.count : ranks;

    /* All ends both ways, and one to spare. */
    return 2 * (unsigned)ends + 2;
}

uint64_t bw_session_busy_ns(const struct bw_session *session, int gpu)
{
    return session->benches[gpu].busy_ns;
}

void bw_session_note_busy(const struct bw_session *session, int gpu)
{
    session->benches[gpu].busy_ns = bw_clock_ns();
}

static size_t slips_bytes(const struct bw_session *session)
{
    return (size_t)bw_session_lanes_max(session) * BW_SLIP_KINDS * BW_ROUND_SAMPLES_MAX *
           BW_SLIP_BYTES;
}

CUstream bw_session_stream(const struct bw_session *session, int gpu)
{
    return session->benches[gpu].stream;
}

struct bw_slip bw_session_slip(const struct bw_session *session, int gpu, unsigned number,
                               unsigned kind)
{
    const size_t offset =
        ((size_t)number * BW_SLIP_KINDS + kind) * BW_ROUND_SAMPLES_MAX * BW_SLIP_BYTES;

    return (struct bw_slip){session->benches[gpu].slips + offset, (char *)session->slips + offset};
}

enum bw_status bw_slip_send(const struct bw_slip *slip, size_t bytes, CUstream stream)
{
    return CU(cu.MemcpyAsync(slip->device, (CUdeviceptr)(uintptr_t)slip->host, bytes, stream));
}

enum bw_status bw_slip_fetch(const struct bw_slip *slip, size_t bytes, CUstream stream)
{
    return CU(cu.MemcpyAsync((CUdeviceptr)(uintptr_t)slip->host, slip->device, bytes, stream));
}

enum bw_status bw_stream_wait(CUstream stream, uint64_t patience_ns, const char *what)
{
    const uint64_t deadline_ns = bw_clock_ns() + patience_ns;
    enum bw_status st = BW_OK;

    for (unsigned looks = 0;; looks++) {
        const CUresult res = cu.StreamQuery(stream);

        if (res == CUDA_SUCCESS) {
            return st;
        }
        if (res != CUDA_ERROR_NOT_READY) {
            /* One question without an answer is no end: the work may read memory of the caller. */
            if (st != BW_OK || (st = bw_cu(res, what, __FILE__, __LINE__)) == BW_ERR_LOST) {
                return st;
            }
        }
        if (bw_clock_ns() > deadline_ns) {
            bw_error("GPU %d: %s did not end within %.0f s", bw_gpu_current(), what,
                     (double)patience_ns * 1e-9);
            bw_cu_give_up();
            return BW_ERR_TIMEOUT;
        }
        if (looks > 16) {
            bw_clock_sleep_us(looks < 64 ? 10 : 50);
        }
    }
}

enum bw_status bw_session_settle(const struct bw_session *session)
{
    enum bw_status st = BW_OK;

    for (int i = 0; i < session->gpus.count; i++) {
        if (session->gpus.gpus[i].is_left_out) {
            continue;
        }
        TRY(bw_gpu_use(&session->gpus.gpus[i]));
        TRY(bw_stream_wait(session->benches[i].stream, settle_patience_ns,
                           "filling or comparing buffers"));
    }
out:
    return st;
}

static void find_nodes(struct bw_session *session)
{
    const bool is_one_node = bw_topology_node_count(session->topology) == 1;
    int unknown = 0;
    int first = -1;

    for (int i = 0; i < session->gpus.count; i++) {
        const struct bw_gpu *gpu = &session->gpus.gpus[i];
        const int node = bw_topology_node_of_pci(session->topology, gpu->pci_full);

        session->gpu_node[i] = node < 0 && is_one_node ? 0 : node;
        if (session->gpu_node[i] < 0) {
            first = unknown++ == 0 ? i : first;
        }
    }
    if (unknown != 0) {
        bw_note(
            "the machine does not say which NUMA node %d of %d GPUs are near to (GPU %d first): "
            "their host memory and threads are not bound",
            unknown, session->gpus.count, first);
    }
}

enum bw_status bw_session_bind(const struct bw_session *session, int gpu)
{
    return bw_topology_bind(session->topology, gpu < 0 ? -1 : session->gpu_node[gpu]);
}

static enum bw_status open_bench(struct bw_session *session, int i)
{
    struct bw_bench *bench = &session->benches[i];
    enum bw_status st = BW_OK;

    if (session->gpus.gpus[i].is_left_out) {
        return BW_OK;
    }
    TRY(bw_gpu_use(&session->gpus.gpus[i]));
    TRY(CU(cu.StreamCreate(&bench->stream, CU_STREAM_NON_BLOCKING)));
    TRY(CU(cu.MemAlloc(&bench->slips, slips_bytes(session))));
out:
    return st;
}

static void close_bench(struct bw_session *session, int i)
{
    struct bw_bench *bench = &session->benches[i];

    if (session->gpus.gpus[i].is_left_out || bw_cu_context_lost() ||
        bw_gpu_use(&session->gpus.gpus[i]) != BW_OK) {
        return;
    }
    if (bench->slips != 0) {
        CU_WARN(cu.MemFree(bench->slips));
    }
    if (bench->stream != NULL) {
        CU_WARN(cu.StreamDestroy(bench->stream));
    }
}

/* Of several ranks, the first runs what needs no others, on all GPUs; the rest, on one each. */
static enum bw_status choose_gpus(struct bw_session *session)
{
    struct bw_world *world = session->world;
    const struct bw_gpu *gpu = NULL;
    char name[NAME_BYTES];
    enum bw_status st = BW_OK;

    if (world->ranks < 2) {
        return BW_OK;
    }
    TRY(bw_session_choose_gpu(world, &session->gpus, &session->own));
    gpu = &session->gpus.gpus[session->own];
    (void)snprintf(name, sizeof(name), "GPU %d, %s", gpu->ordinal, gpu->uuid);
    bw_world_tell(world, "opening the GPUs", name);
    for (int i = 0; i < session->gpus.count && !bw_world_is_root(world); i++) {
        session->gpus.gpus[i].is_left_out = i != session->own;
    }
out:
    return st;
}

static enum bw_status open_gpus(struct bw_session *session)
{
    const enum bw_phase before = bw_phase_enter(PHASE_CONTEXTS);
    const size_t count = (size_t)session->gpus.count;
    enum bw_status st = BW_OK;

    session->gpu_node = calloc(count, sizeof(*session->gpu_node));
    session->benches = calloc(count, sizeof(*session->benches));
    if (session->gpu_node == NULL || session->benches == NULL) {
        st = bw_errno("no memory for %zu GPUs", count);
        goto out;
    }
    find_nodes(session);
    TRY(choose_gpus(session));
    /* Before the contexts are there: who else is? */
    session->state = bw_state_build(&session->gpus, session->world->local_ranks);
    TRY(bw_gpus_open_contexts(&session->gpus));
    bw_verbose("contexts are made, kernels resident, peers enabled");
    for (int i = 0; i < session->gpus.count; i++) {
        TRY(open_bench(session, i));
    }
    TRY(CU(cu.MemHostAlloc(&session->slips, slips_bytes(session),
                           CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)));
    TRY(bw_gate_build(&session->gate, bw_session_lanes_max(session)));
    TRY(bw_pool_build(&session->pool, session));
    session->has_gpus = true;
out:
    (void)bw_phase_enter(before);
    return st;
}

enum bw_status bw_session_open_all(struct bw_session *session, struct bw_world *world,
                                   struct bw_topology *topology, struct bw_gpus *gpus)
{
    enum bw_status st = BW_OK;

    *session = (struct bw_session){.world = world, .topology = topology};
    bw_world_open_single(&session->alone);
    if (gpus != NULL && gpus->count > 0) {
        session->gpus = *gpus;
        *gpus = (struct bw_gpus){0};
        st = open_gpus(session);
    }
    TRY(bw_world_agree_all(world, st, "opening the GPUs"));
    if (world->ranks > 1 && session->has_gpus) {
        session->ranks = calloc(1, sizeof(*session->ranks));
        st = session->ranks == NULL ? bw_errno("no memory for what ranks have") : BW_OK;
        st = bw_world_agree_all(world, st, "opening the ranks");
        if (st != BW_OK) { /* all have it or none: closing it is collective */
            free(session->ranks);
            session->ranks = NULL;
            goto out;
        }
        TRY(bw_ranks_open_all(session->ranks, session));
    }
out:
    return st;
}

void bw_session_close_all(struct bw_session *session)
{
    if (session->gate != NULL) {
        bw_gate_release(session->gate); /* first: with a stream held, freeing waits for ever */
    }
    if (session->ranks != NULL) {
        bw_ranks_close_all(session->ranks, session);
        free(session->ranks);
    }
    bw_multicast_area_close(session);
    bw_pool_free(session->pool);
    for (int i = 0; session->benches != NULL && i < session->gpus.count; i++) {
        close_bench(session, i);
    }
    bw_gate_free(session->gate);
    if (session->slips != NULL && !bw_cu_context_lost()) {
        CU_WARN(cu.MemFreeHost(session->slips));
    }
    for (int i = 0; session->twins != NULL && i < session->gpus.count; i++) {
        bw_twins_close(&session->twins[i]);
    }
    free(session->twins);
    bw_state_free(session->state);
    free(session->benches);
    free(session->gpu_node);
    bw_gpus_close(&session->gpus);
    *session = (struct bw_session){0};
}
