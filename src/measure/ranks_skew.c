/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far apart the ranks' streams start at a gate. Times of two GPUs cannot be
 * compared as they are, and their clocks drift, so right before a gate rank 0's
 * GPU and each other's tell each other the time: the fastest of some round
 * trips says how far one timer is ahead, to half of that trip.
 */
#include "gate.h"
#include "params.h"
#include "ranks.h"
#include "session.h"

#include "bwtool/log.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t ping_timeout_ns = 1000ULL * 1000 * 1000;
static const uint64_t patience_ns = 10ULL * 1000 * 1000 * 1000;

/* What a rank has seen: of the clocks, and of the gate behind that. */
struct sight {
    struct bw_clock_log log;
    uint64_t opened_ns;
};

/* The other end of this rank's comparison with rank `other`; -1: it takes no part. */
static int partner(const struct bw_world *world, int other)
{
    if (world->rank == 0) {
        return other;
    }
    return world->rank == other ? 0 : -1;
}

static enum bw_status compare_clocks(struct bw_session *session, int other, struct sight *mine)
{
    const int with = partner(session->world, other);
    const size_t offset = offsetof(struct bw_shared_control, clock);
    const struct bw_gpu *gpu = &session->gpus.gpus[session->own];
    CUstream stream = bw_session_stream(session, session->own);
    const struct bw_slip slip = bw_session_slip(session, session->own, 0, 0);
    CUdeviceptr theirs = session->ranks->shares[with < 0 ? 0 : with].ptr + offset;
    CUdeviceptr own = session->ranks->shares[session->world->rank].ptr + offset;
    CUdeviceptr log = slip.device;
    uint32_t base = (uint32_t)other * BW_CLOCK_ROUNDS;
    uint64_t timeout_ns = ping_timeout_ns;
    void *args[] = {&theirs, &own, &base, &timeout_ns, &log};
    enum bw_status st = BW_OK;

    if (with < 0) {
        return BW_OK;
    }
    memset(slip.host, 0, sizeof(mine->log));
    TRY(bw_gpu_use(gpu));
    TRY(bw_slip_send(&slip, sizeof(mine->log), stream));
    TRY(bw_kernel_launch(gpu, session->world->rank == 0 ? KERNEL_clock_ping : KERNEL_clock_pong, 1,
                         1, stream, args));
    TRY(bw_slip_fetch(&slip, sizeof(mine->log), stream));
    TRY(bw_stream_wait(stream, patience_ns, "comparing the GPUs' clocks"));
    memcpy(&mine->log, slip.host, sizeof(mine->log));
    if (mine->log.rounds_done != BW_CLOCK_ROUNDS) {
        bw_error("rank %d's GPU answered only %u of %d times when clocks were compared", with,
                 mine->log.rounds_done, BW_CLOCK_ROUNDS);
        return BW_ERR_TIMEOUT;
    }
out:
    return st;
}

/* One gate with nothing behind it, for rank 0 and the other. */
static enum bw_status open_gate_all(struct bw_session *session, int other, struct sight *mine)
{
    const bool takes_part = partner(session->world, other) >= 0;
    CUstream stream = bw_session_stream(session, session->own);
    struct bw_gate *gate = session->gate;
    enum bw_status st = bw_gate_shut_shared(gate);
    enum bw_status waited = BW_OK;

    if (st == BW_OK && takes_part) {
        st = bw_gpu_use(&session->gpus.gpus[session->own]);
        st = st == BW_OK ? bw_gate_hold(gate, &session->gpus.gpus[session->own], stream) : st;
        st = st == BW_OK ? bw_gate_await(gate) : st;
    }
    st = bw_world_agree_all(session->world, st, "trying the gate");
    bw_gate_release(gate);
    waited = takes_part ? bw_stream_wait(stream, patience_ns, "the gate") : BW_OK;
    st = st == BW_OK ? waited : st;
    st = st == BW_OK ? bw_gate_verdict(gate) : st;
    mine->opened_ns = st == BW_OK && takes_part ? bw_gate_opened_ns(gate) : 0;
    return st;
}

/* How far the other's timer is ahead. Differences first: a double holds no ns since 1970. */
static double ahead_ns(const struct bw_clock_log *ping, const struct bw_clock_log *pong)
{
    double fastest = INFINITY;
    double ahead = 0;

    for (size_t i = 0; i < BW_CLOCK_ROUNDS; i++) {
        const double trip = (double)(ping->received_ns[i] - ping->sent_ns[i]);

        if (trip < fastest) {
            fastest = trip;
            ahead = (double)(int64_t)(pong->seen_ns[i] - ping->sent_ns[i]) - trip / 2;
        }
    }
    return ahead;
}

enum bw_status bw_ranks_find_skew_all(struct bw_session *session)
{
    struct bw_world *world = session->world;
    struct sight *all = calloc((size_t)world->ranks, sizeof(*all));
    struct sight mine;
    double worst = 0;
    enum bw_status st = all == NULL ? bw_errno("no memory for %d clocks", world->ranks) : BW_OK;

    memset(&mine, 0, sizeof(mine));
    TRY(bw_world_agree_all(world, st, "making room for clocks"));
    for (int other = 1; other < world->ranks; other++) {
        TRY(bw_world_agree_all(world, compare_clocks(session, other, &mine),
                               "comparing the GPUs' clocks"));
        TRY(bw_world_agree_all(world, open_gate_all(session, other, &mine), "opening the gate"));
        TRY(bw_world_gather_all(world, &mine, all, sizeof(mine)));
        worst = fmax(worst, fabs((double)(int64_t)(all[other].opened_ns - all[0].opened_ns) -
                                 ahead_ns(&all[0].log, &all[other].log)));
    }
    session->ranks->skew_ns = worst;
out:
    free(all);
    return st;
}
