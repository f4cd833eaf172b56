/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_STATE_IMPL_H
#define BW_STATE_IMPL_H

#include "bwtool/state.h"

#include <stdint.h>

/* The inside of a state: state_open.c makes it, state_ask.c asks, state.c remembers and judges. */

struct gpu_state {
    struct bw_nvml_device *device;
    const char *pci_full;
    struct bw_nvml_values last;  /* the newest answers */
    struct bw_nvml_values start; /* counters at the launch's start */
    struct bw_nvml_values known; /* up to these counters all launches were judged */
    struct bw_gpu_record record;
    struct bw_port port;
    int *nvlinks_to, *path_to;
    uint64_t counted_ns;  /* when the counters were read */
    int64_t throttle;     /* bits seen during the launch; -1: none was */
    int gen, width;       /* highest of the launch */
    int processes_before; /* before our context was made */
    int other_processes;
    bool is_used, crosses_pcie, has_looked; /* in this launch */
    bool is_owed;                           /* a launch has ended since, and was not judged */
    bool was_judged;                        /* its PCIe link, once */
    bool shows_us, was_shared;              /* by NVML's list of processes */
};

struct bw_state {
    struct gpu_state *gpus;
    struct bw_port *ports;
    int count;
    int job_processes; /* ranks of this job on this host */
    uint64_t opened_ns, looked_ns, processes_ns, cost_ns;
    bool has_doubted; /* in this testcase */
    bool is_alert;    /* the last take was spoiled: look at every one until one is not */
    bool is_whole; /* a testcase is watched as one: each GPU once at least, whatever that costs */
    char text[256];
    char late[256]; /* what spoiled launches of this testcase that were not judged then; "" */
};

/* state_open.c: after copies over its PCIe link, learn the rate of that; say, once, if it is low.
 */
void bw_state_judge_pcie(struct gpu_state *gpu, int number);

/* state_ask.c: of one GPU, into its `last`. What it takes is remembered, and is a small part of the
 * time if these are asked for before. */
bool bw_state_affords_levels(const struct bw_state *state);
bool bw_state_affords_counters(const struct bw_state *state);
void bw_state_ask_levels(struct bw_state *state, struct gpu_state *gpu);
void bw_state_ask_counters(struct bw_state *state, struct gpu_state *gpu);
/* Its counters were read just now: need not be asked for again. */
bool bw_state_is_fresh(const struct gpu_state *gpu);
/* A full answer, unless the last one is fresh or asking has cost too much. */
void bw_state_ask_all(struct bw_state *state, struct gpu_state *gpu);
/* Processes beside ours, on all GPUs, likewise. */
void bw_state_ask_processes(struct bw_state *state);

#endif
