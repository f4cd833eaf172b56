/* SPDX-License-Identifier: Apache-2.0 */
/* When a GPU's lane begins and ends its work: what is recorded, waited for, and found of it. */
#include "gate.h"
#include "gpu_lane.h"
#include "session.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <math.h>

enum bw_status bw_gpu_lane_begin(struct bw_lane *lane, const struct bw_round *round)
{
    enum bw_status st = BW_OK;

    /* After the warm-up: what it has copied must not pass for what is measured. */
    TRY(bw_gpu_lane_poison(lane, round));
    TRY(bw_gate_hold(lane->session->gate, lane->gpu, lane->stream));
    TRY(CU(cu.EventRecord(lane->events[0], lane->stream)));
    lane->begun_ns = bw_clock_ns();
out:
    return st;
}

enum bw_status bw_gpu_lane_mark(struct bw_lane *lane, unsigned i)
{
    const uint64_t now_ns = bw_clock_ns();
    enum bw_status st = BW_OK;

    TRY(CU(cu.EventRecord(lane->events[i + 1], lane->stream)));
    if (i == 0) {
        lane->submitted_ns = now_ns;
    }
out:
    return st;
}

unsigned long long bw_lane_load_copies(const struct bw_round *round)
{
    const double copies = (double)round->copies * round->samples * round->load_factor;

    return (unsigned long long)ceil(copies) + 1;
}

/* Half a minute (less where other ranks wait, too), and as long as the bytes need at a tenth of the
 * slowest link there is. */
static uint64_t patience_ns(const struct bw_lane *lane, const struct bw_round *round)
{
    const double bytes = (double)lane->bytes * (double)round->copies;

    const uint64_t seconds = bw_testcase_is_multinode(lane->plan->tc) ? 15 : 30;

    return seconds * 1000 * 1000 * 1000 + (uint64_t)fmin(bytes / 0.1, 1e18);
}

static double between(uint64_t begin_ns, uint64_t end_ns)
{
    return end_ns > begin_ns ? (double)(end_ns - begin_ns) : 0;
}

/* What the host saw too late of the begin, it saw of the end: the sum is right. */
static enum bw_status tell_life(struct bw_lane *lane)
{
    const double run_ns = between(lane->released_ns, lane->seen_ended_ns);
    struct bw_life life = {
        .submit_ns = between(lane->begun_ns, lane->submitted_ns),
        .held_ns = between(lane->submitted_ns, lane->released_ns),
        .queue_ns = between(lane->released_ns, lane->seen_begun_ns),
    };
    enum bw_status st = BW_OK;
    float ms = 0;

    TRY(CU(cu.EventElapsedTime(&ms, lane->events[0], lane->events[1])));
    life.engine_ns = (double)ms * 1e6;
    life.queue_ns = fmin(life.queue_ns, fmax(run_ns - life.engine_ns, 0));
    life.completion_ns = fmax(run_ns - life.engine_ns - life.queue_ns, 0);
    lane->life = life;
out:
    return st;
}

enum bw_status bw_gpu_lane_wait(struct bw_lane *lane, const struct bw_round *round)
{
    const uint64_t patience = patience_ns(lane, round);
    uint64_t deadline_ns = bw_clock_ns() + patience;
    unsigned done = 0;
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(lane->gpu));
    for (unsigned looks = 0; done <= round->samples; looks++) {
        const CUresult res = lane->lane_plan->is_load ? cu.StreamQuery(lane->stream)
                                                      : cu.EventQuery(lane->events[done]);

        if (res == CUDA_SUCCESS) {
            const uint64_t now_ns = bw_clock_ns();

            lane->seen_begun_ns = done == 0 ? now_ns : lane->seen_begun_ns;
            lane->seen_ended_ns = done == 1 ? now_ns : lane->seen_ended_ns;
            done = lane->lane_plan->is_load ? round->samples + 1 : done + 1;
            deadline_ns = now_ns + patience;
            looks = 0;
            continue;
        }
        if (res != CUDA_ERROR_NOT_READY) {
            st = CU(res);
            if (!bw_cu_context_lost()) { /* what is under way must not meet what comes next */
                (void)bw_stream_wait(lane->stream, patience, "waiting for what a failure left");
            }
            return st;
        }
        if (bw_clock_ns() > deadline_ns) {
            bw_error("GPU %d: %s: the work of a sample did not end within %.0f s",
                     lane->gpu->ordinal, lane->plan->tc->name, (double)patience * 1e-9);
            bw_cu_give_up();
            return BW_ERR_TIMEOUT;
        }
        if (looks > 16) {
            bw_clock_sleep_us(looks < 64 ? 10 : 50);
        }
    }
    if (!lane->lane_plan->is_load && lane->submitted_ns != 0) {
        TRY(tell_life(lane));
    }
out:
    return st;
}

enum bw_status bw_gpu_lane_drain(struct bw_lane *lane)
{
    static const struct bw_round two = {.samples = 1, .copies = 2};

    return bw_stream_wait(lane->stream, patience_ns(lane, &two), "waiting for a lane's stream");
}

enum bw_status bw_gpu_lane_load_time(struct bw_lane *lane, double *load_ns)
{
    float ms = 0;
    enum bw_status st = BW_OK;

    TRY(CU(cu.EventElapsedTime(&ms, lane->events[0], lane->events[1])));
    *load_ns = (double)ms * 1e6;
out:
    return st;
}

enum bw_status bw_gpu_lane_elapsed(struct bw_lane *lane, const struct bw_round *round,
                                   double *marks_ns)
{
    enum bw_status st = BW_OK;

    for (unsigned i = 0; i < round->samples; i++) {
        float ms = 0;

        TRY(CU(cu.EventElapsedTime(&ms, lane->events[0], lane->events[i + 1])));
        marks_ns[i] = (double)ms * 1e6;
    }
out:
    return st;
}
