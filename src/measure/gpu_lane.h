/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_GPU_LANE_H
#define BW_GPU_LANE_H

#include "lane.h"

/*
 * What the engines of a GPU share: buffers, pattern, gate, events. They differ
 * in how copies are put into the stream.
 */

/* The GPU of this process that owns the memory of an end; -1 if another rank does. */
int bw_gpu_lane_owner(const struct bw_lane *lane, struct bw_end end);
/* The chase's list: written by one kernel of the memory's owner. */
enum bw_status bw_gpu_lane_build_list(struct bw_lane *lane);
/* Stream and events of lane->gpu; bw_gpu_lane_finish() closes them, also after a failure. */
enum bw_status bw_gpu_lane_open_stream(struct bw_lane *lane);
enum bw_status bw_gpu_lane_prepare(struct bw_lane *lane);
enum bw_status bw_gpu_lane_fill(struct bw_lane *lane, const struct bw_round *round);
/* Hold the stream behind warm-up and poison; the start event follows. */
enum bw_status bw_gpu_lane_begin(struct bw_lane *lane, const struct bw_round *round);
enum bw_status bw_gpu_lane_poison(struct bw_lane *lane, const struct bw_round *round);
/* The end event of sample `i`. */
enum bw_status bw_gpu_lane_mark(struct bw_lane *lane, unsigned i);
enum bw_status bw_gpu_lane_wait(struct bw_lane *lane, const struct bw_round *round);
/* Wait until the lane's stream is empty. */
enum bw_status bw_gpu_lane_drain(struct bw_lane *lane);
enum bw_status bw_gpu_lane_load_time(struct bw_lane *lane, double *load_ns);
enum bw_status bw_gpu_lane_elapsed(struct bw_lane *lane, const struct bw_round *round,
                                   double *marks_ns);
enum bw_status bw_gpu_lane_verify(struct bw_lane *lane, const struct bw_round *round);
/* The same for a chase: its list must still lead where it was made to lead. */
enum bw_status bw_gpu_lane_verify_list(struct bw_lane *lane);
enum bw_status bw_gpu_lane_verdict(struct bw_lane *lane, const struct bw_round *round);
/* The seed of the pattern that path `path` has in this round. */
uint32_t bw_gpu_lane_seed(const struct bw_lane *lane, const struct bw_round *round, unsigned path);

/* The i-th report of the lane's kernels: one a sample. */
struct bw_slip bw_gpu_lane_report(const struct bw_lane *lane, unsigned i);

/* The test hook of --corrupt-word: flips a 32-bit word, if that is asked for. */
enum bw_status bw_gpu_lane_spoil(struct bw_lane *lane, struct bw_end end, CUdeviceptr memory,
                                 uint64_t word);

/* A launch on the GPU that owns an end's memory, in its stream of work that is not timed; none
 * where that is another rank's. */
enum bw_status bw_gpu_lane_at_owner(const struct bw_lane *lane, struct bw_end end,
                                    enum bw_kernel kernel, void **args);
void bw_gpu_lane_finish(struct bw_lane *lane);

/* Copies that load does for what the round measures, warm-up included; `copies` and more. */
unsigned long long bw_lane_load_copies(const struct bw_round *round);

#endif
