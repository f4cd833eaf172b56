/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_WARM_H
#define BW_WARM_H

#include "crew.h"

/*
 * GPUs that have been idle clock down, and their links leave full speed: work
 * them by time, not by a count, before anything is timed.
 */

/*
 * Where a GPU of the crew that this process drives has not been busy a moment
 * ago: work, untimed, for a while.
 */
enum bw_status bw_crew_warm_up(struct bw_crew *crew);

/* The crew's GPUs have just been busy. */
void bw_crew_note_busy(const struct bw_crew *crew);

#endif
