/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_READ_CHECK_H
#define BW_READ_CHECK_H

#include "lane.h"

/*
 * Reads leave nothing behind to be compared: each sample's kernel adds up what
 * it has read, and that is held against the sum of the pattern that was to be
 * read, by another kernel that computes it.
 */

/* The test hook: what is wrong for a read is wrong before it. */
enum bw_status bw_read_spoil(struct bw_lane *lane);
enum bw_status bw_read_verify(struct bw_lane *lane, const struct bw_round *round);
/* After the stream of the lane is done, and the session has settled. */
enum bw_status bw_read_verdict(const struct bw_lane *lane, const struct bw_round *round);

#endif
