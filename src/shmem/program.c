/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one iteration of an operator is: a staging copy, a device barrier, the
 * kernel (or signals around copies by copy engines), a copy-out; by placement.
 */
#include "profile.h"

#include "shmem_params.h"

#include "bwtool/log.h"

#include <stdio.h>

/* A wait inside of a kernel gives up after this: longer than any other rank's honest delay. */
static const uint64_t timeout_ns = 10ULL * 1000 * 1000 * 1000;

bool shmem_has_staging(const struct shmem_case *c)
{
    return c->placement == PLACEMENT_B;
}

int shmem_issuers(const struct shmem_case *c)
{
    switch (c->row->op) {
    case SHMEM_PUT:
    case SHMEM_GET:
        return 1;
    case SHMEM_PUT_SIGNAL: /* to and fro */
        return 2;
    default:
        return c->ranks;
    }
}

unsigned shmem_entries(const struct shmem_case *c, enum shmem_program_kind kind)
{
    const unsigned kernel = c->row->algorithm == ALGORITHM_CE ? (unsigned)c->ranks + 4 : 1;

    const unsigned copies = shmem_route_is_shared(c) ? 3 : 1;

    return kind == PROGRAM_STAGING ? copies : kind == PROGRAM_E2E ? kernel + copies + 1 : kernel;
}

unsigned shmem_warm(const struct shmem_case *c, enum shmem_program_kind kind)
{
    const uint64_t short_enough =
        c->payload_bytes > 0 ? BW_WARM_BYTES_MAX / c->payload_bytes : SHMEM_WARM;
    unsigned fit = 300 / shmem_entries(c, kind);

    fit = fit < short_enough ? fit : (unsigned)short_enough;
    return fit < 1 ? 1 : fit < SHMEM_WARM ? fit : SHMEM_WARM;
}

enum bw_status shmem_side_open(struct shmem_side *side, const struct shmem_case *c, int r)
{
    enum bw_status st = BW_OK;

    if (c->row->algorithm != ALGORITHM_CE) {
        return BW_OK;
    }
    TRY(bw_gpu_use(c->rank[r].gpu));
    TRY(CU(cu.StreamCreate(&side->stream, CU_STREAM_NON_BLOCKING)));
    TRY(CU(cu.EventCreate(&side->fork, CU_EVENT_DISABLE_TIMING)));
    TRY(CU(cu.EventCreate(&side->join, CU_EVENT_DISABLE_TIMING)));
out:
    return st;
}

void shmem_side_close(struct shmem_side *side, const struct shmem_case *c, int r)
{
    if (bw_cu_context_lost() || c->rank[r].gpu == NULL || bw_gpu_use(c->rank[r].gpu) != BW_OK) {
        return;
    }
    if (side->join != NULL) {
        CU_WARN(cu.EventDestroy(side->join));
    }
    if (side->fork != NULL) {
        CU_WARN(cu.EventDestroy(side->fork));
    }
    if (side->stream != NULL) {
        CU_WARN(cu.StreamDestroy(side->stream));
    }
    *side = (struct shmem_side){0};
}

static enum bw_status launch(CUfunction function, enum bw_kernel kernel, unsigned grid,
                             unsigned block, CUstream stream, void **args, bool overlaps)
{
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    const CUlaunchConfig config = {.gridDimX = grid,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = block,
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .hStream = stream,
                                   .attrs = &attribute,
                                   .numAttrs = 1};
    CUresult res = CUDA_SUCCESS;
    char what[64];

    if (!overlaps || cu.LaunchKernelEx == NULL) {
        return bw_function_launch(function, kernel, grid, block, stream, args);
    }
    attribute.value.programmaticStreamSerializationAllowed = 1;
    res = cu.LaunchKernelEx(&config, function, args, NULL);
    if (res == CUDA_SUCCESS) {
        return BW_OK;
    }
    snprintf(what, sizeof(what), "cuLaunchKernelEx(%s)", bw_kernel_name(kernel));
    return bw_cu(res, what, __FILE__, __LINE__);
}

