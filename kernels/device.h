/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few things of the GPU that CUDA C cannot say, and short names for what
 * every kernel uses. What is PTX is seen by nvcc only: whoever compiles the
 * kernels for a CPU gives these functions bodies of his own.
 */
#ifndef BW_DEVICE_H
#define BW_DEVICE_H

#include <stdint.h>

#define BW_KERNEL    extern "C" __global__ void
#define BW_DEVICE    static __device__ __forceinline__
#define BW_BOUNDS(n) __launch_bounds__(n)

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

#ifdef __CUDACC__

#define BW_UNROLL _Pragma("unroll")

/* Nanoseconds; same rate on all GPUs, but not the same zero. */
BW_DEVICE uint64_t bw_now_ns(void)
{
    uint64_t t;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
}

/* The same, read when the address `p`, which is not 0, is known. */
BW_DEVICE uint64_t bw_now_after_ns(uint64_t p)
{
    uint64_t t;

    asm volatile("{\n\t"
                 ".reg .pred unknown;\n\t"
                 "setp.eq.u64 unknown, %1, 0;\n\t"
                 "@unknown trap;\n\t"
                 "mov.u64 %0, %%globaltimer;\n\t"
                 "}"
                 : "=l"(t)
                 : "l"(p)
                 : "memory");
    return t;
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

#endif
#endif
