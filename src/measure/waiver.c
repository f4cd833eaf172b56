/* SPDX-License-Identifier: Apache-2.0 */
/* What a testcase needs, held against what the machine has. */
#include "bwtool/measure.h"

#include "multicast_area.h"
#include "ranks.h"

#include "bwtool/nvml.h"
#include "bwtool/text.h"

#include <math.h>
#include <stddef.h>

static bool has_peers(const struct bw_gpus *gpus)
{
    for (int r = 0; r < gpus->count; r++) {
        for (int c = 0; c < gpus->count; c++) {
            if (r != c && gpus->peer[r * gpus->count + c]) {
                return true;
            }
        }
    }
    return false;
}

static char *why_no_peers(const struct bw_gpus *gpus)
{
    const char *reason = NULL;

    if (gpus->count < 2) {
        return bw_text_reason("needs two GPUs that reach each other, and there is %s",
                              gpus->count == 1 ? "one GPU" : "none");
    }
    reason = bw_nvml_p2p_reason(gpus->gpus[0].uuid, gpus->gpus[1].uuid);
    return bw_text_reason("no two of the %d GPUs have peer access to each other%s%s%s "
                          "(nvidia-smi topo -p2p r shows why)",
                          gpus->count,
                          reason == NULL ? "" : " (GPU 0 and 1: ", reason == NULL ? "" : reason,
                          reason == NULL ? "" : ")");
}

/* Every GPU takes part in a testcase: one that lacks bulk copies is enough. */
static char *why_no_bulk(const struct bw_gpus *gpus)
{
    for (int i = 0; i < gpus->count; i++) {
        if (!bw_kernel_has_bulk(&gpus->gpus[i])) {
            return bw_text_reason("needs bulk copies (TMA): compute capability 9.0 or newer, and "
                                  "GPU %d (%s) has %d.%d",
                                  i, gpus->gpus[i].name, gpus->gpus[i].capability_major,
                                  gpus->gpus[i].capability_minor);
        }
    }
    return NULL;
}

/* What was found out when memory was to be shared; the same in all ranks. */
char *bw_session_unshared(const struct bw_session *session)
{
    const struct bw_ranks *ranks = session->ranks;

    if (ranks == NULL) {
        return bw_text_reason("the ranks have no GPUs");
    }
    if (ranks->status == BW_WAIVED) {
        return bw_text_reason("%s",
                              ranks->reason != NULL ? ranks->reason : "the ranks share no memory");
    }
    return NULL;
}

const char *bw_session_no_multicast(const struct bw_session *session)
{
    const struct bw_multicast_area *area = session->area;

    if (area != NULL && area->status == BW_OK) {
        return NULL;
    }
    return area != NULL && area->reason != NULL ? area->reason : "there is no multicast";
}

static char *why_not_shared(const struct bw_session *session, const struct bw_testcase *tc)
{
    char *reason = bw_session_unshared(session);

    if (reason != NULL) {
        return reason;
    }
    if (session->ranks->status != BW_OK) {
        return NULL; /* sharing memory failed: so does the testcase, and says why */
    }
    if ((bw_testcase_needs(tc) & NEED_MULTICAST) != 0) {
        const char *why = bw_session_no_multicast(session);

        return why == NULL ? NULL : bw_text_reason("%s", why);
    }
    return NULL;
}

const char *bw_session_shared_by(const struct bw_session *session)
{
    return session->ranks == NULL || session->ranks->status != BW_OK
               ? NULL
               : bw_share_name(session->ranks->kind);
}

double bw_session_skew_ns(const struct bw_session *session)
{
    return session->ranks == NULL || session->ranks->status != BW_OK ? NAN
                                                                     : session->ranks->skew_ns;
}

char *bw_session_waiver(const struct bw_session *session, const struct bw_testcase *tc)
{
    const unsigned needs = bw_testcase_needs(tc);
    const struct bw_gpus *gpus = &session->gpus;

    if ((needs & NEED_RANKS) != 0 && session->world->ranks < 2) {
        return bw_text_reason("needs one MPI rank a GPU, at least two (mpirun -n N bwtool, in a "
                              "build with -DBWTOOL_MPI=ON)");
    }
    if ((needs & NEED_RANKS) != 0) {
        return why_not_shared(session, tc);
    }
    if ((needs & NEED_PEER) != 0 && !has_peers(gpus)) {
        return why_no_peers(gpus);
    }
    return (needs & NEED_TMA) != 0 ? why_no_bulk(gpus) : NULL;
}

enum bw_status bw_session_plan(const struct bw_session *session, struct bw_plan *plan,
                               const struct bw_testcase *tc)
{
    if (bw_testcase_is_host(tc)) {
        return bw_plan_build(plan, tc, bw_topology_node_count(session->topology), NULL);
    }
    if (bw_testcase_is_multinode(tc)) {
        return bw_plan_build(plan, tc, session->world->ranks, NULL);
    }
    return bw_plan_build(plan, tc, session->gpus.count,
                         tc->shape == SHAPE_PAIRS && session->pairs != NULL ? session->pairs
                                                                            : session->gpus.peer);
}
