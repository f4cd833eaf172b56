/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies by the multiprocessors. Buffers are 16-byte aligned and any number of
 * bytes long; every pass takes all of them, to the last byte.
 *
 * Threads stride over the buffer together, so that a warp's accesses are one
 * run of 512 bytes; each thread has several 16-byte loads in flight before its
 * first store, which hides the link's latency.
 * The grid fills the GPU once and loops: one launch and one drain for all
 * passes. No __restrict__: it was seen to leave too few registers for twelve
 * loads in flight.
 *
 * Loads pass by the L1 cache: a buffer that fits into all L1 caches together
 * would else be read over the link only once, however many passes there are.
 */
#include "device.h"
#include "params.h"

/* How to load and to store what is used once. */
struct by_l2 {
    BW_DEVICE uint4 load(const uint4 *p)
    {
        return __ldcg(p);
    }
    BW_DEVICE void store(uint4 *p, uint4 v)
    {
        *p = v;
    }
};

struct by_stream {
    BW_DEVICE uint4 load(const uint4 *p)
    {
        return __ldcs(p);
    }
    BW_DEVICE void store(uint4 *p, uint4 v)
    {
        __stcs(p, v);
    }
};

/* This thread's N vectors, `step` apart. */
template <class By, int N> BW_DEVICE void copy_chunk(uint4 *dst, const uint4 *src, uint64_t step)
{
    uint4 v[N];

    BW_UNROLL
    for (int k = 0; k < N; k++) {
        v[k] = By::load(src + (uint64_t)k * step);
    }
    BW_UNROLL
    for (int k = 0; k < N; k++) {
        By::store(dst + (uint64_t)k * step, v[k]);
    }
}

/*
 * What is left of a pass, up to `end`: 4 in flight, which leaves the registers
 * to the loop above. Returns how many there were.
 */
template <class By>
BW_DEVICE uint64_t copy_ragged(uint4 *dst, const uint4 *src, uint64_t i, uint64_t step,
                               uint64_t end)
{
    uint64_t moved = 0;

    for (; i < end; i += 4 * step) {
        uint4 v[4];

        BW_UNROLL
        for (int k = 0; k < 4; k++) {
            if (i + (uint64_t)k * step < end) {
                v[k] = By::load(src + i + (uint64_t)k * step);
                moved++;
            }
        }
        BW_UNROLL
        for (int k = 0; k < 4; k++) {
            if (i + (uint64_t)k * step < end) {
                By::store(dst + i + (uint64_t)k * step, v[k]);
            }
        }
    }
    return moved;
}

/* The last bytes, which fill no vector; returns how many were this thread's. */
BW_DEVICE uint64_t copy_tail(void *dst, const void *src, uint64_t bytes, uint64_t thread,
                             uint64_t threads)
{
    uint64_t moved = 0;

    for (uint64_t i = bytes / 16 * 16 + thread; i < bytes; i += threads) {
        ((char *)dst)[i] = __ldcg((const char *)src + i);
        moved++;
    }
    return moved;
}

/* `thread` of `threads`: its share of all passes. */
template <class By, int N>
BW_DEVICE void copy_passes(void *dst, const void *src, uint64_t bytes, uint64_t passes,
                           uint64_t thread, uint64_t threads)
{
    const uint64_t vectors = bytes / 16;

    for (uint64_t pass = 0; pass < passes; pass++) {
        uint64_t i = thread;

        for (; i + (N - 1) * threads < vectors; i += N * threads) {
            copy_chunk<By, N>((uint4 *)dst + i, (const uint4 *)src + i, threads);
        }
        copy_ragged<By>((uint4 *)dst, (const uint4 *)src, i, threads, vectors);
        copy_tail(dst, src, bytes, thread, threads);
        bw_forget();
    }
}

/* Small buffers: few loads in flight a thread, so that more threads have some. */
BW_KERNEL BW_BOUNDS(512) bw_copy_sweep(void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
    copy_passes<by_l2, 2>(dst, src, bytes, passes, bw_thread(), bw_threads());
}

/* Large buffers; meant for one block of 512 a multiprocessor. */
BW_KERNEL BW_BOUNDS(512) bw_copy_stride(void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
    copy_passes<by_l2, 12>(dst, src, bytes, passes, bw_thread(), bw_threads());
}

/* Large buffers, read over NVLink; meant for two blocks of 1024 a multiprocessor. */
BW_KERNEL BW_BOUNDS(1024)
    bw_copy_stride8(void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
    copy_passes<by_stream, 8>(dst, src, bytes, passes, bw_thread(), bw_threads());
}

/*
 * As many blocks as there is work in all passes: block t copies the t-th run of
 * memory and ends. Blocks begin in this order, so the buffer is swept as by a
 * launch a pass, but without a drain between two passes. Any grid will do.
 */
