/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked for, held against what all ranks have: what it needs, and why it cannot be. */
#include "shmem.h"

#include "../measure/ranks.h"

#include "bwtool/log.h"
#include "bwtool/text.h"

#include <math.h>
#include <stdlib.h>

static int ranks_there(const struct bw_session *session)
{
    return session->ranks != NULL ? session->world->ranks : session->gpus.count;
}

/* NULL: there are as many as the request is of. */
static char *ranks_why_not(const struct bw_session *session, const struct bw_shmem_request *request)
{
    const int there = ranks_there(session);

    if (request->ranks == 0 || request->ranks == there ||
        (request->ranks < there && session->ranks == NULL)) {
        return NULL;
    }
    return shmem_ranks_reason(request->ranks, there);
}

char *shmem_ranks_reason(int asked, int there)
{
    return asked > there ? bw_text_reason("needs %d GPUs, and there are %d", asked, there)
                         : bw_text_reason("%d of %d ranks: under mpirun all ranks take part (start "
                                          "as many, or one process without mpirun)",
                                          asked, there);
}

struct shmem_machine shmem_machine_of(const struct bw_session *session,
                                      const struct bw_shmem_request *request)
{
    const bool is_shared = session->ranks != NULL;
    const int there = ranks_there(session);
    struct shmem_machine machine = {
        .ranks = request->ranks > 0 && request->ranks < there ? request->ranks : there,
        .sm_count = INT32_MAX,
        .has_bulk = true};

    for (int i = 0; i < machine.ranks; i++) {
        const struct bw_gpu *gpu = is_shared ? NULL : &session->gpus.gpus[i];
        const struct bw_rank_facts *facts = is_shared ? &session->ranks->facts[i] : NULL;
        const int sm_count = is_shared ? facts->sm_count : gpu->sm_count;

        machine.sm_count = sm_count < machine.sm_count ? sm_count : machine.sm_count;
        machine.has_bulk &= is_shared ? facts->has_bulk != 0 : bw_kernel_has_bulk(gpu);
    }
    if (session->area != NULL) { /* else it will be made, or nothing asks for it */
        machine.no_multicast = machine.ranks < there
                                   ? "multicast is set up over all GPUs, and these are fewer"
                                   : bw_session_no_multicast(session);
    }
    return machine;
}

struct shmem_machine shmem_machine_to_plan(const struct bw_gpus *gpus, int ranks)
{
    struct shmem_machine machine = {.ranks = ranks, .sm_count = 132, .has_bulk = true};

    for (int i = 0; gpus != NULL && i < gpus->count && i < ranks; i++) {
        const int sm_count = gpus->gpus[i].sm_count;

        machine.sm_count = i == 0 || sm_count < machine.sm_count ? sm_count : machine.sm_count;
        machine.has_bulk &= bw_kernel_has_bulk(&gpus->gpus[i]);
        if (!gpus->gpus[i].has_multicast) {
            machine.no_multicast = "not all of these GPUs have multicast";
        }
    }
    return machine;
}

/* The next size after `bytes`; 0 after the last. */
uint64_t shmem_next_bytes(const struct bw_operator *row, const struct bw_shmem_request *request,
                          double *bytes)
{
    const bool is_one = request->factor <= 1 || (row->tc.op == OP_SIGNAL && !request->is_swept) ||
                        row->op == SHMEM_BARRIER ||
                        (shmem_is_routed(row->op) && request->route.tokens > 0);

    const double most = (double)request->bytes_max * (1 + 1e-9);
    const double before = *bytes;

    do { /* of dispatch and combine those sizes that are other numbers of tokens */
        *bytes = *bytes == 0 ? (double)request->bytes_min
                 : is_one    ? INFINITY
                             : *bytes * request->factor;
    } while (before > 0 && *bytes <= most && shmem_is_routed(row->op) &&
             shmem_route_tokens(row, request, (uint64_t)llround(before)) ==
                 shmem_route_tokens(row, request, (uint64_t)llround(*bytes)));
    return *bytes <= most ? (uint64_t)llround(*bytes) : 0;
}

uint64_t bw_shmem_window_bytes(const struct bw_session *session, const struct bw_operator *row,
                               const struct bw_shmem_request *request)
{
    const struct shmem_machine machine = shmem_machine_of(session, request);
    char *why = ranks_why_not(session, request);
    struct shmem_case *c = NULL;
    uint64_t most = 0;
    double at = 0;

    if (why != NULL || machine.ranks > BW_SHMEM_RANKS_MAX) {
        free(why);
        return 0; /* a case has no room for them, or there are fewer: it will be waived */
    }
    c = calloc(1, sizeof(*c));
    for (uint64_t bytes = shmem_next_bytes(row, request, &at); c != NULL && bytes > 0;
         bytes = shmem_next_bytes(row, request, &at)) {
        char *reason = shmem_case_set(c, row, request, &machine, bytes, 0);
        uint64_t needs = 0;

        if (reason == NULL) {
            (void)shmem_route_open(c); /* without memory: as much as any routes need */
            needs = shmem_window_bytes(c);
            shmem_route_close(c);
        }
        most = needs > most ? needs : most;
        free(reason);
    }
    free(c);
    return most;
}

