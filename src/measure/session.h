/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SESSION_H
#define BW_SESSION_H

#include "lane.h"

/*
 * What measuring needs beside buffers: for each GPU a stream for work that is
 * not timed, and small memory for what kernels report.
 */

/* The GPU's stream for filling and comparing; its context must be current. */
CUstream bw_session_stream(const struct bw_session *session, int gpu);

/* Slip `kind` (0 to BW_SLIP_KINDS - 1) of lane `number`, written by kernels of `gpu`. */
enum { BW_SLIP_BYTES = 64, BW_SLIP_KINDS = 3 };
struct bw_slip bw_session_slip(const struct bw_session *session, int gpu, unsigned number,
                               unsigned kind);

/* Copy `bytes` of a slip to the GPU, or back, in a stream of that GPU. */
enum bw_status bw_slip_send(const struct bw_slip *slip, size_t bytes, CUstream stream);
enum bw_status bw_slip_fetch(const struct bw_slip *slip, size_t bytes, CUstream stream);

/* Wait, with a deadline, until the work that is not timed is done on all GPUs. */
enum bw_status bw_session_settle(const struct bw_session *session);

/*
 * Wait until a stream is done, at most `patience_ns`; then BW_ERR_TIMEOUT, logged with `what`.
 * If the driver fails to tell, it is asked again before that failure is returned: unless the
 * context is lost, or it fails twice, nothing reads the caller's memory any longer.
 */
enum bw_status bw_stream_wait(CUstream stream, uint64_t patience_ns, const char *what);

/* Bind this thread for a launch: to the node nearest to `gpu`; unbound where that is unknown. */
enum bw_status bw_session_bind(const struct bw_session *session, int gpu);

/* When the GPU was last known to be busy, and that it is now; on bw_clock_ns()'s clock. */
uint64_t bw_session_busy_ns(const struct bw_session *session, int gpu);
void bw_session_note_busy(const struct bw_session *session, int gpu);

/* Most lanes that one launch can have. */
unsigned bw_session_lanes_max(const struct bw_session *session);

#endif
