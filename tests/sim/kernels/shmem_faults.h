/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_SHMEM_FAULTS_H
#define SIM_SHMEM_FAULTS_H

#include <cstdio>
#include <cstdlib>

/*
 * Faults inside the operators' kernels: SIM_SHMEM_FAULT="KIND:RANK[:SKIP]" in
 * the environment, from the (SKIP + 1)-th time on that the place is passed.
 * 1: the entry signal is not sent; 2: no signal with data is sent; 3: poison is
 * not put back; 4: words carry the epoch before; 10, 11, 12: signals of that
 * kind (entry, data, tile) are not waited for; 13: words are not waited for.
 * SIM_TWIN_FAULT is the same of the kernels with frames.
 */
#ifdef BW_PROFILE
#define SIM_FAULT_VARIABLE "SIM_TWIN_FAULT"
#else
#define SIM_FAULT_VARIABLE "SIM_SHMEM_FAULT"
#endif
static inline bool sim_shmem_fault(unsigned kind, unsigned rank)
{
    static unsigned wanted_kind = ~0u, wanted_rank, skip;
    static bool is_read;

    if (!is_read) {
        const char *text = getenv(SIM_FAULT_VARIABLE);

        is_read = true;
        if (text != nullptr) {
            (void)sscanf(text, "%u:%u:%u", &wanted_kind, &wanted_rank, &skip);
        }
    }
    if (kind != wanted_kind || rank != wanted_rank) {
        return false;
    }
    if (skip > 0) {
        skip--;
        return false;
    }
    return true;
}
#define BW_SHMEM_FAULT(fault, rank) sim_shmem_fault(fault, rank)

/* SIM_FRAME_DELAY="RANK:BLOCK:FRAME:NS": that frame of that block lasts longer, each time. */
static inline void sim_frame_delay(unsigned rank, unsigned block, unsigned frame)
{
    static unsigned long wanted[4];
    static bool is_read, is_wanted;

    if (!is_read) {
        const char *text = getenv("SIM_FRAME_DELAY");

        is_read = true;
        is_wanted = text != nullptr && sscanf(text, "%lu:%lu:%lu:%lu", &wanted[0], &wanted[1],
                                              &wanted[2], &wanted[3]) == 4;
    }
    if (is_wanted && rank == wanted[0] && block == wanted[1] && frame == wanted[2]) {
        sim_delay((double)wanted[3]);
    }
}
#define BW_FRAME_FAULT(rank, frame) sim_frame_delay(rank, blockIdx.x, frame)

#endif
