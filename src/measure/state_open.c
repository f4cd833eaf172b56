/* SPDX-License-Identifier: Apache-2.0 */
/* What of the GPUs stays as it is: their links, and what those could do. */
#include "state_impl.h"

#include "bwtool/clock.h"
#include "bwtool/gpu.h"
#include "bwtool/log.h"
#include "bwtool/pci.h"
#include "bwtool/phase.h"

#include <stdlib.h>
#include <string.h>

static void fill_port(struct gpu_state *gpu)
{
    const struct bw_nvml_links links = bw_nvml_links(gpu->device);
    struct bw_port *port = &gpu->port;

    port->nvlinks = links.active;
    port->nvlink_mbps = links.mbps;
    port->has_switch = links.has_switch;
    port->c2c_links = (int)gpu->last.of[NVML_c2c_links];
    port->c2c_mbps = (int)gpu->last.of[NVML_c2c_mbps];
    port->memory_mhz = (int)gpu->last.of[NVML_memory_mhz_max];
    port->memory_bits = (int)gpu->last.of[NVML_memory_bus_bits];
}

/* Pairs without switches between them differ in what connects them. */
static void fill_pairs(struct bw_state *state, const struct bw_gpus *gpus, int i)
{
    struct gpu_state *gpu = &state->gpus[i];
    const size_t count = (size_t)state->count;

    if (gpu->port.nvlinks < 0 || gpu->port.has_switch) {
        return;
    }
    gpu->nvlinks_to = calloc(count, sizeof(*gpu->nvlinks_to));
    gpu->path_to = calloc(count, sizeof(*gpu->path_to));
    for (int j = 0; gpu->nvlinks_to != NULL && gpu->path_to != NULL && j < state->count; j++) {
        gpu->nvlinks_to[j] = j == i ? 0
                             : gpu->port.nvlinks == 0
                                 ? 0
                                 : bw_nvml_links_to(gpu->device, gpus->gpus[j].pci);
        gpu->path_to[j] = j == i ? 0 : bw_nvml_path(gpu->device, state->gpus[j].device);
    }
    gpu->port.nvlinks_to = gpu->nvlinks_to;
    gpu->port.path_to = gpu->path_to;
}

static void open_gpu(struct gpu_state *gpu, const struct bw_gpu *of)
{
    const bool is_part = bw_nvml_is_mig(of->uuid);
    struct bw_pci_link link;

    gpu->device = bw_nvml_whole(bw_nvml_device(of->uuid));
    /* A simulated GPU has no place among this machine's devices. */
    gpu->pci_full = strncmp(of->name, "Simulated", 9) == 0 ? "none" : of->pci_full;
    bw_nvml_forget(&gpu->last);
    bw_nvml_read(gpu->device, BW_NVML_FIRST_COUNTER, BW_NVML_VALUE_COUNT, &gpu->last);
    gpu->other_processes = -1;
    gpu->processes_before = bw_nvml_processes(gpu->device);
    fill_port(gpu);
    if (is_part) {
        gpu->port.memory_mhz = -1; /* of the whole; an instance has a part of it */
    }
    bw_pci_read("", gpu->pci_full, &link);
    gpu->port.pcie_payload = link.payload_bytes;
    gpu->port.pcie_gen = gpu->port.pcie_width = -1;
    gpu->port.above_gen = gpu->port.above_width = -1;
    if (gpu->last.of[NVML_pcie_gen_max] < 0) {
        gpu->last.of[NVML_pcie_gen_max] = link.gen_max;
        gpu->last.of[NVML_pcie_width_max] = link.width_max;
    }
}

/* A GPU with fewer links up than others of its kind is said. */
static void compare_nvlinks(const struct bw_state *state, const struct bw_gpus *gpus)
{
    for (int i = 0; i < state->count; i++) {
        int most = -1;

        for (int j = 0; j < state->count; j++) {
            if (strcmp(gpus->gpus[i].name, gpus->gpus[j].name) == 0) {
                most = state->gpus[j].port.nvlinks > most ? state->gpus[j].port.nvlinks : most;
            }
        }
        if (state->gpus[i].port.nvlinks >= 0 && state->gpus[i].port.nvlinks < most) {
            bw_warn("GPU %d: only %d NVLinks are active, others of its kind here have %d", i,
                    state->gpus[i].port.nvlinks, most);
        }
    }
}

struct bw_state *bw_state_build(const struct bw_gpus *gpus, int job_processes)
{
    const size_t count = (size_t)gpus->count;
    struct bw_state *state = calloc(1, sizeof(*state));
    enum bw_phase before = PHASE_OTHER;

    if (state == NULL) {
        return NULL;
    }
    before = bw_phase_enter(PHASE_NVML);
    (void)bw_nvml_open();
    state->opened_ns = bw_clock_ns();
    state->count = gpus->count;
    state->job_processes = job_processes;
    state->gpus = calloc(count + 1, sizeof(*state->gpus));
    state->ports = calloc(count + 1, sizeof(*state->ports));
    if (state->gpus == NULL || state->ports == NULL) {
        bw_state_free(state);
        (void)bw_phase_enter(before);
        return NULL;
    }
    for (int i = 0; i < state->count; i++) {
        open_gpu(&state->gpus[i], &gpus->gpus[i]);
    }
    for (int i = 0; i < state->count; i++) {
        fill_pairs(state, gpus, i);
    }
    compare_nvlinks(state, gpus);
    (void)bw_phase_enter(before);
    state->opened_ns = bw_clock_ns(); /* what every run needs is not held against it */
    return state;
}

void bw_state_free(struct bw_state *state)
{
    for (int i = 0; state != NULL && state->gpus != NULL && i < state->count; i++) {
        free(state->gpus[i].nvlinks_to);
        free(state->gpus[i].path_to);
    }
    if (state != NULL) {
        free(state->gpus);
        free(state->ports);
    }
    free(state);
}

/* The operating system's view: of all the way up and, without NVML, of the link itself. */
static void read_files(struct gpu_state *gpu)
{
    struct bw_pci_link link;

    bw_pci_read("", gpu->pci_full, &link);
    gpu->gen = gpu->gen > 0 ? gpu->gen : link.gen;
    gpu->width = gpu->width > 0 ? gpu->width : link.width;
    gpu->port.above_gen = link.above_gen;
    gpu->port.above_width = link.above_width;
    memcpy(gpu->port.above, link.above, sizeof(gpu->port.above));
}

void bw_state_judge_pcie(struct gpu_state *gpu, int number)
{
    const int gen_max = (int)gpu->last.of[NVML_pcie_gen_max];
    const int width_max = (int)gpu->last.of[NVML_pcie_width_max];
    const bool is_first = !gpu->was_judged;

    if (is_first) {
        gpu->was_judged = true;
        read_files(gpu);
    }
    gpu->port.pcie_gen = gpu->gen > 0 ? gpu->gen : gpu->port.pcie_gen;
    gpu->port.pcie_width = gpu->width > 0 ? gpu->width : gpu->port.pcie_width;
    if (is_first && gpu->port.pcie_gen > 0 && gpu->port.pcie_width > 0 &&
        (gpu->port.pcie_gen < gen_max || gpu->port.pcie_width < width_max)) {
        bw_warn("GPU %d: the PCIe link runs at %d.0 x%d under load, both ends could do %d.0 x%d",
                number, gpu->port.pcie_gen, gpu->port.pcie_width, gen_max, width_max);
    }
}
