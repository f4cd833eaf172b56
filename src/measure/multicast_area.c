/* SPDX-License-Identifier: Apache-2.0 */
/* Memory behind a multicast address: whether there can be any, and whose turn it is. */
#include "multicast_area.h"

#include "ranks.h"

#include "bwtool/log.h"
#include "bwtool/multicast.h"
#include "bwtool/text.h"

#include <stdlib.h>
#include <string.h>

/* The rest is for what else an operator needs. */
static const double share_of_free = 0.8;

/* These are true if there is none; `*why` is for free(), and NULL if there is no memory for it:
 * then, too, no rank may go where the others do not. */
static bool is_missing_in_rank(const struct bw_session *session, char **why)
{
    for (int i = 0; i < session->world->ranks; i++) {
        const struct bw_rank_facts *facts = &session->ranks->facts[i];

        if (facts->is_multicast_off) {
            *why = bw_text_format("multicast is switched off by NCCL_NVLS_ENABLE=0 (rank %d)", i);
            return true;
        }
        if (!facts->has_multicast) {
            *why = bw_text_format("rank %d (%s): the GPU has no multicast: it needs NVSwitches, a "
                                  "GPU of compute capability 9.0 or newer, and no MIG",
                                  i, facts->host);
            return true;
        }
    }
    return false;
}

static bool is_missing_here(const struct bw_session *session, char **why)
{
    if (bw_multicast_is_off()) {
        *why = bw_text_format("multicast is switched off by NCCL_NVLS_ENABLE=0");
        return true;
    }
    if (session->gpus.count < 2) {
        *why = bw_text_format("multicast needs two GPUs, and there is one");
        return true;
    }
    for (int i = 0; i < session->gpus.count; i++) {
        if (!session->gpus.gpus[i].has_multicast) {
            *why = bw_text_format("GPU %d has no multicast: it needs NVSwitches, a GPU of compute "
                                  "capability 9.0 or newer, and no MIG",
                                  i);
            return true;
        }
    }
    return false;
}

/* What is known without trying. */
static bool is_known_missing(const struct bw_session *session, char **why)
{
    if (session->is_multicast_off) {
        *why = bw_text_format("multicast is switched off by --no-multicast");
        return true;
    }
    return session->ranks != NULL ? is_missing_in_rank(session, why)
                                  : is_missing_here(session, why);
}

static struct bw_multicast_area *build(const struct bw_session *session)
{
    const int count = session->ranks != NULL ? session->world->ranks : session->gpus.count;
    struct bw_multicast_area *area = calloc(1, sizeof(*area));
    struct bw_multicast_member *members = calloc((size_t)count, sizeof(*members));

    if (area == NULL || members == NULL) {
        free(area);
        free(members);
        return NULL;
    }
    area->status = BW_WAIVED;
    area->count = count;
    area->members = members;
    for (int i = 0; i < count; i++) {
        const bool is_here = session->ranks == NULL || i == session->world->rank;

        members[i].gpu = !is_here                 ? NULL
                         : session->ranks == NULL ? &session->gpus.gpus[i]
                                                  : &session->gpus.gpus[session->own];
    }
    return area;
}

/* Unbound, unmapped, released: in the reverse order. */
static void give_back(struct bw_multicast_area *area)
{
    for (int i = area->count; i-- > 0;) {
        if (area->members[i].is_bound) {
            bw_multicast_unbind(&area->object, area->members[i].gpu);
        }
        area->members[i].is_bound = false;
    }
    bw_share_close(&area->object);
    for (int i = area->count; i-- > 0;) {
        bw_share_close(&area->members[i].memory);
    }
}

/* Whatever it was: the rest works without. */
static void give_up_all(struct bw_session *session, const char *text)
{
    struct bw_multicast_area *area = session->area;
    const char *why = text != NULL ? text : bw_log_reason();

    if (session->ranks != NULL) {
        (void)bw_world_explain_all(session->world, area->status, why, &area->reason);
        (void)bw_world_agree_all(session->world, BW_OK, "giving multicast up");
    } else if (why != NULL) {
        area->reason = strdup(why);
    }
    area->status = BW_WAIVED;
    give_back(area);
}

