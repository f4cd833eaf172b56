/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the operators' kernels that are PTX, and the same for a CPU. */
#ifndef BW_SHMEM_PTX_H
#define BW_SHMEM_PTX_H

#include "device.h"

#define BW_BOUNDS_2(threads, blocks_a_sm) __launch_bounds__(threads, blocks_a_sm)

#ifdef __CUDACC__

#define BW_PARAM    __grid_constant__ const
#define BW_UNROLL_1 _Pragma("unroll 1")

/* Data that are read once: past L1. Never .nc, since a peer may write them while this waits. */
BW_DEVICE uint4 shmem_load(const uint4 *p)
{
    uint4 v;

    asm volatile("ld.global.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

/* Data that are not read again here. */
BW_DEVICE void shmem_store(uint4 *p, uint4 v)
{
    asm volatile("st.global.cs.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y),
                 "r"(v.z), "r"(v.w)
                 : "memory");
}

/* Data that the receiver reads soon, out of its L2. */
BW_DEVICE void shmem_store_scratch(uint4 *p, uint4 v)
{
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z),
                 "r"(v.w)
                 : "memory");
}

/* Two halves of 8 bytes, each whole by the memory model: .x with .y, .z with .w. */
BW_DEVICE uint4 shmem_load_pair(const uint4 *p)
{
    uint64_t a, b;

    asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(a), "=l"(b)
                 : "l"(p)
                 : "memory");
    return make_uint4((uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32));
}

BW_DEVICE void shmem_store_pair(uint4 *p, uint4 v)
{
    const uint64_t a = v.x | (uint64_t)v.y << 32;
    const uint64_t b = v.z | (uint64_t)v.w << 32;

    asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(p), "l"(a), "l"(b)
                 : "memory");
}

/* Programmatic dependent launch: nothing at all in a kernel that was launched without it. */
BW_DEVICE void shmem_begin(void)
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

BW_DEVICE float shmem_as_float(uint32_t v)
{
    return __uint_as_float(v);
}

BW_DEVICE uint32_t shmem_as_bits(float v)
{
    return __float_as_uint(v);
}

BW_DEVICE uint32_t shmem_add_fp16(uint32_t a, uint32_t b)
{
    uint32_t sum;

    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
    return sum;
}

#else

#define BW_PARAM    const
#define BW_UNROLL_1 _Pragma("GCC unroll 1")

BW_DEVICE uint4 shmem_load(const uint4 *p)
{
    BW_CPU_STEP();
    return *p;
}

BW_DEVICE void shmem_store(uint4 *p, uint4 v)
{
    BW_CPU_STEP();
    *p = v;
}

/* Words that others look at while they are written: whoever runs the kernels on a CPU brings
 * shmem_store_scratch(), shmem_load_pair() and shmem_store_pair(). */

BW_DEVICE void shmem_begin(void)
{
}

BW_DEVICE float shmem_as_float(uint32_t v)
{
    float f;

    memcpy(&f, &v, sizeof(f));
    return f;
}

BW_DEVICE uint32_t shmem_as_bits(float v)
{
    uint32_t bits;

    memcpy(&bits, &v, sizeof(bits));
    return bits;
}

BW_DEVICE float shmem_half_value(uint32_t h)
{
    const uint32_t exponent = h >> 10 & 31, fraction = h & 0x3ff;
    const float value = exponent == 0    ? (float)fraction * 0x1p-24f
                        : exponent == 31 ? shmem_as_float(0x7f800000u | fraction << 13)
                                         : shmem_as_float((exponent + 112) << 23 | fraction << 13);

    return (h & 0x8000) != 0 ? -value : value;
}

/* To the nearest, ties to even. */
BW_DEVICE uint32_t shmem_half_bits(float value)
{
    const uint32_t bits = shmem_as_bits(value), sign = bits >> 16 & 0x8000;
    uint32_t rest = bits & 0x7fffffff, fraction, shift;

    if (rest > 0x7f800000u) {
        return sign | 0x7fff;
    }
    if (rest >= 0x477ff000u) {
        return sign | 0x7c00;
    }
    if (rest >= 0x38800000u) {
        rest -= 112u << 23;
        return sign | (rest + 0xfff + (rest >> 13 & 1)) >> 13;
    }
    shift = 126 - (rest >> 23);
    if (shift > 25) {
        return sign;
    }
    fraction = (rest & 0x7fffff) | 0x800000;
    return sign | ((fraction + (1u << (shift - 1)) - 1 + (fraction >> shift & 1)) >> shift);
}

BW_DEVICE uint32_t shmem_add_fp16(uint32_t a, uint32_t b)
{
    return shmem_half_bits(shmem_half_value(a & 0xffff) + shmem_half_value(b & 0xffff)) |
           shmem_half_bits(shmem_half_value(a >> 16) + shmem_half_value(b >> 16)) << 16;
}

#endif

#endif
