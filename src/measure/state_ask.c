/* SPDX-License-Identifier: Apache-2.0 */
/* Asking NVML: what is asked together, and how much time that may take. */
#include "state_impl.h"

#include "bwtool/clock.h"
#include "bwtool/cu.h"
#include "bwtool/log.h"
#include "bwtool/phase.h"

/* How old an answer may be to stand for a new one. */
static const uint64_t fresh_ns = 5ULL * 1000 * 1000;
static const uint64_t processes_interval_ns = 1000ULL * 1000 * 1000;
/* Asking may take so much, and these parts of the time since the start: errors come first. */
static const uint64_t cost_allowed_ns = 10ULL * 1000 * 1000;
static const double counters_part = 0.008;
static const double levels_part = 0.004;

static bool can_afford(const struct bw_state *state, double part)
{
    const double since = (double)(bw_clock_ns() - state->opened_ns);

    return (double)state->cost_ns < (double)cost_allowed_ns + part * since;
}

bool bw_state_affords_counters(const struct bw_state *state)
{
    return can_afford(state, counters_part);
}

bool bw_state_affords_levels(const struct bw_state *state)
{
    return can_afford(state, levels_part);
}

/* Of a GPU that is lost the last answers stay: a new one could take for ever. */
static void ask(struct bw_state *state, struct gpu_state *gpu, unsigned first, unsigned end)
{
    const uint64_t start_ns = bw_clock_ns();
    enum bw_phase before = PHASE_OTHER;

    if (bw_cu_context_lost()) {
        return;
    }
    before = bw_phase_enter(PHASE_STATE);
    bw_nvml_read(gpu->device, first, end, &gpu->last);
    state->cost_ns += bw_clock_ns() - start_ns;
    (void)bw_phase_enter(before);
}

void bw_state_ask_levels(struct bw_state *state, struct gpu_state *gpu)
{
    ask(state, gpu, BW_NVML_FIRST_LEVEL, BW_NVML_FIRST_COUNTER);
}

void bw_state_ask_counters(struct bw_state *state, struct gpu_state *gpu)
{
    ask(state, gpu, BW_NVML_FIRST_COUNTER, BW_NVML_FIRST_TRAIT);
    gpu->counted_ns = bw_clock_ns();
}

bool bw_state_is_fresh(const struct gpu_state *gpu)
{
    return bw_clock_ns() - gpu->counted_ns < fresh_ns;
}

void bw_state_ask_all(struct bw_state *state, struct gpu_state *gpu)
{
    if (!bw_state_is_fresh(gpu) && (gpu->counted_ns == 0 || bw_state_affords_levels(state))) {
        bw_state_ask_levels(state, gpu);
        bw_state_ask_counters(state, gpu);
    }
}

/* Of `now` processes that NVML shows on a GPU: this one, or the ranks of its job. */
static int ours_among(const struct bw_state *state, const struct gpu_state *gpu, int now)
{
    const int ours = state->job_processes > 1 ? state->job_processes : gpu->shows_us;

    return now < ours ? now : ours;
}

/* Whether NVML shows ours at all, the first look after our context tells. */
void bw_state_ask_processes(struct bw_state *state)
{
    const uint64_t start_ns = bw_clock_ns();
    enum bw_phase before = PHASE_OTHER;

    if (bw_cu_context_lost()) {
        return;
    }
    if (state->processes_ns != 0 && (start_ns - state->processes_ns < processes_interval_ns ||
                                     !bw_state_affords_levels(state))) {
        return;
    }
    before = bw_phase_enter(PHASE_STATE);
    for (int i = 0; i < state->count; i++) {
        struct gpu_state *gpu = &state->gpus[i];
        const int now = bw_nvml_processes(gpu->device);

        if (state->processes_ns == 0) {
            gpu->shows_us = now > gpu->processes_before;
        }
        gpu->other_processes = now < 0 ? -1 : now - ours_among(state, gpu, now);
        if (gpu->other_processes > 0 && !gpu->was_shared) {
            gpu->was_shared = true;
            bw_warn("GPU %d: used by %d other process%s as well: values may be too low", i,
                    gpu->other_processes, gpu->other_processes == 1 ? "" : "es");
        }
    }
    state->processes_ns = bw_clock_ns();
    state->cost_ns += state->processes_ns - start_ns;
    (void)bw_phase_enter(before);
}
