/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_PAIRS_H
#define BW_PAIRS_H

#include "bwtool/gpu.h"
#include "bwtool/options.h"
#include "bwtool/testcase.h"

/*
 * Which pairs of `count` GPUs -P and --pair leave: a count x count matrix that
 * the caller frees, in which only those reach each other; NULL if neither is
 * given. `peer` says who reaches whom; NULL: all. `gpus` are asked for their
 * UUIDs; with none of them --pair is BW_ERR_USAGE, as is a UUID that no GPU has.
 */
enum bw_status bw_pairs_choose(const struct bw_options *options, const struct bw_gpus *gpus,
                               int count, const bool *peer, bool **pairs);

/*
 * Why a testcase has nothing to measure of the pair that --pair chose, as a
 * sentence without full stop that the caller frees; NULL if it has, or takes
 * no pairs. -P leaves a pair wherever there is one.
 */
char *bw_pairs_waiver(const struct bw_options *options, const struct bw_gpus *gpus,
                      const struct bw_testcase *tc);

#endif
