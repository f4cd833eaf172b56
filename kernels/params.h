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

/*
 * Result of comparing a buffer with its pattern: one a launch. `first` starts
 * as ~0, all else as 0.
 */
struct bw_check_result {
    uint64_t count;       /* bytes that differ                                          */
    uint64_t first;       /* offset of the first such byte                              */
    uint32_t expected;    /* the aligned 32-bit word that it is in, bytes past the      */
    uint32_t got;         /* buffer's end as 0; only if count is not 0                  */
    uint32_t blocks_done; /* the kernel's own; 0 again when it ends                  */
    uint32_t pad;
};

/* Start of the memory that a rank shares: flags that other GPUs write or poll, a line each. */
struct bw_shared_control {
    uint32_t gate; /* epoch of the last gate that all ranks opened together */
    uint32_t pad0[31];
    uint32_t clock; /* last round of comparing clocks that the other side has answered */
    uint32_t pad1[31];
};

/* Rounds of comparing two GPUs' timers. */
#define BW_CLOCK_ROUNDS 32

/* One GPU's side of it: one fills sent and received, the other seen. */
struct bw_clock_log {
    uint64_t sent_ns[BW_CLOCK_ROUNDS];
    uint64_t seen_ns[BW_CLOCK_ROUNDS];
    uint64_t received_ns[BW_CLOCK_ROUNDS];
    uint32_t rounds_done;
};

/* Bytes between two nodes of a pointer chain: no two share a cache line. */
#define BW_CHASE_STRIDE 128
#define BW_CHASE_BYTES  (2u << 20)

/*
 * What launches of bw_chase add up: by the GPU's timer around the loads, less what reading it
 * takes; launch and drain are not in it.
 */
struct bw_chase_report {
    uint64_t last; /* address: where to start, and then where it has come to */
    uint64_t loads;
    uint64_t ns;
};

/* Shared by the blocks of bw_copy_split; zeroed by the host before each launch. */
struct bw_split_state {
    uint32_t forward_done; /* forward warps that have finished */
    uint32_t pad;
    uint64_t reverse_bytes; /* moved the other way until all was over */
    /*
     * The GPU's timer: the first warp's start as its complement (so that it
     * can start as 0), the last forward byte's arrival, the last reverse one's.
     */
    uint64_t not_begin_ns, forward_end_ns, reverse_end_ns;
};

#ifdef __CUDACC__
#define BW_PARAMS_FUNCTION static __host__ __device__ __forceinline__
#else
#define BW_PARAMS_FUNCTION static inline
#endif

/*
 * The aligned 32-bit word `index` of a buffer's pattern. Depends on every bit
 * of index and seed, so that shifted or stale data is seen.
 */
BW_PARAMS_FUNCTION uint32_t bw_pattern_word(uint64_t index, uint32_t seed)
{
    uint32_t x = ((uint32_t)index * 0x9e3779b1u) ^ ((uint32_t)(index >> 32) * 0xc2b2ae3du) ^
                 (seed * 0x85ebca77u);

    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    x ^= x >> 12;
    x *= 0x297a2d39u;
    return x ^ (x >> 15);
}

/* Byte `offset` of the pattern: words are little-endian, as on every GPU. */
BW_PARAMS_FUNCTION unsigned char bw_pattern_byte(uint64_t offset, uint32_t seed)
{
    return (unsigned char)(bw_pattern_word(offset / 4, seed) >> (offset % 4 * 8));
}

#endif
