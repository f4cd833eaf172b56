/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CREW_H
#define BW_CREW_H

#include "lane.h"
#include "sampler.h"
#include "series.h"

/*
 * The lanes of one launch, measured together, and what came out: a series for
 * each lane that is measured, and one for all of them as a whole.
 */
struct bw_crew {
    struct bw_session *session;
    struct bw_world *world; /* borrowed: the ranks that take part; alone, if it is one */
    bool is_shared;         /* all ranks take part */
    const struct bw_plan *plan;
    const struct bw_launch *launch;
    const struct bw_sampling *sampling;
    struct bw_lane *lanes;    /* launch->lane_count */
    struct bw_series *series; /* likewise; empty for load */
    struct bw_series whole;   /* until the last lane has ended */
    double *marks_ns;         /* of the last round: BW_ROUND_SAMPLES_MAX for each lane; of
                                 load, the first is its end */
    double *wire;             /* what ranks tell each other of a round */
    double whole_ns[BW_ROUND_SAMPLES_MAX];
    unsigned long long copies; /* in each sample */
    bool is_precise;           /* the interval of the median became as narrow as asked for */
    struct bw_hint *hint;      /* borrowed */
    char *waiver;              /* why it cannot be measured here; the crew's own */
    const char *doubt;         /* why what was measured is not to be trusted; NULL: fine */
};

/*
 * Lanes with all that they need, on GPUs that are warm. On failure too: close
 * it. Not collective: whoever calls it agrees on the status.
 */
enum bw_status bw_crew_open(struct bw_crew *crew, struct bw_session *session,
                            const struct bw_plan *plan, const struct bw_launch *launch,
                            const struct bw_sampling *sampling, struct bw_hint *hint);
void bw_crew_close(struct bw_crew *crew);

/*
 * The timing loop: gate after gate, until there are samples enough. Collective
 * if the crew is shared; a failure is then one in all ranks.
 */
enum bw_status bw_crew_measure(struct bw_crew *crew);

/* crew_times.c: this rank's lanes' times; all ranks' times to all, with whether all have them. */
enum bw_status bw_crew_read_times(struct bw_crew *crew, const struct bw_round *round);
enum bw_status bw_crew_share_times(struct bw_crew *crew, const struct bw_round *round,
                                   enum bw_status mine);
/* Then: until the last has ended; and how long the shortest load lasted, in units of that. */
void bw_crew_find_whole(struct bw_crew *crew, const struct bw_round *round);
double bw_crew_load_ratio(const struct bw_crew *crew, const struct bw_round *round);

/* cells.c: turn what a crew measured into the cells of its launch. */
enum bw_status bw_crew_fill_cells(const struct bw_crew *crew, struct bw_cell **cells);

#endif
