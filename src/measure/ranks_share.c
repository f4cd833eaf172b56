/* SPDX-License-Identifier: Apache-2.0 */
/* The ranks' memory: each makes its own, offers it to all at once, and maps the others'. */
#include "gate.h"
#include "multicast_area.h"
#include "params.h"
#include "ranks.h"
#include "session.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A rank that does not come for a descriptor is not waited for longer. */
static const uint64_t exchange_patience_ns = 20ULL * 1000 * 1000 * 1000;

/* How much of what is free may be shared: the rest is for testcases of one process. */
static const double share_of_free = 0.8;

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* One rank's work, between its beginning and its end. */
struct sharing {
    struct bw_ranks *ranks;
    struct bw_session *session;
    struct bw_pass pass;
    int fd, *fds;
    struct bw_pass_ticket *tickets;
    char *refusal; /* in words, where the status is BW_WAIVED */
};

/* As much as is needed for slots or a window or, where memory is short, as fits in every rank. */
static void find_size(struct sharing *s, unsigned slots, uint64_t buffer_bytes,
                      uint64_t window_bytes)
{
    struct bw_ranks *ranks = s->ranks;
    const int count = s->session->world->ranks;
    size_t granularity = BW_RANKS_CONTROL_BYTES;
    double room = 0;
    size_t bytes = 0;

    for (int i = 0; i < count; i++) {
        const struct bw_rank_facts *facts = &ranks->facts[i];
        const double free_bytes = (double)facts->free_bytes * share_of_free;

        granularity = facts->granularity > granularity ? facts->granularity : granularity;
        room = i == 0 || free_bytes < room ? free_bytes : room;
    }
    ranks->slot_bytes = round_up(buffer_bytes, BW_RANKS_CONTROL_BYTES);
    while (slots > 1 && (double)ranks->slot_bytes * slots > room) {
        slots--;
    }
    ranks->slots = slots;
    bytes = slots * ranks->slot_bytes;
    if ((double)window_bytes > room) {
        window_bytes = (uint64_t)room;
    }
    bytes = bytes < window_bytes ? window_bytes : bytes;
    ranks->bytes = round_up(BW_RANKS_CONTROL_BYTES + bytes, granularity);
}

static enum bw_status clear_control(const struct sharing *s, const struct bw_share *own)
{
    const CUstream stream = bw_session_stream(s->session, s->session->own);
    enum bw_status st = BW_OK;

    TRY(CU(cu.MemsetD32Async(own->ptr, 0, sizeof(struct bw_shared_control) / 4, stream)));
    TRY(bw_stream_wait(stream, exchange_patience_ns, "clearing shared memory"));
out:
    return st;
}

/* All that can be done before the others are asked for anything. */
static enum bw_status make_offer(struct sharing *s, struct bw_rank_offer *offer)
{
    const struct bw_world *world = s->session->world;
    const struct bw_gpu *gpu = &s->session->gpus.gpus[s->session->own];
    struct bw_share *own = &s->ranks->shares[world->rank];
    enum bw_status st = BW_OK;

    s->fds = calloc((size_t)world->ranks, sizeof(*s->fds));
    s->tickets = calloc((size_t)world->ranks, sizeof(*s->tickets));
    if (s->fds == NULL || s->tickets == NULL) {
        return bw_errno("no memory for descriptors");
    }
    for (int i = 0; i < world->ranks; i++) {
        s->fds[i] = -1;
    }
    TRY(bw_gpu_use(gpu));
    TRY(bw_share_reserve(&s->ranks->base, (size_t)world->ranks * s->ranks->bytes));
    for (int i = 0; i < world->ranks; i++) {
        s->ranks->shares[i].place = s->ranks->base + (size_t)i * s->ranks->bytes;
    }
    TRY(bw_share_create(own, gpu, s->ranks->kind, s->ranks->bytes));
    TRY(clear_control(s, own));
    TRY(bw_share_export(own, &s->fd, &offer->token));
    if (s->ranks->kind == SHARE_FD) {
        TRY(bw_pass_open(&s->pass, world->rank, world->ranks));
        offer->ticket = s->pass.ticket;
    }
    offer->bytes = s->ranks->bytes;
out:
    return st;
}

