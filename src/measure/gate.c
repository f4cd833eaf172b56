/* SPDX-License-Identifier: Apache-2.0 */
#include "gate.h"

#include "params.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Pinned, seen by all GPUs. The flag has a line of its own: reports are written beside it. */
struct page {
    _Atomic uint32_t flag;
    uint32_t pad0[63];
    _Atomic uint32_t relay_flag; /* what the relay watches */
    uint32_t pad1[63];
    struct bw_gate_report relay;
    uint32_t pad2[60];
    struct bw_gate_report reports[];
};

struct bw_gate {
    struct page *page;
    CUdeviceptr page_ptr; /* the same as the GPUs see it */
    uint32_t epoch;       /* only grows: a late look at an old gate finds it open */
    unsigned holds, holds_max;
    uint64_t timeout_ns;
    bool is_shut;

    /* the kind of several ranks */
    const struct bw_gpu *gpu;
    CUdeviceptr shared_flag;
    CUstream relay_stream; /* NULL in ranks that pass nothing on */
    uint32_t shared_epoch; /* the same in all ranks */
    bool is_shared;        /* the gate under way is of this kind */
    bool has_relay;        /* and its relay is queued */
};

static const uint64_t default_timeout_ns = 20ULL * 1000 * 1000 * 1000;

enum bw_status bw_gate_build(struct bw_gate **gate, unsigned holds_max)
{
    const size_t bytes = sizeof(struct page) + holds_max * sizeof(struct bw_gate_report);
    enum bw_status st = BW_OK;
    struct bw_gate *g = calloc(1, sizeof(*g));
    void *page = NULL;

    if (g == NULL) {
        return bw_errno("no memory for a gate");
    }
    TRY(CU(cu.MemHostAlloc(&page, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)));
    memset(page, 0, bytes);
    g->page = page;
    g->holds_max = holds_max;
    g->timeout_ns = default_timeout_ns;
    TRY(CU(cu.MemHostGetDevicePointer(&g->page_ptr, page, 0)));
    *gate = g;
out:
    if (st != BW_OK) {
        bw_gate_free(g);
    }
    return st;
}

void bw_gate_free(struct bw_gate *gate)
{
    if (gate == NULL) {
        return;
    }
    bw_gate_release(gate);
    if (gate->relay_stream != NULL && !bw_cu_context_lost() && bw_gpu_use(gate->gpu) == BW_OK) {
        CU_WARN(cu.StreamDestroy(gate->relay_stream));
    }
    if (gate->page != NULL && !bw_cu_context_lost()) {
        CU_WARN(cu.MemFreeHost(gate->page));
    }
    free(gate);
}

static void begin(struct bw_gate *gate, bool is_shared)
{
    memset(gate->page->reports, 0, gate->holds * sizeof(gate->page->reports[0]));
    gate->holds = 0;
    gate->is_shut = true;
    gate->is_shared = is_shared;
    gate->has_relay = false;
}

void bw_gate_shut(struct bw_gate *gate)
{
    begin(gate, false);
    gate->epoch++;
}

enum bw_status bw_gate_share(struct bw_gate *gate, const struct bw_gpu *gpu, CUdeviceptr flag,
                             bool relays)
{
    enum bw_status st = BW_OK;

    gate->gpu = gpu;
    gate->shared_flag = flag;
    if (relays) {
        TRY(bw_gpu_use(gpu));
        TRY(CU(cu.StreamCreate(&gate->relay_stream, CU_STREAM_NON_BLOCKING)));
    }
out:
    return st;
}

enum bw_status bw_gate_shut_shared(struct bw_gate *gate)
{
    CUdeviceptr host_flag = gate->page_ptr + offsetof(struct page, relay_flag);
    CUdeviceptr report = gate->page_ptr + offsetof(struct page, relay);
    void *args[] = {&host_flag, &gate->shared_flag, &gate->shared_epoch, &gate->timeout_ns,
                    &report};
    enum bw_status st = BW_OK;

    begin(gate, true);
    gate->shared_epoch++;
    memset(&gate->page->relay, 0, sizeof(gate->page->relay));
    if (gate->relay_stream != NULL) {
        /* Before any hold: were both to share one hardware queue, the relay must come first */
        TRY(bw_gpu_use(gate->gpu));
        TRY(bw_kernel_launch(gate->gpu, KERNEL_gate_relay, 1, 1, gate->relay_stream, args));
        gate->has_relay = true;
    }
out:
    return st;
}

