/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the order that does not hang: all must have joined before any binds, and
 * have bound before any maps. After each step all ranks know whether all took
 * it; then one real store is tried. Whatever fails, the run goes on without.
 * One process that drives all GPUs takes the same steps, one GPU after another.
 */
#include "multicast_area.h"

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

/* One process's steps; what failed in words for all. */
struct attempt {
    struct bw_session *session;
    struct bw_multicast_area *area;
    enum bw_share_kind kind;
    size_t bytes;
    struct bw_pass pass;
    int fd;
    char *text;
};

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static struct bw_world *world_of(struct bw_session *session)
{
    return session->ranks != NULL ? session->world : &session->alone;
}

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

/* Of the memory that is bound: sizes are multiples of it, too. */
static enum bw_status find_unit(const struct bw_session *session, size_t *unit)
{
    *unit = 1;
    if (session->ranks == NULL) {
        return bw_share_granularity(&session->gpus.gpus[0], SHARE_FD, unit);
    }
    for (int i = 0; i < session->world->ranks; i++) {
        const uint64_t own = session->ranks->facts[i].granularity;

        *unit = own > *unit ? (size_t)own : *unit;
    }
    return BW_OK;
}

/* The first rank makes the object. */
static enum bw_status create(struct attempt *a, struct bw_rank_offer *offer)
{
    struct bw_multicast_area *area = a->area;
    size_t granularity = 0;
    size_t unit = 0;
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(area->members[0].gpu));
    TRY(answer(a, bw_multicast_granularity(a->kind, area->count, a->bytes, &granularity),
               "cuMulticastGetGranularity"));
    TRY(find_unit(a->session, &unit));
    a->bytes = round_up(a->bytes, granularity > unit ? granularity : unit);
    TRY(answer(a, bw_multicast_create(&area->object, a->kind, area->count, a->bytes),
               "cuMulticastCreate"));
    if (a->session->ranks == NULL) {
        return BW_OK; /* nobody has to get it */
    }
    TRY(bw_share_export(&area->object, &a->fd, &offer->token));
    if (a->kind == SHARE_FD) {
        TRY(bw_pass_open(&a->pass, a->session->world->rank, area->count));
        offer->ticket = a->pass.ticket;
    }
    offer->bytes = a->bytes;
out:
    return st;
}

/* The others get it. */
static enum bw_status fetch(struct attempt *a, const struct bw_rank_offer *offer)
{
    const struct bw_world *world = world_of(a->session);
    const uint64_t deadline_ns = bw_clock_ns() + patience_ns;
    const struct bw_pass me = {.listener = -1, .me = world->rank, .ranks = world->ranks};
    uint64_t bytes = 0;
    enum bw_status st = BW_OK;

    if (a->session->ranks == NULL) {
        return BW_OK;
    }
    if (bw_world_is_root(world)) {
        return a->kind != SHARE_FD
                   ? BW_OK
                   : bw_pass_serve(&a->pass, NULL, a->fd, offer->bytes, deadline_ns);
    }
    if (a->kind == SHARE_FD) {
        TRY(bw_pass_fetch(&me, &offer->ticket, 0, deadline_ns, &a->fd, &bytes));
    }
    TRY(bw_share_import(&a->area->object, a->kind, a->fd, &offer->token, offer->bytes));
out:
    return st;
}

static enum bw_status join(struct attempt *a, struct bw_multicast_member *m)
{
    return answer(a, bw_multicast_join(&a->area->object, m->gpu), "cuMulticastAddDevice");
}

static enum bw_status bind(struct attempt *a, struct bw_multicast_member *m)
{
    enum bw_status st = BW_OK;

    TRY(bw_share_create(&m->memory, m->gpu, a->kind, a->area->object.bytes));
    TRY(answer(a, bw_multicast_bind(&a->area->object, &m->memory), "cuMulticastBindMem"));
    m->is_bound = true;
out:
    return st;
}

/* A process has one mapping, and lets each of its GPUs use it. */
static enum bw_status map(struct attempt *a, struct bw_multicast_member *m)
{
    struct bw_share *object = &a->area->object;
    CUresult why = CUDA_SUCCESS;
    const enum bw_status st = object->is_mapped ? bw_share_grant(object, m->gpu, &why)
                                                : bw_share_map(object, m->gpu, &why);