/* The ranks' one all-gather; BW_ERR_PEER if another could not offer anything. */
static enum bw_status gather_offers(struct sharing *s, enum bw_status mine,
                                    struct bw_rank_offer *offer, struct bw_rank_offer *all)
{
    struct bw_world *world = s->session->world;
    enum bw_status st = BW_OK;

    offer->status = (int32_t)mine;
    TRY(bw_world_gather_all(world, offer, all, sizeof(*offer)));
    for (int i = 0; i < world->ranks; i++) {
        if (all[i].status != (int32_t)BW_OK && mine == BW_OK) {
            return BW_ERR_PEER;
        }
    }
    st = mine;
out:
    return st;
}

static enum bw_status fetch_descriptors(struct sharing *s, const struct bw_rank_offer *all)
{
    const int count = s->session->world->ranks;
    enum bw_status st = BW_OK;

    for (int i = 0; i < count; i++) {
        s->tickets[i] = all[i].ticket;
    }
    st = bw_pass_exchange(&s->pass, s->tickets, s->fd, s->ranks->bytes,
                          bw_clock_ns() + exchange_patience_ns, s->fds);
    explicit_bzero(s->tickets, (size_t)count * sizeof(*s->tickets));
    return st;
}

/* In words, and what would show or mend it. */
static char *refusal_of(const struct bw_ranks *ranks, int mine, int other, CUresult why)
{
    const struct bw_rank_facts *a = &ranks->facts[mine];
    const struct bw_rank_facts *b = &ranks->facts[other];
    const char *nvml = a->host_rank == b->host_rank ? bw_nvml_p2p_reason(a->uuid, b->uuid) : NULL;

    return bw_text_format("[%s] GPU %d (%s) cannot reach the memory of rank %d's GPU %d (%s)%s%s "
                          "(nvidia-smi topo -p2p r shows why)",
                          bw_cu_error_name(why), a->ordinal, a->pci, other, b->ordinal, b->pci,
                          nvml == NULL ? "" : ": ", nvml == NULL ? "" : nvml);
}

static enum bw_status map_others(struct sharing *s, const struct bw_rank_offer *all)
{
    const struct bw_world *world = s->session->world;
    const struct bw_gpu *gpu = &s->session->gpus.gpus[s->session->own];
    enum bw_status st = BW_OK;

    for (int i = 0; i < world->ranks; i++) {
        struct bw_share *share = &s->ranks->shares[i];
        CUresult why = CUDA_SUCCESS;

        if (i == world->rank) {
            continue;
        }
        TRY(bw_share_import(share, s->ranks->kind, s->fds[i], &all[i].token, s->ranks->bytes));
        st = bw_share_map(share, gpu, &why);
        if (st == BW_WAIVED) {
            s->refusal = refusal_of(s->ranks, world->rank, i, why);
        }
        TRY(st);
    }
out:
    return st;
}

static void end_sharing(struct sharing *s)
{
    for (int i = 0; s->fds != NULL && i < s->session->world->ranks; i++) {
        if (s->fds[i] >= 0) {
            close(s->fds[i]);
        }
    }
    if (s->fd >= 0) {
        close(s->fd);
    }
    bw_pass_close(&s->pass);
    free(s->fds);
    free(s->tickets);
    free(s->refusal);
}

/* Every rank's own part, with a collective call after each; `st` is what it has come to so far. */
static enum bw_status exchange_all(struct sharing *s, enum bw_status st)
{
    struct bw_world *world = s->session->world;
    struct bw_rank_offer offer = {.status = BW_OK};
    struct bw_rank_offer *all = calloc((size_t)world->ranks, sizeof(*all));

    st = st == BW_OK && all == NULL ? bw_errno("no memory for what ranks offer") : st;
    TRY(bw_world_agree_all(world, st, "making room for what ranks share"));
    st = make_offer(s, &offer);
    TRY(gather_offers(s, st, &offer, all));
    bw_world_tell(world, "fetching the other ranks' descriptors", NULL);
    st = s->ranks->kind == SHARE_FD ? fetch_descriptors(s, all) : BW_OK;
    bw_world_tell(world, "mapping the other ranks' memory", NULL);
    st = st == BW_OK ? map_others(s, all) : st;
    TRY(bw_world_agree_all(world, st, "mapping shared memory"));
out:
    explicit_bzero(&offer, sizeof(offer));
    if (all != NULL) {
        explicit_bzero(all, (size_t)world->ranks * sizeof(*all));
    }
    free(all);
    return st;
}

