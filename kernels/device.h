/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few things of the GPU that CUDA C cannot say, and short names for what
 * every kernel uses. What is PTX is seen by nvcc only: whoever compiles the
 * kernels for a CPU gives these functions bodies of his own.
 */
#ifndef BW_DEVICE_H
#define BW_DEVICE_H

#include <stdint.h>

#define BW_KERNEL        extern "C" __global__ void
#define BW_DEVICE        static __device__ __forceinline__
#define BW_DEVICE_MEMBER __device__ __forceinline__
#define BW_BOUNDS(n)     __launch_bounds__(n)

BW_DEVICE uint64_t bw_thread(void)
{
    return (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

BW_DEVICE uint64_t bw_threads(void)
{
    return (uint64_t)gridDim.x * blockDim.x;
}

BW_DEVICE void bw_add_u64(uint64_t *p, uint64_t v)
{
    atomicAdd((unsigned long long *)p, (unsigned long long)v);
}

BW_DEVICE void bw_min_u64(uint64_t *p, uint64_t v)
{
    atomicMin((unsigned long long *)p, (unsigned long long)v);
}

BW_DEVICE void bw_max_u64(uint64_t *p, uint64_t v)
{
    atomicMax((unsigned long long *)p, (unsigned long long)v);
}

/* All 32 threads of the warp must call it. */
BW_DEVICE uint64_t bw_sum_of_warp(uint64_t v)
{
    unsigned long long sum = v;

    for (unsigned flip = 16; flip > 0; flip /= 2) {
        sum += __shfl_xor_sync(~0u, sum, flip);
    }
    return sum;
}

/* A build for a CPU may count the words that a thread moves. */
#ifndef BW_CPU_STEP
#define BW_CPU_STEP() ((void)0)
#endif

#ifdef __CUDACC__

#define BW_UNROLL _Pragma("unroll")

/* Nanoseconds; same rate on all GPUs, but not the same zero. */
BW_DEVICE uint64_t bw_now_ns(void)
{
    uint64_t t;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}

/* The multiprocessor that this block runs on. */
BW_DEVICE uint32_t bw_sm(void)
{
    uint32_t sm;

    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

/* Nothing that follows begins before `v`, which is not 0, is known. */
BW_DEVICE void bw_wait_known(uint64_t v)
{
    asm volatile("{\n\t"
                 ".reg .pred unknown;\n\t"
                 "setp.eq.u64 unknown, %0, 0;\n\t"
                 "@unknown trap;\n\t"
                 "}" ::"l"(v)
                 : "memory");
}

/* The timer, read when `v`, which is not 0, is known. */
BW_DEVICE uint64_t bw_now_after_ns(uint64_t v)
{
    bw_wait_known(v);
    return bw_now_ns();
}

/* Visible to, and ordered with, the host and every other GPU. */
BW_DEVICE uint32_t bw_load_acquire(const uint32_t *p)
{
    uint32_t v;

    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

BW_DEVICE void bw_store_release(uint32_t *p, uint32_t v)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

/* Seen by all, but ordered with nothing: without the wait for earlier accesses. */
BW_DEVICE uint32_t bw_load_relaxed(const uint32_t *p)
{
    uint32_t v;

    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

BW_DEVICE void bw_store_relaxed(uint32_t *p, uint32_t v)
{
    asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

#if __CUDA_ARCH__ >= 900
#define BW_HAS_MULTIMEM 1

/* Into the memory of all GPUs behind a multicast address. */
BW_DEVICE void bw_multimem_store16(uint4 *p, uint4 v)
{
    asm volatile("multimem.st.relaxed.sys.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(p),
                 "f"(__uint_as_float(v.x)), "f"(__uint_as_float(v.y)), "f"(__uint_as_float(v.z)),
                 "f"(__uint_as_float(v.w))
                 : "memory");
}

BW_DEVICE void bw_multimem_store4(uint32_t *p, uint32_t v)
{
    asm volatile("multimem.st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
#endif

/* One dependent load of a chain; always reaches the memory's own L2. */
BW_DEVICE uint64_t bw_load_link(uint64_t address)
{
    uint64_t v;

    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(address) : "memory");
    return v;
}

/* The compiler knows nothing about memory after it: what was loaded before is loaded again. */
BW_DEVICE void bw_forget(void)
{
    asm volatile("" ::: "memory");
}

/*
 * Bulk copies between global and shared memory, by the unit that each
 * multiprocessor has for them (sm_90 and newer). A barrier, 8 bytes of shared
 * memory, tells when loads have come; stores are waited for in groups. Addresses
 * and sizes are multiples of 16.
 */
#if __CUDA_ARCH__ >= 900
#define BW_HAS_BULK 1

BW_DEVICE uint32_t bw_shared_address(const void *p)
{
    return (uint32_t)__cvta_generic_to_shared(p);
}

BW_DEVICE void bw_bulk_init(uint64_t *barrier)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
                 "fence.proxy.async.shared::cta;" ::"r"(bw_shared_address(barrier))
                 : "memory");
}

BW_DEVICE void bw_bulk_load(void *shared, const void *src, uint32_t bytes, uint64_t *barrier)
{
    asm volatile(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bw_shared_address(barrier)),
        "r"(bytes)
        : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(bw_shared_address(shared)),
                 "l"(src), "r"(bytes), "r"(bw_shared_address(barrier))
                 : "memory");
}

/* Until the loads of this phase of the barrier (0, 1, 0, ...) have come. */
BW_DEVICE void bw_bulk_wait(uint64_t *barrier, uint32_t phase)
{
    asm volatile("{\n\t"
                 ".reg .pred come;\n\t"
                 "again:\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 come, [%0], %1;\n\t"
                 "@!come bra again;\n\t"
                 "}" ::"r"(bw_shared_address(barrier)),
                 "r"(phase)
                 : "memory");
}

/* A group of its own. */
BW_DEVICE void bw_bulk_store(void *dst, const void *shared, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
                 "cp.async.bulk.commit_group;" ::"l"(dst),
                 "r"(bw_shared_address(shared)), "r"(bytes)
                 : "memory");
}

/* Until all but the last N stores have been read out of shared memory. */
template <int N> BW_DEVICE void bw_bulk_wait_read(void)
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

/* Until all stores have been done. */
BW_DEVICE void bw_bulk_wait_all(void)
{
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/* One dependent load of a chain by a bulk copy; `room` has 16 bytes. */
BW_DEVICE uint64_t bw_bulk_link(uint64_t address, uint64_t *room, uint64_t *barrier, uint32_t phase)
{
    bw_bulk_load(room, (const void *)address, 16, barrier);
    bw_bulk_wait(barrier, phase);
    return *(volatile uint64_t *)room;
}
#endif

#else /* for a CPU a bulk copy is over when it returns */
#define BW_HAS_MULTIMEM 1
#define BW_HAS_BULK     1

BW_DEVICE void bw_bulk_copy(void *dst, const void *src, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        if (i % 16 == 0) {
            BW_CPU_STEP();
        }
        ((char *)dst)[i] = ((const char *)src)[i];
    }
}

BW_DEVICE void bw_bulk_init(uint64_t *)
{
}

BW_DEVICE void bw_bulk_load(void *shared, const void *src, uint32_t bytes, uint64_t *)
{
    bw_bulk_copy(shared, src, bytes);
}

BW_DEVICE void bw_bulk_wait(uint64_t *, uint32_t)
{
}

BW_DEVICE void bw_bulk_store(void *dst, const void *shared, uint32_t bytes)
{
    bw_bulk_copy(dst, shared, bytes);
}

template <int N> BW_DEVICE void bw_bulk_wait_read(void)
{
}

BW_DEVICE void bw_bulk_wait_all(void)
{
}

BW_DEVICE uint64_t bw_bulk_link(uint64_t address, uint64_t *, uint64_t *, uint32_t)
{
    return bw_load_link(address);
}

#endif

/*
 * Times a chain of loads that begins at `p`. A reading of the timer is not free: the first load
 * waits until it is known, which would count as time of the loads. Two readings in a row wait in
 * the same way and for nothing else, so that what lies between them is taken off. Where the timer
 * moves in steps, both are rounded, and without bias: a chase takes many turns.
 */
struct bw_chain {
    uint64_t begin_ns;
    uint64_t empty_ns; /* between two readings with no load */
};

BW_DEVICE struct bw_chain bw_chain_begin(uint64_t p)
{
    struct bw_chain chain;
    uint64_t first;

    /* This load finds the way to the memory; it is not counted. */
    first = bw_now_after_ns(bw_load_link(p));
    chain.begin_ns = bw_now_after_ns(first);
    chain.empty_ns = chain.begin_ns - first;
    bw_wait_known(chain.begin_ns);
    return chain;
}

/* What the loads took, the last of which gave `p`. Of few loads it may be below 0. */
BW_DEVICE uint64_t bw_chain_ns(struct bw_chain chain, uint64_t p)
{
    return bw_now_after_ns(p) - chain.begin_ns - chain.empty_ns;
}
#endif
