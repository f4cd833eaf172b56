/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of all ranks behind one address, in the order that does not hang: all
 * must have joined before any binds, and have bound before any maps. After each
 * step all know whether all took it; then one real store is tried. Whatever
 * fails, the ranks go on without.
 */
#include "params.h"
#include "ranks.h"
#include "session.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/multicast.h"
#include "bwtool/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const uint64_t patience_ns = 10ULL * 1000 * 1000 * 1000;

enum { PROBE_BYTES = 4096, PROBE_SEED = 0x5eed };

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* One rank's step that failed, in words for all. */
struct attempt {
    struct bw_session *session;
    struct bw_ranks_multicast *multicast;
    struct bw_pass pass;
    int fd;
    char *text;
};

/* The driver's answer to a step as a status; what is usually behind it is said, too. */
static enum bw_status answer(struct attempt *a, CUresult res, const char *step)
{
    if (res == CUDA_SUCCESS) {
        return BW_OK;
    }
    free(a->text);
    a->text = bw_text_format(
        "multicast does not work here: %s answered %d [%s]%s", step, (int)res,
        bw_cu_error_name(res),
        res == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH || res == CUDA_ERROR_ILLEGAL_STATE ||
                res == CUDA_ERROR_SYSTEM_NOT_READY
            ? ": the NVSwitch fabric is not ready for it (systemctl status nvidia-fabricmanager; "
              "nvidia-smi -q shows Fabric)"
            : "");
    return BW_WAIVED;
}

/* What is known without trying; NULL: nothing speaks against it. */
static char *known_reason(const struct bw_session *session)
{
    const struct bw_ranks *ranks = session->ranks;

    if (session->is_multicast_off) {
        return bw_text_format("multicast is switched off by --no-multicast");
    }
    for (int i = 0; i < session->world->ranks; i++) {
        const struct bw_rank_facts *facts = &ranks->facts[i];

        if (facts->is_multicast_off) {
            return bw_text_format("multicast is switched off by NCCL_NVLS_ENABLE=0 (rank %d)", i);
        }
        if (!facts->has_multicast) {
            return bw_text_format("rank %d (%s): the GPU has no multicast: it needs NVSwitches, a "
                                  "GPU of compute capability 9.0 or newer, and no MIG",
                                  i, facts->host);
        }
    }
    return bw_multicast_is_there() ? NULL : bw_text_format("the driver has no multicast");
}

/* Rank 0 makes the object. */
static enum bw_status create(struct attempt *a, unsigned slots, struct bw_rank_offer *offer)
{
    struct bw_ranks *ranks = a->session->ranks;
    struct bw_ranks_multicast *m = a->multicast;
    const int count = a->session->world->ranks;
    size_t granularity = 0;
    size_t bytes = slots * m->slot_bytes;
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(&a->session->gpus.gpus[a->session->own]));
    TRY(answer(a, bw_multicast_granularity(ranks->kind, count, bytes, &granularity),
               "cuMulticastGetGranularity"));
    granularity = granularity > ranks->facts[0].granularity ? granularity
                                                            : (size_t)ranks->facts[0].granularity;
    bytes = round_up(bytes, granularity);
    TRY(answer(a, bw_multicast_create(&m->object, ranks->kind, count, bytes), "cuMulticastCreate"));
    TRY(bw_share_export(&m->object, &a->fd, &offer->token));
    if (ranks->kind == SHARE_FD) {
        TRY(bw_pass_open(&a->pass, a->session->world->rank, count));
        offer->ticket = a->pass.ticket;
    }
    offer->bytes = bytes;
out:
    return st;
}

/* The others get it. */
static enum bw_status fetch(struct attempt *a, const struct bw_rank_offer *offer)
{
    const struct bw_world *world = a->session->world;
    const enum bw_share_kind kind = a->session->ranks->kind;
    const uint64_t deadline_ns = bw_clock_ns() + patience_ns;
    const struct bw_pass me = {.listener = -1, .me = world->rank, .ranks = world->ranks};
    uint64_t bytes = 0;
    enum bw_status st = BW_OK;

    if (bw_world_is_root(world)) {
        return kind != SHARE_FD ? BW_OK
                                : bw_pass_serve(&a->pass, NULL, a->fd, offer->bytes, deadline_ns);
    }
    if (kind == SHARE_FD) {
        TRY(bw_pass_fetch(&me, &offer->ticket, 0, deadline_ns, &a->fd, &bytes));
    }
    TRY(bw_share_import(&a->multicast->object, kind, a->fd, &offer->token, offer->bytes));
out:
    return st;
}

static enum bw_status join(struct attempt *a)
{
    return answer(a,
                  bw_multicast_join(&a->multicast->object, &a->session->gpus.gpus[a->session->own]),
                  "cuMulticastAddDevice");
}

static enum bw_status bind(struct attempt *a)
{
    struct bw_ranks_multicast *m = a->multicast;
    enum bw_status st = BW_OK;

    TRY(bw_share_create(&m->memory, &a->session->gpus.gpus[a->session->own],
                        a->session->ranks->kind, m->object.bytes));
    TRY(answer(a, bw_multicast_bind(&m->object, &m->memory), "cuMulticastBindMem"));
    m->is_bound = true;
out:
    return st;
}

static enum bw_status map(struct attempt *a)
{
    CUresult why = CUDA_SUCCESS;
    enum bw_status st =
        bw_share_map(&a->multicast->object, &a->session->gpus.gpus[a->session->own], &why);