/* What the greediest of the testcases needs of each rank. */
static enum bw_status find_slots(const struct bw_ranks *ranks, int rank_count,
                                 const struct bw_testcase *const *cases, size_t count,
                                 unsigned *slots, unsigned *multicast_slots)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < count; i++) {
        struct bw_plan plan = {0};
        unsigned needs = 0;
        unsigned needs_multicast = 0;

        TRY(bw_plan_build(&plan, cases[i], rank_count, NULL));
        needs = bw_ranks_slots(&plan, rank_count, ranks->taken);
        needs_multicast = bw_ranks_multicast_slots(&plan);
        bw_plan_free(&plan);
        *slots = needs > *slots ? needs : *slots;
        *multicast_slots = needs_multicast > *multicast_slots ? needs_multicast : *multicast_slots;
    }
out:
    return st;
}

static void open_gate(struct bw_session *session, enum bw_status *st)
{
    const struct bw_ranks *ranks = session->ranks;
    const CUdeviceptr flag = ranks->shares[0].ptr + offsetof(struct bw_shared_control, gate);

    *st = bw_gate_share(session->gate, &session->gpus.gpus[session->own], flag,
                        bw_world_is_root(session->world));
}

/* A driver that fails is not a machine that lacks something: the testcases fail, too. */
static void say_trouble(struct bw_ranks *ranks, const struct bw_world *world)
{
    char *why = NULL;

    if (bw_ranks_has_trouble(ranks->facts, world->ranks, &why)) {
        free(ranks->reason);
        ranks->reason = why;
        ranks->status = BW_ERR_CUDA;
        if (bw_world_is_root(world)) {
            bw_error("%s", ranks->reason != NULL ? ranks->reason : "memory cannot be shared");
        }
    }
}

enum bw_status bw_session_share_all(struct bw_session *session,
                                    const struct bw_testcase *const *cases, size_t count,
                                    const struct bw_operator_needs *needs,
                                    const struct bw_sampling *sampling)
{
    struct bw_world *world = session->world;
    struct bw_ranks *ranks = session->ranks;
    struct sharing s = {.ranks = ranks, .session = session, .fd = -1, .pass.listener = -1};
    const uint64_t start_ns = bw_clock_ns();
    unsigned slots = 0;
    struct bw_multicast_want want = {.buffer_bytes = sampling->buffer_bytes,
                                     .operator_bytes = needs->multicast_bytes};
    enum bw_status st = BW_OK;

    session->is_multicast_off = sampling->no_multicast;
    if (ranks == NULL) {
        return bw_multicast_area_open_all(session, &want);
    }
    if (ranks->facts == NULL) {
        return BW_OK;
    }
    bw_log_mark();
    ranks->kind = bw_ranks_choose_kind(ranks->facts, world->ranks, &ranks->reason);
    if (ranks->kind == SHARE_NONE) {
        say_trouble(ranks, world);
        return BW_OK;
    }
    st = find_slots(ranks, world->ranks, cases, count, &slots, &want.slots);
    find_size(&s, slots, sampling->buffer_bytes, needs->window_bytes);
    st = exchange_all(&s, st);
    if (st == BW_OK) {
        open_gate(session, &st);
        st = bw_world_agree_all(world, st, "opening the ranks' gate");
    }
    if (st == BW_OK) {
        st = bw_ranks_find_skew_all(session);
    }
    if (st != BW_OK) {
        st = bw_world_explain_all(world, st, s.refusal != NULL ? s.refusal : bw_log_reason(),
                                  &ranks->reason);
    }
    ranks->status = st;
    ranks->open_ms = (double)(bw_clock_ns() - start_ns) * 1e-6;
    if (st == BW_OK && bw_world_is_root(world)) {
        bw_verbose("%d ranks share %.1f MiB each by %s: %.1f ms; their streams start within %.0f "
                   "ns of the first's",
                   world->ranks, (double)ranks->bytes / (1024 * 1024), bw_share_name(ranks->kind),
                   ranks->open_ms, ranks->skew_ns);
    }
    end_sharing(&s);
    return st == BW_OK ? bw_multicast_area_open_all(session, &want) : BW_OK;
}