/* What all launches of a rank have in common; epoch and the like are this launch's. */
static struct bw_shmem_args args_of(const struct shmem_case *c, int r)
{
    const struct shmem_rank *rank = &c->rank[r];
    const unsigned slots = c->row->slots > 0 ? c->row->slots : 1;
    struct bw_shmem_args a = {
        .rank = (uint32_t)r,
        .ranks = (uint32_t)c->ranks,
        .root = (uint32_t)c->root,
        .epoch = rank->epoch,
        .tick = rank->tick,
        .slot = rank->turn % slots,
        .slot_clear = (rank->turn + slots - 1) % slots,
        .slot_vectors = c->slot_vectors,
        .vectors = c->vectors,
        .total = c->total,
        .tile_vectors = c->tile_vectors,
        .dtype = (uint32_t)c->dtype,
        .rounds = c->rounds,
        .in = rank->in,
        .out = rank->out,
        .in_offset = c->at.in,
        .out_offset = c->at.out,
        .scratch_offset = c->at.scratch,
        .signal_offset = c->at.signals,
        .multicast = c->multicast,
        .area = rank->area,
        .timed_out = rank->timed_out.device,
        .timeout_ns = timeout_ns,
    };

    for (int p = 0; p < c->ranks; p++) {
        a.window[p] = c->rank[p].window;
    }
    return a;
}

static enum bw_status queue_sync(struct shmem_case *c, int r, enum bw_shmem_signal kind,
                                 CUstream stream)
{
    struct bw_shmem_args a = args_of(c, r);
    void *args[] = {&a};

    a.kind = (uint32_t)kind;
    /* A broadcast's signals go one way: everybody's "you may write", then the root's "it is there".
     */
    a.root = c->row->op == SHMEM_BROADCAST ? a.root : UINT32_MAX;
    return launch(c->rank[r].gpu->functions[KERNEL_shmem_sync], KERNEL_shmem_sync, 1,
                  c->row->threads, stream, args, false);
}

/* CE put src = the user's input, dst = the peers' symmetric output: no staging. */
static enum bw_status queue_put(struct shmem_case *c, int r, int to, CUstream stream)
{
    const uint64_t bytes = (uint64_t)c->vectors * 16;
    const uint64_t from_offset = c->row->op == SHMEM_ALL_TO_ALL ? (uint64_t)to * bytes : 0;
    const uint64_t to_offset = c->row->op == SHMEM_BROADCAST ? 0 : (uint64_t)r * bytes;
    const CUdeviceptr out = to == r ? c->rank[r].out : c->rank[to].window + c->at.out;

    return CU(cu.MemcpyAsync(out + to_offset, c->rank[r].in + from_offset, bytes, stream));
}

/* The copy within this GPU's own memory goes beside those over the links. */
static enum bw_status queue_puts(struct shmem_case *c, int r, CUstream stream,
                                 const struct shmem_side *side)
{
    enum bw_status st = BW_OK;

    TRY(CU(cu.EventRecord(side->fork, stream)));
    TRY(CU(cu.StreamWaitEvent(side->stream, side->fork, 0)));
    TRY(queue_put(c, r, r, side->stream));
    TRY(CU(cu.EventRecord(side->join, side->stream)));
    for (int d = 1; d < c->ranks; d++) {
        TRY(queue_put(c, r, (r + d) % c->ranks, stream));
    }
    TRY(CU(cu.StreamWaitEvent(stream, side->join, 0)));
out:
    return st;
}

static enum bw_status queue_ce(struct shmem_case *c, int r, CUstream stream,
                               const struct shmem_side *side)
{
    enum bw_status st = BW_OK;

    c->rank[r].epoch++;
    TRY(queue_sync(c, r, BW_SIGNAL_ENTRY, stream));
    if (c->row->op != SHMEM_BROADCAST || r == c->root) {
        TRY(queue_puts(c, r, stream, side));
    }
    TRY(queue_sync(c, r, BW_SIGNAL_DATA, stream));
out:
    return st;
}

static enum bw_status queue_barrier(struct shmem_case *c, int r, CUstream stream, bool overlaps)
{
    CUfunction function = c->rank[r].gpu->functions[KERNEL_shmem_barrier];
    struct bw_shmem_args a = args_of(c, r);
    void *args[] = {&a};

