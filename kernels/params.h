/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels and host agree on. Fixed-width types only; C, CUDA C and C++. */
#ifndef BW_PARAMS_H
#define BW_PARAMS_H

#include <stdint.h>

enum { BW_GATE_IDLE = 0, BW_GATE_WAITING = 1, BW_GATE_OPENED = 2, BW_GATE_TIMED_OUT = 3 };

/* Written by a gate kernel into pinned host memory. */
struct bw_gate_report {
    uint32_t state; /* BW_GATE_... */
    uint32_t epoch;
    uint64_t opened_ns; /* the GPU's own timer, when the flag was seen */
};

/* Result of comparing a buffer with its pattern. `count` and `first` start as 0 and ~0. */
struct bw_check_result {
    uint64_t count;    /* bytes that differ            */
    uint64_t first;    /* offset of the first such byte */
    uint32_t expected; /* filled by the host: the aligned 32-bit word there */
    uint32_t got;
};

/* Bytes between two nodes of a pointer chain: no two share a cache line. */
#define BW_CHASE_STRIDE 128
#define BW_CHASE_BYTES  (2u << 20)

/* What bw_chase writes: the GPU's timer around the loads only, launch and drain excluded. */
struct bw_chase_report {
    uint64_t begin_ns, end_ns;
    uint64_t last; /* address: keeps the loads alive */
    uint64_t loads;
};

/* Shared by the blocks of bw_copy_split; zeroed by the host before each launch. */
struct bw_split_state {
    uint32_t forward_done;  /* forward blocks (or warps) that have finished */
    uint32_t pad;
    uint64_t reverse_bytes; /* moved the other way until then               */
};

#endif
