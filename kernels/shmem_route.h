/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of dispatch and combine are made of: rows, stores of tokens, sums of rows. */
#ifndef BW_SHMEM_ROUTE_H
#define BW_SHMEM_ROUTE_H

#include "shmem_device.h"
#include "shmem_route_params.h"

#ifdef __CUDACC__
BW_DEVICE float shmem_half_to_float(uint32_t half)
{
    float value;

    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((uint16_t)half));
    return value;
}

BW_DEVICE uint32_t shmem_float_to_half(float value)
{
    uint16_t half;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
    return half;
}
#else
BW_DEVICE float shmem_half_to_float(uint32_t half)
{
    return shmem_half_value(half);
}

BW_DEVICE uint32_t shmem_float_to_half(float value)
{
    return shmem_half_bits(value);
}
#endif

/* Entries of a token in tables that begin at `table`. */
BW_DEVICE const int32_t *route_entries(const bw_route_args &a, uint64_t table, uint32_t token)
{
    return (const int32_t *)table + (uint64_t)token * a.width;
}

/* Where row `row` of `rank` begins, in a buffer of rows. */
BW_DEVICE uint64_t route_row(const bw_route_args &a, uint32_t row)
{
    return (uint64_t)row * a.s.vectors;
}

/* Vector `i` of all tokens, to each rank that its token goes to: scratch, or the output itself. */
template <bool SCRATCH> BW_DEVICE void route_store(const bw_route_args &a, uint32_t i, uint4 v)
{
    const uint32_t token = i / a.s.vectors;
    const uint32_t column = i - token * a.s.vectors;
    const int32_t *dst = route_entries(a, a.dst, token);
    const int32_t *slot = route_entries(a, a.slot, token);

    BW_UNROLL_1
    for (uint32_t j = 0; j < a.width && dst[j] >= 0; j++) {
        const uint32_t r = (uint32_t)dst[j], row = (uint32_t)slot[j];

        if (SCRATCH && r != a.s.rank) {
            shmem_store_scratch(
                shmem_slot(a.s, r, a.s.slot, a.s.rank) + route_row(a, row - a.base[r]) + column, v);
        } else {
            shmem_store(shmem_out(a.s, r) + route_row(a, row) + column, v);
        }
    }
}

/* --- sums of the rows of a token ---------------------------------------------------------------
 */

/*
 * Four words of a dtype, added up in fp32 where that is wider. Sums of floats
 * begin with minus zero, to which every number may be added without a change.
 */
template <uint32_t DTYPE> struct route_sum {
    uint4 v[1];

    BW_DEVICE_MEMBER void begin(void)
    {
        const uint32_t zero = DTYPE == BW_FP32 ? 0x80000000u : 0;

        v[0] = make_uint4(zero, zero, zero, zero);
    }
    BW_DEVICE_MEMBER void add(uint4 next)
    {
        const uint4 one[1] = {next};

        shmem_add_batch(DTYPE, v, one);
    }
    BW_DEVICE_MEMBER uint4 end(void) const
    {
        return v[0];
    }
};

BW_DEVICE float route_low(uint32_t dtype, uint32_t word)
{
    return dtype == BW_FP16 ? shmem_half_to_float(word & 0xffff) : shmem_as_float(word << 16);
}

BW_DEVICE float route_high(uint32_t dtype, uint32_t word)
{
    return dtype == BW_FP16 ? shmem_half_to_float(word >> 16) : shmem_as_float(word & 0xffff0000u);
}

template <uint32_t DTYPE> struct route_wide_sum {
    float f[8];

    BW_DEVICE_MEMBER void begin(void)
    {
        BW_UNROLL
        for (int k = 0; k < 8; k++) {
            f[k] = -0.0f;
        }
    }
    BW_DEVICE_MEMBER void add(uint4 next)
    {
        const uint32_t words[4] = {next.x, next.y, next.z, next.w};

        BW_UNROLL
        for (int k = 0; k < 4; k++) {
            f[2 * k] += route_low(DTYPE, words[k]);
            f[2 * k + 1] += route_high(DTYPE, words[k]);
        }
    }
    BW_DEVICE_MEMBER uint4 end(void) const
    {
        uint32_t words[4];

        BW_UNROLL
        for (int k = 0; k < 4; k++) {
            words[k] = DTYPE == BW_FP16
                           ? shmem_float_to_half(f[2 * k]) | shmem_float_to_half(f[2 * k + 1]) << 16
                           : shmem_round_bf16(f[2 * k]) | shmem_round_bf16(f[2 * k + 1]) << 16;
        }
        return make_uint4(words[0], words[1], words[2], words[3]);
    }
};