    return st == BW_WAIVED ? answer(a, why, "cuMemSetAccess to the multicast address") : st;
}

/* Whether the first rank's store has come. */
static enum bw_status look_for_probe(struct attempt *a, struct bw_multicast_member *m)
{
    CUstream stream = bw_session_stream(a->session, m->gpu->ordinal);
    const struct bw_slip slip = bw_session_slip(a->session, m->gpu->ordinal, 0, 0);
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(m->gpu));
    for (uint32_t at = 0; at < PROBE_BYTES; at += PROBE_BYTES / 2) {
        const CUdeviceptr from = m->memory.ptr + at;
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

static enum bw_status each(struct attempt *a,
                           enum bw_status step(struct attempt *, struct bw_multicast_member *))
{
    enum bw_status st = BW_OK;

    for (int i = 0; i < a->area->count && st == BW_OK; i++) {
        st = a->area->members[i].gpu != NULL ? step(a, &a->area->members[i]) : BW_OK;
    }
    return st;
}

/* One real store by rank 0: what supports multicast by its word may still not do it. */
static enum bw_status store_probe(struct attempt *a)
{
    const struct bw_gpu *gpu = a->area->members[0].gpu;
    uint64_t bytes = PROBE_BYTES;
    uint32_t seed = PROBE_SEED;
    void *args[] = {&a->area->object.ptr, &bytes, &seed};
    CUstream stream = NULL;
    enum bw_status st = BW_OK;

    if (gpu == NULL) {
        return BW_OK;
    }
    stream = bw_session_stream(a->session, gpu->ordinal);
    TRY(bw_gpu_use(gpu));
    TRY(bw_kernel_launch(gpu, KERNEL_multicast_poison, 1, 512, stream, args));
    TRY(bw_stream_wait(stream, patience_ns, "trying a multicast store"));
out:
    return st;
}

static enum bw_status agree(struct attempt *a, enum bw_status mine, const char *step)
{
    return bw_world_agree_all(world_of(a->session), mine, step);
}

/* Drivers of the ranks' hosts may differ: who lacks it tells the others. */
static enum bw_status find_driver(struct attempt *a)
{
    if (bw_multicast_is_there()) {
        return BW_OK;
    }
    a->text = bw_text_format("the driver has no multicast");
    return BW_WAIVED;
}

static enum bw_status attempt_all(struct attempt *a, struct bw_rank_offer *all)
{
    struct bw_world *world = world_of(a->session);
    struct bw_rank_offer offer = {.status = BW_OK};
    enum bw_status st = all == NULL ? bw_errno("no memory for offers") : BW_OK;

    st = st == BW_OK ? find_driver(a) : st;
    st = st == BW_OK && bw_world_is_root(world) ? create(a, &offer) : st;
    TRY(agree(a, st, "making a multicast object"));
    TRY(bw_world_gather_all(world, &offer, all, sizeof(offer)));
    TRY(agree(a, fetch(a, &all[0]), "fetching the multicast object"));
    TRY(agree(a, each(a, join), "joining the multicast object"));
    TRY(agree(a, each(a, bind), "binding memory to the multicast object"));
    TRY(agree(a, each(a, map), "mapping the multicast object"));
    TRY(agree(a, store_probe(a), "trying a multicast store"));
    TRY(agree(a, each(a, look_for_probe), "looking for what it has written"));
out:
    explicit_bzero(&offer, sizeof(offer));
    return st;
}

enum bw_status bw_multicast_area_try_all(struct bw_session *session, size_t bytes, char **text)
{
    struct attempt a = {.session = session,
                        .area = session->area,
                        .kind = session->ranks != NULL ? session->ranks->kind : SHARE_FD,
                        .bytes = bytes,
                        .pass.listener = -1,
                        .fd = -1};
    struct bw_rank_offer *all = calloc((size_t)world_of(session)->ranks, sizeof(*all));
    const enum bw_status st = attempt_all(&a, all);

    if (a.fd >= 0) {
        close(a.fd);
    }
    bw_pass_close(&a.pass);
    free(all);
    *text = a.text;
    return st;
}
