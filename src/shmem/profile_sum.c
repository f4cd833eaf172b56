/* SPDX-License-Identifier: Apache-2.0 */
/* What all ranks recorded, summed up on each and known to all. */
#include "profile.h"

#include "../measure/session.h"

#include "bwtool/log.h"
#include "bwtool/text.h"

#include <stdio.h>
#include <stdlib.h>

/* What a rank tells the others. */
struct told {
    struct bw_frame_rank rank;
    char reason[120]; /* "": its records are good */
};

static enum bw_status sum_rank(struct shmem_case *c, int r, struct told *to)
{
    struct shmem_profile_rank *rank = &c->profile->rank[r];
    const unsigned launches =
        rank->launches < SHMEM_PROFILE_LAUNCHES ? (unsigned)rank->launches : SHMEM_PROFILE_LAUNCHES;
    struct bw_frame_cta *records = malloc(shmem_profile_bytes(c));
    const char *reason = NULL;
    enum bw_status st = BW_OK;

    if (records == NULL) {
        return bw_errno("no memory for the frames of %u blocks", c->ctas);
    }
    TRY(bw_gpu_use(c->rank[r].gpu));
    TRY(CU(cu.MemcpyAsync((CUdeviceptr)(uintptr_t)records, rank->records.ptr,
                          shmem_profile_bytes(c), c->rank[r].stream)));
    TRY(bw_stream_wait(c->rank[r].stream, shmem_patience_ns(c), "fetching frames"));
    to->rank.tick = c->session->twins[c->rank[r].gpu->ordinal].found;
    reason = bw_frame_rank_sum(&to->rank, records, launches, c->ctas);
    snprintf(to->reason, sizeof(to->reason), "%s", reason != NULL ? reason : "");
out:
    free(records);
    return st;
}

/* Every rank's, in all ranks. `all` has room for c->ranks. */
static enum bw_status share_sums_all(struct shmem_case *c, struct told *all)
{
    struct told *mine = NULL;
    enum bw_status st = BW_OK;

    for (int r = 0; r < shmem_issuers(c) && st == BW_OK; r++) {
        if (shmem_is_here(c, r)) {
            mine = &all[r];
            st = sum_rank(c, r, mine);
        }
    }
    TRY(shmem_agree_all(c, st, "fetching frames"));
    if (c->session->ranks != NULL) {
        struct told own = all[c->session->world->rank];

        TRY(bw_world_gather_all(c->session->world, &own, all, sizeof(own)));
    }
out:
    return st;
}

enum bw_status shmem_profile_sum_all(struct shmem_case *c, struct bw_frame_table *table)
{
    struct told *all = calloc((size_t)c->ranks, sizeof(*all));
    enum bw_status st = BW_OK;

    table->rank_count = shmem_issuers(c);
    table->ranks = calloc((size_t)c->ranks, sizeof(*table->ranks));
    if (all == NULL || table->ranks == NULL) {
        st = bw_errno("no memory for the frames of %d ranks", c->ranks);
    }
    TRY(shmem_agree_all(c, st, "making room for frames"));
    TRY(share_sums_all(c, all));
    for (int r = 0; r < table->rank_count; r++) {
        table->ranks[r] = all[r].rank;
        if (all[r].reason[0] != '\0' && table->reason == NULL) {
            table->reason = bw_text_reason("rank %d: %s", r, all[r].reason);
        }
    }
out:
    free(all);
    return st;
}
