/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the stand-in for NCCL (nccl/nccl.c): ranks meet, each takes its parts, they meet. */

#include "nccl_standin.h"

/* The word grows by one each time, and nobody but its rank writes it: a relaunched graph works. */
static __device__ void nccl_meet(const sim_nccl_args &a)
{
    const uint32_t turn = *a.arrived[a.rank] + 1;

    bw_store_release(a.arrived[a.rank], turn);
    for (uint32_t r = 0; r < a.ranks; r++) {
        while ((int32_t)(bw_load_acquire(a.arrived[r]) - turn) < 0) {
            __nanosleep(100);
        }
    }
}

static __device__ uint32_t nccl_number(uint32_t dtype, const char *at)
{
    uint32_t bits = 0;

    switch (dtype) {
    case BW_INT8:
        return *(const uint8_t *)at;
    case BW_INT32:
        memcpy(&bits, at, 4);
        return bits;
    case BW_FP32: {
        float value;

        memcpy(&value, at, 4);
        return (uint32_t)value;
    }
    case BW_BF16: {
        float value;

        memcpy((char *)&bits + 2, at, 2);
        memcpy(&value, &bits, 4);
        return (uint32_t)value;
    }
    default:
        memcpy(&bits, at, 2);
        return (bits & 0x7c00u) == 0 ? 0
                                     : (uint32_t)ldexp(1024.0 + (bits & 0x3ffu),
                                                       (int)(bits >> 10 & 31u) - 25);
    }
}

static __device__ void nccl_sum(const sim_nccl_args &a)
{
    const uint32_t width = bw_shmem_element_bits(a.dtype) / 8;

    for (uint64_t i = threadIdx.x; i < a.parts[0].bytes / width; i += blockDim.x) {
        uint32_t sum = 0;
        uint32_t bits;

        for (uint32_t p = 0; p < a.part_count; p++) {
            sum += nccl_number(a.dtype, a.parts[p].src + i * width);
        }
        bits = bw_shmem_encode(a.dtype, sum);
        memcpy(a.out + i * width, &bits, width);
    }
}

static __device__ void nccl_copy(const sim_nccl_args &a)
{
    for (uint32_t p = 0; p < a.part_count; p++) {
        const uint64_t each = (a.parts[p].bytes + blockDim.x - 1) / blockDim.x;
        const uint64_t from = min(each * threadIdx.x, a.parts[p].bytes);

        memcpy(a.out + a.parts[p].to + from, a.parts[p].src + from,
               min(each, a.parts[p].bytes - from));
    }
}

/* One block. */
extern "C" __global__ void sim_nccl(sim_nccl_args a)
{
    if (threadIdx.x == 0) {
        nccl_meet(a);
    }
    __syncthreads();
    if (a.is_sum) {
        nccl_sum(a);
    } else {
        nccl_copy(a);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (a.is_wrong && a.part_count > 0) {
            a.out[0] ^= 1;
        }
        nccl_meet(a);
        if (a.done != nullptr) {
            bw_store_release(a.done, *a.done + 1);
        }
    }
}
