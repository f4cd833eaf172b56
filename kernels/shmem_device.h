/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operators' kernels are made of: signals, batches of accesses, words
 * that carry their own flag, and sums. Rules that all of them keep:
 *  - block b talks to block b of the other ranks only, through signals of its
 *    own; the grid is the same on all ranks and fits in one wave, so that all
 *    blocks that are waited for are, or will be, there;
 *  - a wait gives up after some time, and says so: a mistake hangs no machine;
 *  - shmem_begin() comes before the first access to memory.
 * docs/METHOD.md has the argument why launches may follow each other at once.
 */
#ifndef BW_SHMEM_DEVICE_H
#define BW_SHMEM_DEVICE_H

#include "device.h"
#include "shmem_frames.h"
#include "shmem_params.h"

typedef bw_shmem_args shmem_args;

/*
 * A build for a CPU may plant faults: what is left out, or done wrong, must be
 * noticed. For a GPU there is nothing of it.
 */
#ifndef BW_SHMEM_FAULT
#define BW_SHMEM_FAULT(fault, rank) false
#endif

#include "shmem_ptx.h"

/* --- signals ---------------------------------------------------------------------------------- */

/* Polls between two looks at the clock; on a CPU, a look also lets the others go on. */
#ifdef __CUDACC__
enum { SHMEM_POLLS_A_LOOK = 64 };
#else
enum { SHMEM_POLLS_A_LOOK = 1 };
#endif

struct shmem_patience {
    uint32_t polls;
    uint64_t since;
};

/* True if this wait, or another one before, has lasted too long. */
BW_DEVICE bool shmem_gives_up(const shmem_args &a, shmem_patience &p)
{
    uint32_t *timed_out = (uint32_t *)a.timed_out;
    uint64_t now;

    if (++p.polls % SHMEM_POLLS_A_LOOK != 0) {
        return false;
    }
    now = bw_now_ns();
    p.since = p.since == 0 ? now : p.since;
    if (now - p.since <= a.timeout_ns &&
        (p.polls % (64 * SHMEM_POLLS_A_LOOK) != 0 || bw_load_acquire(timed_out) == 0)) {
        return false;
    }
    bw_store_release(timed_out, 1);
    return true;
}

BW_DEVICE uint32_t *shmem_signal(const shmem_args &a, uint32_t owner, uint32_t kind, uint32_t block,
                                 uint32_t from)
{
    const uint64_t index = ((uint64_t)kind * BW_SHMEM_CTAS_MAX + block) * a.ranks + from;

    return (uint32_t *)(a.window[owner] + a.signal_offset + index * BW_SHMEM_SIGNAL_BYTES);
}

BW_DEVICE void shmem_wait(const shmem_args &a, const uint32_t *signal, uint32_t value)
{
    shmem_patience patience = {0, 0};

    while ((int32_t)(bw_load_acquire(signal) - value) < 0) {
        if (shmem_gives_up(a, patience)) {
            break;
        }
    }
}

/* To or from every other rank. */
const uint32_t SHMEM_ALL = ~0u;

/* Does this thread speak for `rank` as a partner among `who` (one rank, or SHMEM_ALL)? */
BW_DEVICE bool shmem_is_partner(const shmem_args &a, uint32_t rank, uint32_t who)
{
    return rank != a.rank && (who == SHMEM_ALL || who == rank);
}

/*
 * "You may write to my output": what came before in my stream has retired its
 * reads of it. No data go with this signal, so that it needs no release.
 */
BW_DEVICE void shmem_permit(const shmem_args &a, uint32_t who)
{
    BW_FRAME(a, FRAME_PUBLISH);
    for (uint32_t r = threadIdx.x; r < a.ranks; r += blockDim.x) {
        if (shmem_is_partner(a, r, who) && !BW_SHMEM_FAULT(1, a.rank)) {
            bw_store_relaxed(shmem_signal(a, r, BW_SIGNAL_ENTRY, blockIdx.x, a.rank), a.epoch);
        }
    }
}

/* All accesses of this block so far come before the signal. */
BW_DEVICE void shmem_publish(const shmem_args &a, uint32_t kind, uint32_t who, uint32_t value)
{
    BW_FRAME(a, FRAME_PUBLISH);
    __syncthreads();
    for (uint32_t r = threadIdx.x; r < a.ranks; r += blockDim.x) {
        if (shmem_is_partner(a, r, who) && !BW_SHMEM_FAULT(2, a.rank)) {
            bw_store_release(shmem_signal(a, r, kind, blockIdx.x, a.rank), value);
        }
    }
}

/* All accesses of this block from here on come after the signals. */
BW_DEVICE void shmem_await(const shmem_args &a, uint32_t kind, uint32_t who, uint32_t value)
{
    BW_FRAME(a, kind == BW_SIGNAL_ENTRY  ? FRAME_ENTRY_WAIT
                : kind == BW_SIGNAL_TILE ? FRAME_TILE_WAIT
                                         : FRAME_DATA_WAIT);
    for (uint32_t r = threadIdx.x; r < a.ranks; r += blockDim.x) {
        if (shmem_is_partner(a, r, who) && !BW_SHMEM_FAULT(10 + kind, a.rank)) {
            shmem_wait(a, shmem_signal(a, a.rank, kind, blockIdx.x, r), value);
        }
    }
    __syncthreads();
}

/* --- places ------------------------------------------------------------------------------------
 */