    a.rounds = 1;
    c->rank[r].tick += a.rounds;
    if (c->row->op == SHMEM_BARRIER) {
        a.frames = shmem_profile_args(c, r);
        function = shmem_profile_function(c, r);
    }
    return launch(function, KERNEL_shmem_barrier, 1, 128, stream, args, overlaps);
}

/* Put and get are the copy testcases' kernels, once over the message. */
static enum bw_status queue_move(struct shmem_case *c, CUstream stream)
{
    const bool is_get = c->row->op == SHMEM_GET;
    const struct bw_gpu *gpu = c->rank[0].gpu;
    CUdeviceptr src = is_get ? c->rank[1].window + c->at.in : c->rank[0].in;
    CUdeviceptr dst = is_get ? c->rank[0].out : c->rank[1].window + c->at.out;
    uint64_t bytes = c->message_bytes;
    uint64_t passes = 1;
    void *args[] = {&dst, &src, &bytes, &passes};
    const enum bw_kernel kernel =
        bytes < BW_KERNEL_LARGE_BYTES ? KERNEL_copy_sweep : (enum bw_kernel)c->row->kernel;
    unsigned grid = 0;
    unsigned block = 0;

    bw_kernel_geometry(gpu, kernel, bytes, &grid, &block);
    return bw_kernel_launch(gpu, kernel, grid, block, stream, args);
}

static enum bw_status queue_operator(struct shmem_case *c, int r, CUstream stream,
                                     const struct shmem_side *side, bool overlaps)
{
    struct shmem_rank *rank = &c->rank[r];
    struct bw_shmem_args a = {0};
    struct bw_route_args routed;
    void *args[] = {&a};

    switch (c->row->op) {
    case SHMEM_PUT:
    case SHMEM_GET:
        return queue_move(c, stream);
    case SHMEM_BARRIER:
        return queue_barrier(c, r, stream, overlaps);
    default:
        break;
    }
    if (c->row->algorithm == ALGORITHM_CE) {
        return queue_ce(c, r, stream, side);
    }
    rank->epoch++;
    rank->turn++;
    a = args_of(c, r);
    a.frames = shmem_profile_args(c, r);
    rank->tick += c->tile_steps + c->rounds;
    if (shmem_is_routed(c->row->op)) {
        routed = shmem_route_args(c, r, &a);
        args[0] = &routed;
    }
    return launch(shmem_profile_function(c, r), (enum bw_kernel)c->row->kernel, c->ctas, c->threads,
                  stream, args, overlaps);
}

/* The outside copies of placement B: before a pull, or behind a push. */
static enum bw_status queue_copy(const struct shmem_case *c, int r, CUstream stream)
{
    const struct shmem_rank *rank = &c->rank[r];

    const bool is_before = shmem_in_is_symmetric(c);
    const uint64_t bytes = is_before ? shmem_in_bytes(c, r) : shmem_out_bytes(c, r);
    enum bw_status st = BW_OK;

    if (bytes > 0) { /* no token may have come here */
        TRY(is_before ? CU(cu.MemcpyAsync(rank->in, rank->user_in, bytes, stream))
                      : CU(cu.MemcpyAsync(rank->user_out, rank->out, bytes, stream)));
    }
    if (shmem_route_is_shared(c)) {
        TRY(shmem_route_stage(c, r, stream));
    }
out:
    return st;
}

enum bw_status shmem_queue(struct shmem_case *c, int r, enum shmem_program_kind kind,
                           CUstream stream, const struct shmem_side *side)
{
    const bool is_staged = kind == PROGRAM_E2E && shmem_has_staging(c);
    enum bw_status st = BW_OK;

    if (kind == PROGRAM_STAGING) {
        return queue_copy(c, r, stream);
    }
    if (is_staged && shmem_in_is_symmetric(c)) {
        TRY(queue_copy(c, r, stream));
        TRY(queue_barrier(c, r, stream, false));
    }
    TRY(queue_operator(c, r, stream, side, c->has_pdl && !is_staged));
    if (is_staged && shmem_out_is_symmetric(c)) {
        TRY(queue_copy(c, r, stream));
    }
out:
    return st;
}
