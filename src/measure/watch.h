/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_WATCH_H
#define BW_WATCH_H

#include "bwtool/measure.h"

/*
 * Around the taking of a launch's cells: the GPUs' state is watched, a spoiled
 * take is taken again, at most BW_STATE_TAKES_MAX in all, and cells learn what
 * their links could do.
 */

void bw_watch_begin(struct bw_session *session, const struct bw_plan *plan,
                    const struct bw_launch *launch);

/*
 * Take `take` (from 1) gave `st`. True if it is to be taken again; its cells are
 * closed then. Collective where the plan's ends are ranks.
 */
bool bw_watch_end(struct bw_session *session, const struct bw_plan *plan,
                  const struct bw_launch *launch, const struct bw_sampling *sampling,
                  struct bw_cell **cells, enum bw_status st, int take);

#endif