/* Of the GPU that has least: what an operator's sizes may take. A larger one fails by itself. */
static enum bw_status find_room(const struct bw_session *session, uint64_t *room)
{
    enum bw_status st = BW_OK;

    *room = UINT64_MAX;
    for (int i = 0; session->ranks != NULL && i < session->world->ranks; i++) {
        const uint64_t free_bytes = session->ranks->facts[i].free_bytes;
        const uint64_t left =
            free_bytes > session->ranks->bytes ? free_bytes - session->ranks->bytes : 0;

        *room = left < *room ? left : *room;
    }
    for (int i = 0; session->ranks == NULL && i < session->gpus.count; i++) {
        size_t free_bytes = 0;
        size_t total = 0;

        TRY(bw_gpu_use(&session->gpus.gpus[i]));
        TRY(CU(cu.MemGetInfo(&free_bytes, &total)));
        *room = free_bytes < *room ? free_bytes : *room;
    }
    *room = (uint64_t)((double)*room * share_of_free);
out:
    return st;
}

enum bw_status bw_multicast_area_open_all(struct bw_session *session,
                                          const struct bw_multicast_want *want)
{
    struct bw_world *world = session->ranks != NULL ? session->world : &session->alone;
    struct bw_multicast_area *area = NULL;
    uint64_t bytes = want->operator_bytes;
    uint64_t room = 0;
    char *text = NULL;
    enum bw_status st = BW_OK;

    if (want->slots == 0 && want->operator_bytes == 0) {
        return BW_OK;
    }
    session->area = area = build(session);
    st = area == NULL ? bw_errno("no memory for what is behind a multicast address") : BW_OK;
    TRY(bw_world_agree_all(world, st, "making room for multicast"));
    if (is_known_missing(session, &area->reason)) {
        return BW_OK;
    }
    bw_log_mark();
    area->slots = want->slots;
    area->slot_bytes = (want->buffer_bytes + sizeof(uint32_t) + BW_RANKS_CONTROL_BYTES - 1) /
                       BW_RANKS_CONTROL_BYTES * BW_RANKS_CONTROL_BYTES;
    area->status = find_room(session, &room);
    bytes = bytes < room ? bytes : room;
    bytes = bytes > area->slots * area->slot_bytes ? bytes : area->slots * area->slot_bytes;
    area->status = bw_world_agree_all(world, area->status, "finding room for multicast");
    if (area->status == BW_OK) {
        area->status = bw_multicast_area_try_all(session, bytes, &text);
    }
    if (area->status != BW_OK) {
        give_up_all(session, text);
    }
    free(text);
out:
    return st;
}

void bw_multicast_area_close(struct bw_session *session)
{
    struct bw_multicast_area *area = session->area;

    if (area == NULL) {
        return;
    }
    give_back(area);
    free(area->members);
    free(area->reason);
    free(area);
    session->area = NULL;
}

void bw_multicast_area_begin(struct bw_multicast_area *area)
{
    if (area != NULL) {
        area->taken = 0;
    }
}

enum bw_status bw_multicast_area_take(struct bw_session *session, CUdeviceptr *all,
                                      CUdeviceptr *own)
{
    struct bw_multicast_area *area = session->area;
    const size_t offset = area->taken * area->slot_bytes;

    if (area->taken == area->slots) {
        bw_error("this launch needs more than the %u multicast buffers that there are",
                 area->slots);
        return BW_ERR_MEMORY;
    }
    area->taken++;
    *all = area->object.ptr + offset;
    *own = area->members[session->world->rank].memory.ptr + offset;
    return BW_OK;
}

enum bw_status bw_multicast_area_window(const struct bw_multicast_area *area, int r, uint64_t bytes,
                                        CUdeviceptr *all, CUdeviceptr *own)
{
    if (area == NULL || area->status != BW_OK || bytes > area->object.bytes) {
        bw_error("%.1f MiB behind a multicast address are needed, and there are %.1f MiB",
                 (double)bytes / (1024 * 1024),
                 area == NULL ? 0 : (double)area->object.bytes / (1024 * 1024));
        return BW_ERR_MEMORY;
    }
    *all = area->object.ptr;
    *own = area->members[r].memory.ptr;
    return BW_OK;
}
