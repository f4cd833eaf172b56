/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operators' kernels with a thread of the CPU for each of a GPU's, for
 * ThreadSanitizer: signals are atomics of the same order, bulk data plain
 * accesses, so that every pair of accesses that no signal orders is reported.
 * Words that carry their own flag are invisible to it: they are only compared.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static thread_local /* bulk copies: one thread of a block has all of it */
#define __syncthreads() pthread_barrier_wait(block_barrier)
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define BW_UNROLL _Pragma("GCC unroll 16")

struct dim {
    uint32_t x;
};
struct alignas(16) uint4 {
    uint32_t x, y, z, w;
};
static inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w)
{
    return uint4{x, y, z, w};
}
using std::min;

static thread_local dim threadIdx, blockIdx, blockDim, gridDim;
static thread_local pthread_barrier_t *block_barrier;

template <class T> static inline T atomicAdd(T *p, T v)
{
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
template <class T> static inline T atomicMin(T *p, T v)
{
    const T old = *p;

    *p = std::min(*p, v);
    return old;
}
template <class T> static inline T atomicMax(T *p, T v)
{
    const T old = *p;

    *p = std::max(*p, v);
    return old;
}
#define __shfl_xor_sync(mask, v, flip) (v)

static inline uint64_t bw_now_ns()
{
    timespec now;

    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
static inline uint64_t bw_now_after_ns(uint64_t)
{
    return bw_now_ns();
}
static inline void bw_wait_known(uint64_t)
{
}
static inline uint32_t bw_load_acquire(const uint32_t *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
static inline void bw_store_release(uint32_t *p, uint32_t v)
{
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}
/* Orders loads that have returned with stores to come, of which C++ knows nothing: a release here. */
static inline void bw_store_relaxed(uint32_t *p, uint32_t v)
{
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}
static inline uint64_t bw_load_link(uint64_t address)
{
    return *(uint64_t *)address;
}

/* Assembly, so that ThreadSanitizer neither sees nor orders anything by it. */
#define BW_SHMEM_OWN_WORDS
static inline uint4 shmem_load_pair(const uint4 *p)
{
    uint64_t half[2];
    uint4 v;

    __asm__ volatile("movq %2, %0\n\tmovq %3, %1"
                     : "=&r"(half[0]), "=&r"(half[1])
                     : "m"(*(const uint64_t *)p), "m"(((const uint64_t *)p)[1]));
    memcpy(&v, half, sizeof v);
    return v;
}
static inline void shmem_store_pair(uint4 *p, uint4 v)
{
    uint64_t half[2];

    memcpy(half, &v, sizeof v);
    __asm__ volatile("movq %2, %0\n\tmovq %3, %1"
                     : "=m"(*(uint64_t *)p), "=m"(((uint64_t *)p)[1])
                     : "r"(half[0]), "r"(half[1])
                     : "memory");
}
static inline void shmem_store_scratch(uint4 *p, uint4 v)
{
    if ((v.x & v.y & v.z & v.w) == ~0u) {
        shmem_store_pair(p, v); /* poison */
    } else {
        *p = v;
    }
}

/* A multicast address is a place in no memory at all: rank i's memory has the same offset. */
static const uint64_t multicast_base = (uint64_t)1 << 60;
static char *behind_multicast(const void *p, uint32_t rank);
static inline void bw_multimem_store4(uint32_t *, uint32_t)
{
    abort(); /* no operator has it */
}
static inline void bw_multimem_store16(uint4 *p, uint4 v)
{
    for (uint32_t r = 0; char *to = behind_multicast(p, r); r++) {
        *(uint4 *)to = v;
    }
}
static inline const uint4 *bw_multimem_member(const uint4 *p, uint32_t rank)
{
    return (const uint4 *)behind_multicast(p, rank);
}

/* A kind of signal that is not waited for, so that the test is seen to notice. */
static unsigned skipped = ~0u;
#define BW_SHMEM_FAULT(fault, rank) ((fault) == skipped)

#include "shmem.cu"

enum { CTAS = 2, THREADS = 8, VECTORS = 75, ROUNDS = 4, RANKS_MAX = 3 };

typedef void kernel(bw_shmem_args);
typedef void routed_kernel(bw_route_args);

struct way {
    const char *name;
    kernel *run;
    uint32_t layout;
    unsigned slots, spread;
    bool is_sum, is_two_shot;
    routed_kernel *run_routed;
};

#define TRANSPORT(how, slots, spread)                                                     \
    {#how " all_gather", bw_shmem_##how##_all_gather, BW_LAYOUT_ALL_GATHER, slots, spread}, \
    {#how " all_to_all", bw_shmem_##how##_all_to_all, BW_LAYOUT_ALL_TO_ALL, slots, spread}
#define BROADCAST(how, slots, spread) \
    {#how " broadcast", bw_shmem_##how##_broadcast, BW_LAYOUT_BROADCAST, slots, spread}
#define SUMS(how, slots, spread)                                                              \
    {#how " reduce_scatter", bw_shmem_##how##_reduce_scatter, BW_LAYOUT_REDUCE_SCATTER, slots, \
     spread, true},                                                                           \
    {#how " all_reduce", bw_shmem_##how##_all_reduce, BW_LAYOUT_ALL_REDUCE, slots, spread, true}

#define ROUTED(how, what, slots, is_sum)                                            \
    {#how " " #what, nullptr, 0, slots, (slots) / 2, is_sum, false, bw_shmem_##how##_##what}

static const way ways[] = {
    TRANSPORT(push, 0, 0),  BROADCAST(push, 0, 0),  TRANSPORT(pull, 0, 0), SUMS(pull, 0, 0),
    TRANSPORT(tma, 0, 0),   BROADCAST(tma, 0, 0),   TRANSPORT(tiles, 2, 1),
    BROADCAST(tiles, 2, 1), SUMS(tiles, 2, 1),
    {"two_shot all_reduce", bw_shmem_two_shot_all_reduce, BW_LAYOUT_ALL_REDUCE, 2, 1, true, true},
    TRANSPORT(ll, 2, 2),    BROADCAST(ll, 2, 2),    SUMS(ll, 2, 2),        SUMS(poison, 3, 1),
    SUMS(poison4, 3, 1),
    {"multicast all_gather", bw_shmem_multicast_all_gather, BW_LAYOUT_ALL_GATHER, 0, 0},
    BROADCAST(multicast, 0, 0),
    {"multicast reduce_scatter", bw_shmem_multicast_reduce_scatter, BW_LAYOUT_REDUCE_SCATTER, 0, 0,
     true},
    {"multicast all_reduce", bw_shmem_multicast_all_reduce, BW_LAYOUT_ALL_REDUCE, 0, 0, true, true},
    ROUTED(push, dispatch, 0, false),       ROUTED(pull, dispatch, 0, false),
    ROUTED(tma, dispatch, 0, false),        ROUTED(tiles, dispatch, 2, false),
    ROUTED(pull, combine, 0, true),         ROUTED(tiles, combine, 2, true),
};

struct rank_state {
    std::vector<uint4> window;
    pthread_barrier_t rank_barrier, block_barriers[CTAS];
    uint32_t timed_out;
};

static const way *now;
static uint32_t ranks;
static rank_state states[RANKS_MAX];
static uint64_t in_offset, out_offset, scratch_offset;
static unsigned wrong;

static char *behind_multicast(const void *p, uint32_t rank)
{
    return rank < ranks ? (char *)states[rank].window.data() + ((uint64_t)p - multicast_base)
                        : nullptr;
}

#include "routes.h"

static bw_shmem_args args_of(uint32_t r, uint32_t epoch)
{
    const uint32_t slots = now->slots > 0 ? now->slots : 1;
    bw_shmem_args a = {};

    a.rank = r;
    a.ranks = ranks;
    a.epoch = epoch;
    a.vectors = now->is_two_shot ? (VECTORS + ranks - 1) / ranks : VECTORS;
    a.total = VECTORS;
    a.tile_vectors = THREADS * BW_SHMEM_TILE_VECTORS;
    a.tick = epoch * (VECTORS / a.tile_vectors + 2);
    a.slot = epoch % slots;
    a.slot_clear = (epoch + slots - 1) % slots;
    a.slot_vectors = (a.vectors + 31) / 32 * 32 * now->spread;
    a.dtype = BW_FP32;
    a.timeout_ns = 60000000000;
    a.timed_out = (uint64_t)&states[r].timed_out;
    for (uint32_t p = 0; p < ranks; p++) {
        a.window[p] = (uint64_t)states[p].window.data();
    }
    a.multicast = multicast_base;
    a.area = a.window[r];
    a.in = a.window[r] + (a.in_offset = in_offset);
    a.out = a.window[r] + (a.out_offset = out_offset);
    a.scratch_offset = scratch_offset;
    return a;
}

static bw_shmem_check check_of(uint32_t r, uint32_t epoch)
{
    bw_shmem_check c = {};

    c.message_bytes = c.pitch_bytes = VECTORS * 16;
    c.layout = now->layout;
    c.dtype = BW_FP32;
    c.is_reduced = now->is_sum;
    c.rank = r;
    c.ranks = ranks;
    c.seed = epoch * 1000;
    return c;
}

/* One thread a rank, before and behind each launch: what a stream has there. */
static void fill(uint32_t r, uint32_t epoch)
{
    const bw_shmem_check c = check_of(r, epoch);
    uint32_t *in = (uint32_t *)(args_of(r, epoch).in);

    if (now->run_routed != nullptr) {
        routed_fill(r, epoch, now->is_sum, in);
        return;
    }

    for (uint64_t i = 0; i < bw_shmem_inputs(c.layout, ranks) * (c.pitch_bytes / 4); i++) {
        in[i] = bw_shmem_input_word(&c, r, i);
    }
}

static void compare(uint32_t r, uint32_t epoch)
{
    const bw_shmem_check c = check_of(r, epoch);
    const uint32_t *out = (const uint32_t *)(args_of(r, epoch).out);
    unsigned bad = states[r].timed_out;

    if (now->run_routed != nullptr) {
        bad += routed_compare(r, epoch, now->is_sum, out);
        __atomic_fetch_add(&wrong, bad, __ATOMIC_RELAXED);
        return;
    }

    for (uint32_t m = 0; m < bw_shmem_outputs(c.layout, ranks); m++) {
        for (uint64_t i = 0; i < c.pitch_bytes / 4; i++) {
            bad += out[m * (c.pitch_bytes / 4) + i] != bw_shmem_output_word(&c, m, i);
        }
    }
    __atomic_fetch_add(&wrong, bad, __ATOMIC_RELAXED);
}

static void *run_thread(void *index)
{
    const uint32_t i = (uint32_t)(uintptr_t)index;
    const uint32_t r = i / (CTAS * THREADS);
    rank_state *rank = &states[r];

    blockIdx.x = i / THREADS % CTAS;
    threadIdx.x = i % THREADS;
    blockDim.x = THREADS;
    gridDim.x = CTAS;
    block_barrier = &rank->block_barriers[blockIdx.x];
    for (uint32_t epoch = 1; epoch <= ROUNDS; epoch++) {
        if (i % (CTAS * THREADS) == 0) {
            fill(r, epoch);
            for (uint32_t k = 0; epoch % ranks == r && k < 2000; k++) {
                sched_yield(); /* late */
            }
        }
        pthread_barrier_wait(&rank->rank_barrier);
        if (now->run_routed != nullptr) {
            now->run_routed(routed_args(args_of(r, epoch), r));
        } else {
            now->run(args_of(r, epoch));
        }
        pthread_barrier_wait(&rank->rank_barrier);
        if (i % (CTAS * THREADS) == 0) {
            compare(r, epoch);
        }
    }
    return nullptr;
}

static void lay_out()
{
    const uint64_t signals = (uint64_t)BW_SIGNAL_KINDS * BW_SHMEM_CTAS_MAX * ranks * 128;
    const uint64_t buffer = (uint64_t)ranks * VECTORS * 16;
    const uint64_t scratch = 3 * (uint64_t)(ranks - 1) * (VECTORS + 31) * 2 * 16;

    in_offset = signals;
    out_offset = in_offset + buffer;
    scratch_offset = out_offset + buffer;
    tables_offset = scratch_offset + scratch;
    route_build();
    for (uint32_t r = 0; r < ranks; r++) {
        states[r].window.assign((tables_offset + 2 * TABLE_BYTES) / 16 + 1, make_uint4(0, 0, 0, 0));
        memcpy((char *)states[r].window.data() + tables_offset, route_dst[r], TABLE_BYTES);
        memcpy((char *)states[r].window.data() + tables_offset + TABLE_BYTES, route_slot[r],
               TABLE_BYTES);
        states[r].timed_out = 0;
        if (now->slots == 3) {
            memset((char *)states[r].window.data() + scratch_offset, 0xff, scratch);
        }
    }
}

static unsigned run_way()
{
    std::vector<pthread_t> threads((size_t)ranks * CTAS * THREADS);

    wrong = 0;
    lay_out();
    for (uint32_t r = 0; r < ranks; r++) {
        pthread_barrier_init(&states[r].rank_barrier, nullptr, CTAS * THREADS);
        for (auto &barrier : states[r].block_barriers) {
            pthread_barrier_init(&barrier, nullptr, THREADS);
        }
    }
    for (size_t i = 0; i < threads.size(); i++) {
        if (pthread_create(&threads[i], nullptr, run_thread, (void *)i) != 0) {
            perror("pthread_create");
            exit(2);
        }
    }
    for (pthread_t thread : threads) {
        pthread_join(thread, nullptr);
    }
    return wrong;
}

/* operators [KIND [NAME]]: without waits for signals of that kind (10 entry, 11 data, 12 tile). */
int main(int argc, char **argv)
{
    unsigned bad = 0;

    setvbuf(stdout, nullptr, _IOLBF, 0);
    skipped = argc > 1 ? (unsigned)atoi(argv[1]) : ~0u;
    for (const way &w : ways) {
        if (argc > 2 && strcmp(argv[2], w.name) != 0) {
            continue;
        }
        now = &w;
        for (ranks = 2; ranks <= RANKS_MAX; ranks++) {
            const unsigned count = run_way();

            printf("%s, %u ranks: %u wrong\n", w.name, ranks, count);
            bad += count;
        }
    }
    return bad != 0;
}