/* The first `ranks` of them, each with each. */
static bool has_peers(const struct bw_gpus *gpus, int ranks)
{
    for (int i = 0; i < ranks * ranks; i++) {
        if (!gpus->peer[i / ranks * gpus->count + i % ranks]) {
            return false;
        }
    }
    return true;
}

uint64_t bw_shmem_multicast_bytes(const struct bw_session *session, const struct bw_operator *row,
                                  const struct bw_shmem_request *request)
{
    struct shmem_machine machine = shmem_machine_of(session, request);
    struct shmem_case *c = NULL;
    uint64_t most = 0;
    double at = 0;

    if ((row->algorithm != ALGORITHM_MULTICAST && request->algorithm != ALGORITHM_MULTICAST) ||
        machine.ranks < 2 || machine.ranks < ranks_there(session) ||
        machine.ranks > BW_SHMEM_RANKS_MAX ||
        (session->ranks == NULL && !has_peers(&session->gpus, machine.ranks))) {
        return 0; /* it will not run */
    }
    c = calloc(1, sizeof(*c));
    for (uint64_t bytes = shmem_next_bytes(row, request, &at); c != NULL && bytes > 0;
         bytes = shmem_next_bytes(row, request, &at)) {
        char *reason = shmem_case_set(c, row, request, &machine, bytes, 0);
        const uint64_t needs = reason == NULL ? shmem_area_bytes(c) : 0;

        most = needs > most ? needs : most;
        free(reason);
    }
    free(c);
    return most;
}

/* What was asked for contradicts itself: on a machine that has everything it cannot be, either, and
 * the plain row can be on this one. */
static bool is_contradiction(struct shmem_case *c, const struct bw_operator *row,
                             const struct bw_shmem_request *request,
                             const struct shmem_machine *machine)
{
    const uint64_t bytes = request->bytes_min;
    const struct bw_shmem_request plain = {.bytes_min = bytes,
                                           .is_swept = request->is_swept,
                                           .has_dtype = request->has_dtype,
                                           .dtype = request->dtype};
    const struct shmem_machine better = {.ranks = machine->ranks > 1 ? machine->ranks : 2,
                                         .sm_count = machine->sm_count,
                                         .has_bulk = true};
    char *anywhere = shmem_case_set(c, row, request, &better, bytes, 0);
    char *here = shmem_case_set(c, row, &plain, machine, bytes, 0);
    const bool is_one = anywhere != NULL && here == NULL;

    free(anywhere);
    free(here);
    return is_one;
}

bool bw_shmem_is_misuse(const struct bw_operator *row, const struct bw_shmem_request *request,
                        char **reason)
{
    const struct shmem_machine any = {.ranks = 2, .sm_count = INT32_MAX, .has_bulk = true};
    struct shmem_case *c = calloc(1, sizeof(*c));
    bool is_one = true;

    *reason = NULL;
    if (c != NULL) {
        is_one = is_contradiction(c, row, request, &any);
        *reason = is_one ? shmem_case_set(c, row, request, &any, request->bytes_min, 0) : NULL;
    }
    free(c);
    return is_one;
}

char *bw_shmem_waiver(const struct bw_session *session, const struct bw_operator *row,
                      const struct bw_shmem_request *request, bool *is_usage)
{
    const bool is_shared = session->world->ranks > 1;
    const struct shmem_machine machine = shmem_machine_of(session, request);
    struct shmem_case *c = NULL;
    char *reason = NULL;

    *is_usage = false;
    reason = ranks_why_not(session, request);
    if (reason != NULL) {
        return reason;
    }
    if (machine.ranks > BW_SHMEM_RANKS_MAX) {
        return bw_text_reason("at most %d GPUs", (int)BW_SHMEM_RANKS_MAX);
    }
    if (machine.ranks > 1 && !is_shared && !has_peers(&session->gpus, machine.ranks)) {
        return bw_text_reason("needs peer access between all %d GPUs (nvidia-smi topo -p2p r shows "
                              "which pairs have none)",
                              machine.ranks);
    }
    c = calloc(1, sizeof(*c));
    if (c != NULL) {
        reason = shmem_case_set(c, row, request, &machine, request->bytes_min, 0);
    }
    *is_usage = reason != NULL && is_contradiction(c, row, request, &machine);
    free(c);
    /* Last: for what cannot be as it was asked for, nothing is shared either. */
    return reason == NULL && is_shared ? bw_session_unshared(session) : reason;
}
