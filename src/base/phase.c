/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/phase.h"

#include "bwtool/clock.h"

#include <stdbool.h>
#include <stdint.h>

static struct {
    uint64_t ns[PHASE_COUNT];
    uint64_t since_ns;
    enum bw_phase now;
    bool has_begun;
} account;

static void count(void)
{
    const uint64_t now_ns = bw_clock_ns();

    if (account.has_begun) {
        account.ns[account.now] += now_ns - account.since_ns;
    }
    account.has_begun = true;
    account.since_ns = now_ns;
}

enum bw_phase bw_phase_enter(enum bw_phase phase)
{
    const enum bw_phase before = account.now;

    count();
    account.now = phase;
    return before;
}

struct bw_phases bw_phases_so_far(void)
{
    struct bw_phases phases;

    count();
    for (int i = 0; i < PHASE_COUNT; i++) {
        phases.s[i] = (double)account.ns[i] * 1e-9;
    }
    return phases;
}

struct bw_phases bw_phases_since(const struct bw_phases *before)
{
    struct bw_phases phases = bw_phases_so_far();

    for (int i = 0; i < PHASE_COUNT; i++) {
        phases.s[i] -= before->s[i];
    }
    return phases;
}

const char *bw_phase_name(enum bw_phase phase)
{
    static const char *const names[] = {
        [PHASE_OTHER] = "other",     [PHASE_TOPOLOGY] = "topology", [PHASE_DRIVER] = "driver",
        [PHASE_NVML] = "nvml",       [PHASE_CONTEXTS] = "contexts", [PHASE_BUFFERS] = "buffers",
        [PHASE_WARM_UP] = "warm_up", [PHASE_FILL] = "fill",         [PHASE_QUEUE] = "queue",
        [PHASE_SAMPLES] = "samples", [PHASE_VERIFY] = "verify",     [PHASE_STATE] = "state",
        [PHASE_RANKS] = "ranks",     [PHASE_BASELINE] = "baseline",
    };

    return names[phase];
}
