/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a round: read where they are known, told to all ranks, and put together. */
#include "crew.h"

#include <math.h>
#include <string.h>

/* The round's times on this rank's lanes; of load, when it ended. */
enum bw_status bw_crew_read_times(struct bw_crew *crew, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < crew->launch->lane_count; i++) {
        struct bw_lane *lane = &crew->lanes[i];
        double *marks_ns = &crew->marks_ns[i * BW_ROUND_SAMPLES_MAX];

        memset(marks_ns, 0, BW_ROUND_SAMPLES_MAX * sizeof(*marks_ns));
        if (lane->is_elsewhere) {
            continue;
        }
        TRY(lane->lane_plan->is_load ? lane->ops->load_time(lane, marks_ns)
                                     : lane->ops->elapsed(lane, round, marks_ns));
    }
out:
    return st;
}

/*
 * All ranks' times to all ranks, and whether all have got them: from here on
 * every rank knows the same, and decides the same. Each lane is one rank's, so
 * the others' zeros leave its times as they are.
 */
enum bw_status bw_crew_share_times(struct bw_crew *crew, const struct bw_round *round,
                                   enum bw_status mine)
{
    double *const statuses = crew->wire;
    double *const times = crew->wire + BW_STATUS_COUNT;
    const size_t samples = round->samples;
    enum bw_status st = BW_OK;

    memset(statuses, 0, BW_STATUS_COUNT * sizeof(*statuses));
    statuses[mine] = 1;
    for (size_t i = 0; i < crew->launch->lane_count; i++) {
        memcpy(&times[i * samples], &crew->marks_ns[i * BW_ROUND_SAMPLES_MAX],
               samples * sizeof(*times));
    }
    TRY(bw_world_sum_all(crew->world, crew->wire,
                         BW_STATUS_COUNT + crew->launch->lane_count * samples));
    for (size_t i = 0; i < crew->launch->lane_count; i++) {
        memcpy(&crew->marks_ns[i * BW_ROUND_SAMPLES_MAX], &times[i * samples],
               samples * sizeof(*times));
    }
    st = mine;
    for (int i = BW_OK + 1; i < BW_STATUS_COUNT && mine == BW_OK; i++) {
        st = statuses[i] > 0 ? BW_ERR_PEER : st;
    }
out:
    return st;
}

/* Until the last of what is measured has ended. */
void bw_crew_find_whole(struct bw_crew *crew, const struct bw_round *round)
{
    memset(crew->whole_ns, 0, sizeof(crew->whole_ns));
    for (size_t i = 0; i < crew->launch->lane_count; i++) {
        const double *marks_ns = &crew->marks_ns[i * BW_ROUND_SAMPLES_MAX];

        for (unsigned k = 0; k < round->samples && !crew->lanes[i].lane_plan->is_load; k++) {
            crew->whole_ns[k] = fmax(crew->whole_ns[k], marks_ns[k]);
        }
    }
}

/*
 * How long the shortest load lasted, in units of all that was measured: all
 * lanes start together, so times on different GPUs can be compared. INFINITY
 * if there is no load.
 */
double bw_crew_load_ratio(const struct bw_crew *crew, const struct bw_round *round)
{
    const double measured_ns = crew->whole_ns[round->samples - 1];
    double shortest = INFINITY;

    for (size_t i = 0; i < crew->launch->lane_count; i++) {
        if (crew->lanes[i].lane_plan->is_load) {
            shortest = fmin(shortest, crew->marks_ns[i * BW_ROUND_SAMPLES_MAX] / measured_ns);
        }
    }
    return shortest;
}
