/* SPDX-License-Identifier: Apache-2.0 */
/* What of the GPUs changes: looked at while they work, and remembered. */
#include "state_impl.h"

#include "bwtool/clock.h"

#include <stdio.h>
#include <stdlib.h>

static const uint64_t look_interval_ns = 20ULL * 1000 * 1000;

/*
 * The counters have just been read. What rose since all was known has spoiled
 * the launches that were not judged; without any it spoiled nothing.
 */
static void settle_up(struct bw_state *state, int number)
{
    struct gpu_state *gpu = &state->gpus[number];
    char what[200];

    if (gpu->is_owed && state->late[0] == '\0' &&
        bw_state_judge(&gpu->known, &gpu->last, -1, what, sizeof(what))) {
        snprintf(state->late, sizeof(state->late), "GPU %d: %s", number, what);
    }
    gpu->is_owed = false;
    gpu->known = gpu->last;
}

/* Levels as they are now, into the testcase's extremes. */
static void note_levels(struct gpu_state *gpu)
{
    struct bw_gpu_record *record = &gpu->record;

    for (int i = BW_NVML_FIRST_LEVEL; i < BW_NVML_FIRST_COUNTER; i++) {
        const int64_t now = gpu->last.of[i];
        int64_t *low = &record->low.of[i];
        int64_t *high = &record->high.of[i];

        if (now < 0) {
            continue;
        }
        if (i == NVML_throttle) {
            *low = *low < 0 ? now : *low & now;
            *high = *high < 0 ? now : *high | now;
        } else {
            *low = *low < 0 || now < *low ? now : *low;
            *high = now > *high ? now : *high;
        }
    }
}

void bw_state_begin(struct bw_state *state)
{
    if (state == NULL) {
        return;
    }
    bw_state_ask_processes(state);
    state->has_doubted = false;
    state->late[0] = '\0';
    for (int i = 0; i < state->count; i++) {
        struct gpu_state *gpu = &state->gpus[i];

        bw_state_ask_all(state, gpu);
        gpu->is_owed = false; /* what has risen before has spoiled none of this testcase */
        gpu->known = gpu->last;
        gpu->record = (struct bw_gpu_record){.before = gpu->last};
        bw_nvml_forget(&gpu->record.low);
        bw_nvml_forget(&gpu->record.high);
        note_levels(gpu);
    }
}

/* What is owed is asked for whatever that costs: once a testcase. */
static void ask_at_end(struct bw_state *state, int number)
{
    struct gpu_state *gpu = &state->gpus[number];
    const uint64_t counted_ns = gpu->counted_ns;

    bw_state_ask_all(state, gpu);
    if (gpu->is_owed && gpu->counted_ns == counted_ns) {
        bw_state_ask_counters(state, gpu);
    }
    settle_up(state, number);
}

struct bw_gpu_record *bw_state_end(struct bw_state *state)
{
    struct bw_gpu_record *records = NULL;

    if (state == NULL || state->count <= 0) {
        return NULL;
    }
    for (int i = 0; i < state->count; i++) {
        ask_at_end(state, i);
    }
    records = calloc((size_t)state->count, sizeof(*records));
    for (int i = 0; records != NULL && i < state->count; i++) {
        struct gpu_state *gpu = &state->gpus[i];

        note_levels(gpu);
        gpu->record.after = gpu->last;
        gpu->record.other_processes = gpu->other_processes;
        records[i] = gpu->record;
    }
    return records;
}

static void mark_lane(struct bw_state *state, const struct bw_testcase *tc,
                      const struct bw_step *step)
{
    const struct bw_end ends[2] = {step->src, step->dst};
    const bool has_host = ends[0].mem == MEM_HOST || ends[1].mem == MEM_HOST;

    for (int k = 0; k < 2; k++) {
        struct gpu_state *gpu = NULL;

        if (ends[k].id < 0 || ends[k].id >= state->count) {
            continue;
        }
        gpu = &state->gpus[ends[k].id];
        gpu->is_used = true;
        /* A latency's few bytes may leave the link idle. */
        gpu->crosses_pcie |= has_host && !bw_testcase_is_latency(tc) && gpu->port.c2c_links <= 0;
        gpu->crosses_pcie |= ends[0].id != ends[1].id && gpu->port.nvlinks == 0;
    }
}

static void forget_launch(struct bw_state *state)
{
    state->is_whole = false;
    for (int i = 0; i < state->count; i++) {
        state->gpus[i].is_used = state->gpus[i].crosses_pcie = false;
        state->gpus[i].has_looked = false;
        state->gpus[i].throttle = -1;
        state->gpus[i].gen = state->gpus[i].width = -1;
    }
}