template <class By, int N>
BW_DEVICE void copy_runs(void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
    const uint64_t vectors = bytes / 16, run = (uint64_t)N * blockDim.x;
    const uint64_t runs = vectors / run + 1; /* the last may be short or empty: it has the tail */

    for (uint64_t t = blockIdx.x; t < runs * passes; t += gridDim.x) {
        const uint64_t at = t % runs * run, i = at + threadIdx.x;

        if (at + run <= vectors) {
            copy_chunk<By, N>((uint4 *)dst + i, (const uint4 *)src + i, blockDim.x);
        } else {
            copy_ragged<By>((uint4 *)dst, (const uint4 *)src, i, blockDim.x, vectors);
            copy_tail(dst, src, bytes, threadIdx.x, blockDim.x);
        }
        bw_forget();
    }
}

/* Large buffers within one memory; meant for blocks of 512, one a run of 128 KiB and pass. */
BW_KERNEL BW_BOUNDS(512) bw_copy_runs(void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
    copy_runs<by_stream, 16>(dst, src, bytes, passes);
}

/* Sweeps until the forward warps are done, but once at least; returns the bytes moved. */
template <int N>
BW_DEVICE uint64_t copy_until_done(void *dst, const void *src, uint64_t bytes, uint64_t thread,
                                   uint64_t threads, const uint32_t *done, uint32_t warps)
{
    const uint64_t vectors = bytes / 16;
    uint64_t moved = 0;

    for (int is_swept = 0;; is_swept = 1) {
        uint64_t i = thread;

        for (; i + (N - 1) * threads < vectors; i += N * threads) {
            /* Asked for before the loads and looked at after the stores: costs no wait. */
            const uint32_t now_done = bw_load_relaxed(done);

            copy_chunk<by_l2, N>((uint4 *)dst + i, (const uint4 *)src + i, threads);
            moved += 16 * N;
            if (is_swept && now_done >= warps) {
                return moved;
            }
        }
        moved += 16 * copy_ragged<by_l2>((uint4 *)dst, (const uint4 *)src, i, threads, vectors);
        moved += copy_tail(dst, src, bytes, thread, threads);
        if (bw_load_relaxed(done) >= warps) {
            return moved;
        }
        bw_forget();
    }
}

/*
 * Both ways at once: even warps copy forward, `passes` times; odd warps copy
 * back until those are done, after one whole pass at least. All blocks must be
 * resident at once (the odd warps wait for all even ones), and a multiple of
 * 64 threads wide.
 */
template <int Forward, int Reverse>
BW_DEVICE void copy_split(void *fwd_dst, const void *fwd_src, void *rev_dst, const void *rev_src,
                          uint64_t bytes, uint64_t passes, struct bw_split_state *state)
{
    const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t thread = (uint64_t)blockIdx.x * (blockDim.x / 2) + warp / 2 * 32 + lane;
    const uint64_t threads = bw_threads() / 2;

    if (lane == 0) {
        bw_max_u64(&state->not_begin_ns, ~bw_now_ns());
    }
    if (warp % 2 == 0) {
        copy_passes<by_l2, Forward>(fwd_dst, fwd_src, bytes, passes, thread, threads);
        __threadfence_system(); /* all has arrived */
        __syncwarp();
        if (lane == 0) {
            bw_max_u64(&state->forward_end_ns, bw_now_ns());
            atomicAdd(&state->forward_done, 1u);
        }
    } else {
        const uint64_t moved = bw_sum_of_warp(
            copy_until_done<Reverse>(rev_dst, rev_src, bytes, thread, threads, &state->forward_done,
                                     (uint32_t)(threads / 32)));

        __threadfence_system();
        __syncwarp();
        if (lane == 0) {
            bw_max_u64(&state->reverse_end_ns, bw_now_ns());
            bw_add_u64(&state->reverse_bytes, moved);
        }
    }
}

/*
 * Reads of host memory have four vectors in flight, writes to it one: stores
 * wait for nobody, and more of them keep the reads waiting (measured, see
 * docs/MEASUREMENTS.md).
 */
BW_KERNEL BW_BOUNDS(512)
    bw_copy_split_in(void *fwd_dst, const void *fwd_src, void *rev_dst, const void *rev_src,
                     uint64_t bytes, uint64_t passes, struct bw_split_state *state)
{
    copy_split<4, 1>(fwd_dst, fwd_src, rev_dst, rev_src, bytes, passes, state);
}

BW_KERNEL BW_BOUNDS(512)
    bw_copy_split_out(void *fwd_dst, const void *fwd_src, void *rev_dst, const void *rev_src,
                      uint64_t bytes, uint64_t passes, struct bw_split_state *state)
{
    copy_split<1, 4>(fwd_dst, fwd_src, rev_dst, rev_src, bytes, passes, state);
}
