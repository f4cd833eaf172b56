/* SPDX-License-Identifier: Apache-2.0 */
#include "warm.h"

#include "session.h"

#include "bwtool/clock.h"
#include "bwtool/phase.h"

/* Idle for so long, a GPU counts as cold; so much work makes it warm again. */
static const uint64_t cold_after_ns = 300ULL * 1000 * 1000;
static const uint64_t warm_after_ns = 60ULL * 1000 * 1000;

static bool is_hot(const struct bw_crew *crew)
{
    const uint64_t now_ns = bw_clock_ns();

    for (size_t i = 0; i < crew->launch->lane_count; i++) {
        const struct bw_lane *lane = &crew->lanes[i];

        if (lane->gpu != NULL &&
            now_ns - bw_session_busy_ns(crew->session, lane->gpu->ordinal) > cold_after_ns) {
            return false;
        }
    }
    return true;
}

void bw_crew_note_busy(const struct bw_crew *crew)
{
    for (size_t i = 0; i < crew->launch->lane_count; i++) {
        if (crew->lanes[i].gpu != NULL) {
            bw_session_note_busy(crew->session, crew->lanes[i].gpu->ordinal);
        }
    }
}

enum bw_status bw_crew_warm_up(struct bw_crew *crew)
{
    const uint64_t until_ns = bw_clock_ns() + warm_after_ns;
    enum bw_phase before = PHASE_OTHER;
    enum bw_status st = BW_OK;

    if (is_hot(crew)) {
        return BW_OK;
    }
    before = bw_phase_enter(PHASE_WARM_UP);
    TRY(bw_session_settle(crew->session)); /* a list must be there before it is followed */
    do {
        for (size_t i = 0; i < crew->launch->lane_count; i++) {
            struct bw_lane *lane = &crew->lanes[i];

            if (lane->gpu != NULL) { /* this process issues it */
                TRY(lane->ops->warm(lane));
            }
        }
    } while (bw_clock_ns() < until_ns);
    bw_crew_note_busy(crew);
out:
    (void)bw_phase_enter(before);
    return st;
}
