/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums that the switch makes: what is at the same place in the memory of all
 * GPUs behind a multicast address, added in any order. On a CPU it is one GPU
 * after another, of which whoever runs the kernels there brings
 * bw_multimem_member(p, i): the place in GPU i's memory, or NULL.
 */
#ifndef BW_SHMEM_MULTIMEM_H
#define BW_SHMEM_MULTIMEM_H

#include "shmem_device.h"

#ifdef BW_HAS_MULTIMEM

#ifdef __CUDACC__

/*
 * Between accesses to memory by its multicast address and by its own: for the
 * memory model these are two names of the same place.
 */
BW_DEVICE void shmem_alias_fence(void)
{
    asm volatile("fence.proxy.alias;" ::: "memory");
}

BW_DEVICE uint4 shmem_sum_fp32(const uint4 *p)
{
    float x, y, z, w;

    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(x), "=f"(y), "=f"(z), "=f"(w)
                 : "l"(p)
                 : "memory");
    return make_uint4(__float_as_uint(x), __float_as_uint(y), __float_as_uint(z),
                      __float_as_uint(w));
}

/* Eight halves: added in fp32, and rounded once. */
#define SHMEM_SUM_HALVES(name, type)                                               \
    BW_DEVICE uint4 name(const uint4 *p)                                           \
    {                                                                              \
        uint4 v;                                                                   \
                                                                                   \
        asm volatile("multimem.ld_reduce.relaxed.sys.global.add.acc::f32.v4." type \
                     " {%0, %1, %2, %3}, [%4];"                                    \
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)                  \
                     : "l"(p)                                                      \
                     : "memory");                                                  \
        return v;                                                                  \
    }
SHMEM_SUM_HALVES(shmem_sum_fp16, "f16x2")
SHMEM_SUM_HALVES(shmem_sum_bf16, "bf16x2")

BW_DEVICE uint32_t shmem_sum_word(const uint32_t *p)
{
    uint32_t v;

    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];"
                 : "=r"(v)
                 : "l"(p)
                 : "memory");
    return v;
}

/* Integers have no wider form than a word. */
BW_DEVICE uint4 shmem_sum_int32(const uint4 *p)
{
    const uint32_t *words = (const uint32_t *)p;

    return make_uint4(shmem_sum_word(words), shmem_sum_word(words + 1), shmem_sum_word(words + 2),
                      shmem_sum_word(words + 3));
}

#else

BW_DEVICE void shmem_alias_fence(void)
{
}

struct shmem_total_fp32 {
    float sum = 0;

    void add(uint32_t bits)
    {
        sum += shmem_as_float(bits);
    }
    uint32_t bits() const
    {
        return shmem_as_bits(sum);
    }
};

struct shmem_total_fp16 {
    float low = 0, high = 0;

    void add(uint32_t bits)
    {
        low += shmem_half_value(bits & 0xffff);
        high += shmem_half_value(bits >> 16);
    }
    uint32_t bits() const
    {
        return shmem_half_bits(low) | shmem_half_bits(high) << 16;
    }
};

struct shmem_total_bf16 {
    float low = 0, high = 0;

    void add(uint32_t bits)
    {
        low += shmem_as_float(bits << 16);
        high += shmem_as_float(bits & 0xffff0000u);
    }
    uint32_t bits() const
    {
        return shmem_round_bf16(low) | shmem_round_bf16(high) << 16;
    }
};

struct shmem_total_int32 {
    uint32_t sum = 0;

    void add(uint32_t bits)
    {
        sum += bits;
    }
    uint32_t bits() const
    {
        return sum;
    }
};

template <class TOTAL> BW_DEVICE uint4 shmem_sum_members(const uint4 *p)
{
    TOTAL x, y, z, w;

    BW_CPU_STEP();
    for (uint32_t i = 0; const uint4 *v = bw_multimem_member(p, i); i++) {
        x.add(v->x);
        y.add(v->y);
        z.add(v->z);
        w.add(v->w);
    }
    return make_uint4(x.bits(), y.bits(), z.bits(), w.bits());
}

BW_DEVICE uint4 shmem_sum_fp32(const uint4 *p)
{
    return shmem_sum_members<shmem_total_fp32>(p);
}

BW_DEVICE uint4 shmem_sum_fp16(const uint4 *p)
{
    return shmem_sum_members<shmem_total_fp16>(p);
}

BW_DEVICE uint4 shmem_sum_bf16(const uint4 *p)
{
    return shmem_sum_members<shmem_total_bf16>(p);
}

BW_DEVICE uint4 shmem_sum_int32(const uint4 *p)
{
    return shmem_sum_members<shmem_total_int32>(p);
}

#endif
#endif
#endif