static void start_counting(struct bw_state *state)
{
    for (int i = 0; i < state->count; i++) {
        struct gpu_state *gpu = &state->gpus[i];

        if (gpu->is_used && !bw_state_is_fresh(gpu) &&
            (state->is_alert || bw_state_affords_counters(state))) {
            bw_state_ask_counters(state, gpu);
            settle_up(state, i);
        }
        gpu->start = gpu->last;
    }
}

void bw_state_launch(struct bw_state *state, const struct bw_plan *plan,
                     const struct bw_launch *launch, int own)
{
    if (state == NULL) {
        return;
    }
    forget_launch(state);
    if (bw_testcase_is_host(plan->tc)) {
        return; /* no GPU */
    }
    if (bw_testcase_is_multinode(plan->tc)) {
        state->gpus[own].is_used = true; /* the lanes' ends are ranks: each watches its own */
    } else {
        for (size_t i = 0; i < launch->lane_count; i++) {
            mark_lane(state, plan->tc, &plan->steps[plan->lanes[launch->lane + i].step]);
        }
    }
    start_counting(state);
}

void bw_state_whole(struct bw_state *state, int first, int count)
{
    if (state == NULL) {
        return;
    }
    forget_launch(state);
    state->is_whole = true;
    for (int i = first; i < first + count && i < state->count; i++) {
        state->gpus[i].is_used = true;
    }
    start_counting(state);
}

static void look_at(struct bw_state *state, struct gpu_state *gpu)
{
    const int64_t *now = gpu->last.of;

    bw_state_ask_levels(state, gpu);
    note_levels(gpu);
    gpu->record.looks++;
    gpu->has_looked = true;
    if (now[NVML_throttle] >= 0) {
        gpu->throttle = now[NVML_throttle] | (gpu->throttle < 0 ? 0 : gpu->throttle);
    }
    if (now[NVML_pcie_gen] > gpu->gen) {
        gpu->gen = (int)now[NVML_pcie_gen];
    }
    if (now[NVML_pcie_width] > gpu->width) {
        gpu->width = (int)now[NVML_pcie_width];
    }
}

void bw_state_look(struct bw_state *state)
{
    bool is_first = false;

    if (state == NULL) {
        return;
    }
    for (int i = 0; i < state->count; i++) {
        const struct gpu_state *gpu = &state->gpus[i];

        /* Without a look at the link under load its peak stays unknown. */
        is_first |= gpu->crosses_pcie && !gpu->was_judged && !gpu->has_looked;
        is_first |= state->is_whole && gpu->is_used && !gpu->has_looked;
    }
    if (!is_first && !state->is_alert &&
        (bw_clock_ns() - state->looked_ns < look_interval_ns || !bw_state_affords_levels(state))) {
        return;
    }
    for (int i = 0; i < state->count; i++) {
        if (state->gpus[i].is_used) {
            look_at(state, &state->gpus[i]);
        }
    }
    state->looked_ns = bw_clock_ns();
}

const char *bw_state_spoiled(struct bw_state *state)
{
    const char *spoiled = NULL;

    if (state == NULL) {
        return NULL;
    }
    for (int i = 0; i < state->count; i++) {
        struct gpu_state *gpu = &state->gpus[i];
        char what[200];

        if (gpu->crosses_pcie && (gpu->has_looked || !gpu->was_judged)) {
            bw_state_judge_pcie(gpu, i);
        }
        if (gpu->is_used &&
            (state->is_alert || state->is_whole || bw_state_affords_counters(state))) {
            bw_state_ask_counters(state, gpu);
            settle_up(state, i);
        } else {
            gpu->is_owed |= gpu->is_used;
        }
        if (gpu->is_used && spoiled == NULL &&
            bw_state_judge(&gpu->start, &gpu->last, gpu->throttle, what, sizeof(what))) {
            snprintf(state->text, sizeof(state->text), "GPU %d: %s", i, what);
            spoiled = state->text;
        }
    }
    /* What has just spoiled a take must be seen to be gone, whatever asking costs. */
    state->is_alert = spoiled != NULL;
    return spoiled;
}

const char *bw_state_late(const struct bw_state *state)
{
    return state == NULL || state->late[0] == '\0' ? NULL : state->late;
}

bool bw_state_first_doubt(struct bw_state *state)
{
    const bool is_first = state != NULL && !state->has_doubted;

    if (state != NULL) {
        state->has_doubted = true;
    }
    return is_first;
}

struct bw_ports bw_state_ports(const struct bw_state *state)
{
    struct bw_ports ports = {0};

    for (int i = 0; state != NULL && i < state->count; i++) {
        state->ports[i] = state->gpus[i].port;
    }
    if (state != NULL) {
        ports = (struct bw_ports){.ports = state->ports, .count = state->count};
    }
    return ports;
}

double bw_state_cost_ms(const struct bw_state *state)
{
    return state == NULL ? 0 : (double)state->cost_ns * 1e-6;
}