static uint32_t epoch_of(const struct bw_gate *gate)
{
    return gate->is_shared ? gate->shared_epoch : gate->epoch;
}

enum bw_status bw_gate_hold(struct bw_gate *gate, const struct bw_gpu *gpu, CUstream stream)
{
    CUdeviceptr flag = gate->is_shared ? gate->shared_flag : gate->page_ptr;
    uint32_t epoch = epoch_of(gate);
    CUdeviceptr report =
        gate->page_ptr + sizeof(struct page) + gate->holds * sizeof(struct bw_gate_report);
    void *args[] = {&flag, &epoch, &gate->timeout_ns, &report};
    enum bw_status st = BW_OK;

    if (gate->holds == gate->holds_max) {
        bw_error("more than %u streams at one gate", gate->holds_max);
        return BW_ERR_SYSTEM;
    }
    TRY(bw_kernel_launch(gpu, KERNEL_gate_hold, 1, 1, stream, args));
    gate->holds++;
out:
    return st;
}

static uint32_t state_of(const struct bw_gate *gate, unsigned hold)
{
    const volatile struct bw_gate_report *report = &gate->page->reports[hold];

    return report->epoch == epoch_of(gate) ? report->state : BW_GATE_IDLE;
}

enum bw_status bw_gate_await(struct bw_gate *gate)
{
    const uint64_t deadline_ns = bw_clock_ns() + gate->timeout_ns;

    for (unsigned i = 0; i < gate->holds; i++) {
        for (unsigned looks = 0; state_of(gate, i) == BW_GATE_IDLE; looks++) {
            CUresult res = CUDA_SUCCESS;

            if (bw_clock_ns() > deadline_ns) {
                bw_error("a stream did not come to its gate within %.0f s",
                         (double)gate->timeout_ns * 1e-9);
                return BW_ERR_TIMEOUT;
            }
            /* A lost context would never come: any call tells. It also hands queued work over. */
            if (looks % 64 == 63) {
                res = cu.StreamQuery(NULL);
            }
            if (res != CUDA_SUCCESS && res != CUDA_ERROR_NOT_READY) {
                return CU(res);
            }
            if (looks > 256) {
                bw_clock_sleep_us(20);
            }
        }
    }
    return BW_OK;
}

/*
 * Whoever relays opens for all ranks; if its relay could not be queued, by
 * writing the word that they watch. The others have nothing to do.
 */
static void release_shared(struct bw_gate *gate)
{
    if (gate->has_relay) {
        atomic_store(&gate->page->relay_flag, gate->shared_epoch);
    } else if (gate->relay_stream != NULL && !bw_cu_context_lost() &&
               bw_gpu_use(gate->gpu) == BW_OK) {
        CU_WARN(cu.MemsetD32Async(gate->shared_flag, gate->shared_epoch, 1, gate->relay_stream));
    }
}

void bw_gate_release(struct bw_gate *gate)
{
    if (!gate->is_shut) {
        return;
    }
    gate->is_shut = false;
    if (gate->is_shared) {
        release_shared(gate);
    } else {
        atomic_store(&gate->page->flag, gate->epoch);
    }
}

enum bw_status bw_gate_verdict(const struct bw_gate *gate)
{
    if (gate->is_shared && gate->has_relay && gate->page->relay.state == BW_GATE_TIMED_OUT) {
        bw_error("the ranks' gate was not opened within %.0f s", (double)gate->timeout_ns * 1e-9);
        return BW_ERR_TIMEOUT;
    }
    for (unsigned i = 0; i < gate->holds; i++) {
        if (state_of(gate, i) == BW_GATE_TIMED_OUT) {
            bw_error("the gate was not opened within %.0f s: the copies did not start together",
                     (double)gate->timeout_ns * 1e-9);
            return BW_ERR_TIMEOUT;
        }
    }
    return BW_OK;
}

uint64_t bw_gate_opened_ns(const struct bw_gate *gate)
{
    return gate->page->reports[0].opened_ns;
}

void bw_gate_set_timeout_ns(struct bw_gate *gate, uint64_t timeout_ns)
{
    gate->timeout_ns = timeout_ns;
}
