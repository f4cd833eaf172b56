/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_MEASURE_SM_QUEUE_H
#define BW_MEASURE_SM_QUEUE_H

#include "lane.h"

/*
 * Queue what a sample of a lane is: `copies` by the kernel that suits the path,
 * the engine and the size, or one pass over a latency's list. Reports of
 * kernels that make one go into slip `i`. 0 copies queue nothing. Does not block.
 */
enum bw_status bw_sm_queue(struct bw_lane *lane, const struct bw_round *round,
                           unsigned long long copies, unsigned i);

#endif
