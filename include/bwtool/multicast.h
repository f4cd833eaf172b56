/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_MULTICAST_H
#define BW_MULTICAST_H

#include "share.h"

/*
 * Memory of several GPUs behind one address: what a multimem store writes
 * there, the switch writes into all of them. The steps are for the ranks to
 * take together, each after all have taken the one before: created by one,
 * joined by each, bound by each, mapped by each. Answers are the driver's, not
 * logged: without multicast a run goes on.
 */

/* True if the driver has the entry points that this needs. */
bool bw_multicast_is_there(void);

/* True if NCCL_NVLS_ENABLE=0: NCCL's variable speaks for the whole machine. */
bool bw_multicast_is_off(void);

/* Sizes and offsets are multiples of this, for `bytes` bytes on so many GPUs. */
CUresult bw_multicast_granularity(enum bw_share_kind kind, int gpus, size_t bytes,
                                  size_t *granularity);

/* A new object in `share`, to be exported like memory (bw_share_export). */
CUresult bw_multicast_create(struct bw_share *share, enum bw_share_kind kind, int gpus,
                             size_t bytes);
CUresult bw_multicast_join(const struct bw_share *share, const struct bw_gpu *gpu);
/* All of `memory`, of a GPU that has joined. The driver waits until all GPUs have joined. */
CUresult bw_multicast_bind(const struct bw_share *share, const struct bw_share *memory);
/* Before either is closed; a failure is only warned of. */
void bw_multicast_unbind(const struct bw_share *share, const struct bw_gpu *gpu);

#endif