template <> struct route_sum<BW_FP16> : route_wide_sum<BW_FP16> {
};
template <> struct route_sum<BW_BF16> : route_wide_sum<BW_BF16> {
};

/* Where rank r's partial of a token of this rank lies: with r, here, or brought here. */
template <bool SCRATCH>
BW_DEVICE const uint4 *route_partial_of(const bw_route_args &a, uint32_t r, uint32_t row)
{
    if (SCRATCH && r != a.s.rank) {
        return shmem_slot(a.s, a.s.rank, a.s.slot, r) + route_row(a, row - a.base[r]);
    }
    return shmem_in(a.s, r) + route_row(a, row);
}

/* Vectors that a thread adds up at once: eight floats of each, and two blocks a multiprocessor. */
enum { ROUTE_ADD_VECTORS = 2 };

/*
 * The partials of the tokens that vectors i, i + step and so on are of. One
 * frame: a sum is a few instructions between two loads, and a frame of its own
 * would take longer than it.
 */
template <uint32_t DTYPE, bool SCRATCH>
BW_DEVICE void route_add_partials(const bw_route_args &a, uint32_t i, uint32_t step,
                                  const uint32_t (&token)[ROUTE_ADD_VECTORS],
                                  route_sum<DTYPE> (&sum)[ROUTE_ADD_VECTORS])
{
    BW_FRAME_OWN(a.s, SCRATCH ? FRAME_REDUCE : FRAME_REMOTE_GET);
    uint4 v[ROUTE_ADD_VECTORS];

    BW_UNROLL_1
    for (uint32_t j = 0; j < a.width; j++) {
        bool is_there[ROUTE_ADD_VECTORS];

        BW_UNROLL
        for (int u = 0; u < ROUTE_ADD_VECTORS; u++) {
            const int32_t r = token[u] != ~0u ? route_entries(a, a.dst, token[u])[j] : -1;

            is_there[u] = r >= 0;
            if (is_there[u]) {
                const uint32_t row = (uint32_t)route_entries(a, a.slot, token[u])[j];

                v[u] = shmem_load(route_partial_of<SCRATCH>(a, (uint32_t)r, row) +
                                  (i + u * step - token[u] * a.s.vectors));
            }
        }
        BW_UNROLL
        for (int u = 0; u < ROUTE_ADD_VECTORS; u++) {
            if (is_there[u]) {
                sum[u].add(v[u]);
            }
        }
        if (j + 1 == a.width) {
            BW_FRAME_HAVE_SOME(a.s, v, is_there);
        }
    }
}

/* Vectors i, i + step and so on of all tokens, those below `end`: the sums of their partials. */
template <uint32_t DTYPE, bool SCRATCH>
BW_DEVICE void route_add_batch(const bw_route_args &a, uint32_t i, uint32_t step, uint32_t end)
{
    route_sum<DTYPE> sum[ROUTE_ADD_VECTORS];
    uint32_t token[ROUTE_ADD_VECTORS];

    BW_UNROLL
    for (int u = 0; u < ROUTE_ADD_VECTORS; u++) {
        token[u] = i + u * (uint64_t)step < end ? (i + u * step) / a.s.vectors : ~0u;
        sum[u].begin();
    }
    route_add_partials<DTYPE, SCRATCH>(a, i, step, token, sum);
    BW_FRAME_OWN(a.s, FRAME_FINALIZE);
    BW_UNROLL
    for (int u = 0; u < ROUTE_ADD_VECTORS; u++) {
        if (token[u] != ~0u) {
            shmem_store(shmem_out(a.s, a.s.rank) + i + u * step, sum[u].end());
        }
    }
}

template <bool SCRATCH>
BW_DEVICE void route_add(const bw_route_args &a, uint32_t i, uint32_t step, uint32_t end)
{
    for (; i < end; i += ROUTE_ADD_VECTORS * step) {
        switch (a.s.dtype) {
        case BW_FP16:
            route_add_batch<BW_FP16, SCRATCH>(a, i, step, end);
            break;
        case BW_BF16:
            route_add_batch<BW_BF16, SCRATCH>(a, i, step, end);
            break;
        case BW_FP32:
            route_add_batch<BW_FP32, SCRATCH>(a, i, step, end);
            break;
        case BW_INT8:
            route_add_batch<BW_INT8, SCRATCH>(a, i, step, end);
            break;
        default:
            route_add_batch<BW_INT32, SCRATCH>(a, i, step, end);
        }
    }
}

#endif