/* Distance a.ranks is this rank itself. */
BW_DEVICE uint32_t shmem_peer(const shmem_args &a, uint32_t distance)
{
    const uint32_t r = a.rank + distance;

    return r < a.ranks ? r : r - a.ranks;
}

BW_DEVICE const uint4 *shmem_in(const shmem_args &a, uint32_t rank)
{
    return (const uint4 *)(rank == a.rank ? a.in : a.window[rank] + a.in_offset);
}

BW_DEVICE uint4 *shmem_out(const shmem_args &a, uint32_t rank)
{
    return (uint4 *)(rank == a.rank ? a.out : a.window[rank] + a.out_offset);
}

/* Where rank r's message begins in a buffer of one message a rank. */
BW_DEVICE uint32_t shmem_part(const shmem_args &a, uint32_t r)
{
    return r * a.vectors;
}

/* The length of rank r's part, where parts are not all as long. */
BW_DEVICE uint32_t shmem_part_length(const shmem_args &a, uint32_t r)
{
    const uint32_t begin = shmem_part(a, r);

    return begin >= a.total ? 0 : min(a.total - begin, a.vectors);
}

/* Where `owner` keeps what comes from `from`. */
BW_DEVICE uint4 *shmem_slot(const shmem_args &a, uint32_t owner, uint32_t slot, uint32_t from)
{
    const uint32_t index = from - (from > owner ? 1 : 0);

    return (uint4 *)(a.window[owner] + a.scratch_offset) +
           ((uint64_t)slot * (a.ranks - 1) + index) * a.slot_vectors;
}

/* --- batches: U independent accesses of a thread, `step` apart ---------------------------------
 */

template <int U>
BW_DEVICE void shmem_load_batch(uint4 (&v)[U], const uint4 *src, uint32_t i, uint32_t step,
                                uint32_t end)
{
    if (i + (U - 1) * (uint64_t)step < end) {
        BW_UNROLL
        for (int u = 0; u < U; u++) {
            v[u] = shmem_load(src + i + u * step);
        }
    } else {
        BW_UNROLL
        for (int u = 0; u < U; u++) {
            if (i + u * (uint64_t)step < end) {
                v[u] = shmem_load(src + i + u * step);
            }
        }
    }
}

template <int U>
BW_DEVICE void shmem_store_batch(uint4 *dst, const uint4 (&v)[U], uint32_t i, uint32_t step,
                                 uint32_t end)
{
    if (i + (U - 1) * (uint64_t)step < end) {
        BW_UNROLL
        for (int u = 0; u < U; u++) {
            shmem_store(dst + i + u * step, v[u]);
        }
    } else {
        BW_UNROLL
        for (int u = 0; u < U; u++) {
            if (i + u * (uint64_t)step < end) {
                shmem_store(dst + i + u * step, v[u]);
            }
        }
    }
}

template <int U>
BW_DEVICE void shmem_scratch_batch(uint4 *dst, const uint4 (&v)[U], uint32_t i, uint32_t step,
                                   uint32_t end)
{
    BW_UNROLL
    for (int u = 0; u < U; u++) {
        if (i + u * (uint64_t)step < end) {
            shmem_store_scratch(dst + i + u * step, v[u]);
        }
    }
}

/* --- sums ---------------------------------------------------------------------------------------
 */

/* The float of a bfloat16, rounded to the nearest, ties to even. */
BW_DEVICE uint32_t shmem_round_bf16(float v)
{
    const uint32_t bits = shmem_as_bits(v);

    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return bits >> 16 | 0x40;
    }
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

BW_DEVICE uint32_t shmem_add_bf16(uint32_t a, uint32_t b)
{
    const float low = shmem_as_float(a << 16) + shmem_as_float(b << 16);
    const float high = shmem_as_float(a & 0xffff0000u) + shmem_as_float(b & 0xffff0000u);

    return shmem_round_bf16(low) | shmem_round_bf16(high) << 16;
}

/* Four sums at once, without carries from one to the next. */
BW_DEVICE uint32_t shmem_add_int8(uint32_t a, uint32_t b)
{
    return ((a & 0x7f7f7f7fu) + (b & 0x7f7f7f7fu)) ^ ((a ^ b) & 0x80808080u);
}

BW_DEVICE uint32_t shmem_add_fp32(uint32_t a, uint32_t b)
{
    return shmem_as_bits(shmem_as_float(a) + shmem_as_float(b));
}

BW_DEVICE uint32_t shmem_add_int32(uint32_t a, uint32_t b)
{
    return a + b;
}

#define SHMEM_ADD(name)                    \
    BW_UNROLL                              \
    for (int u = 0; u < U; u++) {          \
        sum[u].x = name(sum[u].x, v[u].x); \
        sum[u].y = name(sum[u].y, v[u].y); \
        sum[u].z = name(sum[u].z, v[u].z); \
        sum[u].w = name(sum[u].w, v[u].w); \
    }

/* One branch a batch, the same way in all threads. */
template <int U>
BW_DEVICE void shmem_add_batch(uint32_t dtype, uint4 (&sum)[U], const uint4 (&v)[U])
{
    switch (dtype) {
    case BW_FP32:
        SHMEM_ADD(shmem_add_fp32)
        break;
    case BW_FP16:
        SHMEM_ADD(shmem_add_fp16)
        break;
    case BW_BF16:
        SHMEM_ADD(shmem_add_bf16)
        break;
    case BW_INT8:
        SHMEM_ADD(shmem_add_int8)
        break;
    default:
        SHMEM_ADD(shmem_add_int32)
    }
}

#endif
