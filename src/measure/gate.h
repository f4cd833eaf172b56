/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_GATE_H
#define BW_GATE_H

#include "bwtool/gpu.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Holds streams until everything is queued, then lets them all go at once: a
 * spin kernel in each stream watches a flag in pinned host memory. The kernels
 * give up after a timeout, so a shut gate cannot hang a GPU. The gate must be
 * released before anything is freed, on every path: with a stream held,
 * freeing waits.
 */
struct bw_gate;

/* Room for `holds_max` streams at once. Needs a current context. */
enum bw_status bw_gate_build(struct bw_gate **gate, unsigned holds_max);
/* NULL is fine. */
void bw_gate_free(struct bw_gate *gate);

/* From now on bw_gate_hold() holds. */
void bw_gate_shut(struct bw_gate *gate);

/*
 * A second kind of gate, for streams of several ranks: they watch a word in
 * GPU memory that all of them map (`flag`, as this rank sees it), and one rank
 * (`relays`) passes its host's word on to it, by a kernel of `gpu`. So all
 * start as close together as NVLink is fast, however far apart the hosts are.
 */
enum bw_status bw_gate_share(struct bw_gate *gate, const struct bw_gpu *gpu, CUdeviceptr flag,
                             bool relays);
/* bw_gate_shut() for that kind. Every rank does it equally often. */
enum bw_status bw_gate_shut_shared(struct bw_gate *gate);

/* Hold a stream of `gpu`, whose context is current. */
enum bw_status bw_gate_hold(struct bw_gate *gate, const struct bw_gpu *gpu, CUstream stream);

/*
 * Wait until every held stream has come to its gate, so that all start within
 * a microsecond of the release. BW_ERR_TIMEOUT, logged, if one does not.
 */
enum bw_status bw_gate_await(struct bw_gate *gate);

/* Let go; harmless when not shut. */
void bw_gate_release(struct bw_gate *gate);

/* After all held streams are done: BW_ERR_TIMEOUT, logged, if one had given up waiting. */
enum bw_status bw_gate_verdict(const struct bw_gate *gate);

/* By the GPU's own timer, when the first held stream saw the gate open. */
uint64_t bw_gate_opened_ns(const struct bw_gate *gate);

/* For tests: how long a hold lasts at most. */
void bw_gate_set_timeout_ns(struct bw_gate *gate, uint64_t timeout_ns);

#endif