    return st == BW_WAIVED ? answer(a, why, "cuMemSetAccess to the multicast address") : st;
}

/* One real store by rank 0: what supports multicast by its word may still not do it. */
static enum bw_status store_probe(struct attempt *a)
{
    const int own = a->session->own;
    const struct bw_gpu *gpu = &a->session->gpus.gpus[own];
    CUstream stream = bw_session_stream(a->session, own);
    uint64_t bytes = PROBE_BYTES;
    uint32_t seed = PROBE_SEED;
    void *args[] = {&a->multicast->object.ptr, &bytes, &seed};
    enum bw_status st = BW_OK;

    if (!bw_world_is_root(a->session->world)) {
        return BW_OK;
    }
    TRY(bw_gpu_use(gpu));
    TRY(bw_kernel_launch(gpu, KERNEL_multicast_poison, 1, 512, stream, args));
    TRY(bw_stream_wait(stream, patience_ns, "trying a multicast store"));
out:
    return st;
}

/* Each rank looks whether it has come. */
static enum bw_status look_for_probe(struct attempt *a)
{
    const int own = a->session->own;
    CUstream stream = bw_session_stream(a->session, own);
    struct bw_slip slip = bw_session_slip(a->session, own, 0, 0);
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(&a->session->gpus.gpus[own]));
    for (uint32_t at = 0; at < PROBE_BYTES; at += PROBE_BYTES / 2) {
        const CUdeviceptr from = a->multicast->memory.ptr + at;
        uint32_t got = 0;

        TRY(CU(cu.MemcpyAsync((CUdeviceptr)(uintptr_t)slip.host, from, sizeof(got), stream)));
        TRY(bw_stream_wait(stream, patience_ns, "reading what a multicast store has written"));
        memcpy(&got, slip.host, sizeof(got));
        if (got != ~bw_pattern_word(at / 4, PROBE_SEED)) {
            a->text = bw_text_format("multicast does not work here: a store did not arrive, though "
                                     "the driver says that it is supported (some NVLink bridges)");
            return BW_WAIVED;
        }
    }
out:
    return st;
}

static enum bw_status agree(struct attempt *a, enum bw_status mine, const char *step)
{
    return bw_world_agree_all(a->session->world, mine, step);
}

static enum bw_status attempt_all(struct attempt *a, unsigned slots, struct bw_rank_offer *all)
{
    struct bw_world *world = a->session->world;
    struct bw_rank_offer offer = {.status = BW_OK};
    enum bw_status st = all == NULL ? bw_errno("no memory for offers") : BW_OK;

    st = st == BW_OK && bw_world_is_root(world) ? create(a, slots, &offer) : st;
    TRY(agree(a, st, "making a multicast object"));
    TRY(bw_world_gather_all(world, &offer, all, sizeof(offer)));
    TRY(agree(a, fetch(a, &all[0]), "fetching the multicast object"));
    TRY(agree(a, join(a), "joining the multicast object"));
    TRY(agree(a, bind(a), "binding memory to the multicast object"));
    TRY(agree(a, map(a), "mapping the multicast object"));
    TRY(agree(a, store_probe(a), "trying a multicast store"));
    TRY(agree(a, look_for_probe(a), "looking for what it has written"));
out:
    explicit_bzero(&offer, sizeof(offer));
    return st;
}

void bw_ranks_open_multicast_all(struct bw_session *session, unsigned slots, uint64_t buffer_bytes)
{
    struct bw_world *world = session->world;
    struct bw_ranks_multicast *m = &session->ranks->multicast;
    struct attempt a = {.session = session, .multicast = m, .fd = -1, .pass.listener = -1};
    struct bw_rank_offer *all = NULL;

    m->reason = known_reason(session);
    if (m->reason != NULL || slots == 0) {
        return;
    }
    bw_log_mark();
    m->slot_bytes = round_up(buffer_bytes + sizeof(uint32_t), BW_RANKS_CONTROL_BYTES);
    m->slots = slots;
    all = calloc((size_t)world->ranks, sizeof(*all));
    m->status = attempt_all(&a, slots, all);
    if (m->status != BW_OK) {
        (void)bw_world_explain_all(world, m->status, a.text != NULL ? a.text : bw_log_reason(),
                                   &m->reason);
        m->status = BW_WAIVED; /* whatever it was: the rest works without */
        (void)bw_world_agree_all(world, BW_OK, "giving multicast up");
        bw_ranks_close_multicast(session);
    }
    if (a.fd >= 0) {
        close(a.fd);
    }
    bw_pass_close(&a.pass);
    free(a.text);
    free(all);
}

void bw_ranks_close_multicast(struct bw_session *session)
{
    struct bw_ranks_multicast *m = &session->ranks->multicast;

    if (m->is_bound) {
        bw_multicast_unbind(&m->object, &session->gpus.gpus[session->own]);
    }
    bw_share_close(&m->object);
    bw_share_close(&m->memory);
    m->is_bound = false;
}

enum bw_status bw_ranks_take_multicast(struct bw_ranks *ranks, CUdeviceptr *all, CUdeviceptr *own)
{
    struct bw_ranks_multicast *m = &ranks->multicast;
    const size_t offset = m->taken * m->slot_bytes;

    if (m->taken == m->slots) {
        bw_error("this launch needs more than the %u multicast buffers that there are", m->slots);
        return BW_ERR_MEMORY;
    }
    m->taken++;
    *all = m->object.ptr + offset;
    *own = m->memory.ptr + offset;
    return BW_OK;
}
