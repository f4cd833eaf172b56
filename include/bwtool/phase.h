/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a run's wall time goes. At each moment the time counts to one phase, so
 * that all phases together are the time since the first call. Of one thread:
 * the one that runs the testcases.
 */
#ifndef BW_PHASE_H
#define BW_PHASE_H

enum bw_phase {
    PHASE_OTHER,    /* what is none of these: planning, reporting, arithmetic        */
    PHASE_TOPOLOGY, /* the machine's nodes, by hwloc                                 */
    PHASE_DRIVER,   /* loading the driver, cuInit, listing the GPUs                  */
    PHASE_NVML,     /* loading NVML; what of the GPUs stays as it is                 */
    PHASE_CONTEXTS, /* contexts, resident kernels, peer access, the gates            */
    PHASE_BUFFERS,  /* allocating and registering memory                             */
    PHASE_WARM_UP,  /* work that is not timed, on GPUs that were idle                */
    PHASE_FILL,     /* patterns into sources                                         */
    PHASE_QUEUE,    /* queueing behind the gate                                      */
    PHASE_SAMPLES,  /* from the gate's opening until all that was queued has ended   */
    PHASE_VERIFY,   /* comparing what arrived                                        */
    PHASE_STATE,    /* asking for the GPUs' state                                    */
    PHASE_RANKS,    /* in collective calls                                           */
    PHASE_BASELINE, /* NCCL's figures, which another process takes before all else   */
    PHASE_COUNT
};

/* Seconds, by phase. */
struct bw_phases {
    double s[PHASE_COUNT];
};

/* From now on the time counts to `phase`; returns that to which it did, to go back to. */
enum bw_phase bw_phase_enter(enum bw_phase phase);

/* Up to now. */
struct bw_phases bw_phases_so_far(void);

/* What has been added since. */
struct bw_phases bw_phases_since(const struct bw_phases *before);

/* One word, as in the record. */
const char *bw_phase_name(enum bw_phase phase);

#endif
