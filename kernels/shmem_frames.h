/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames: how an operator's kernel is split into what it spends its time with.
 * kernels.cu is compiled without BW_PROFILE: there all of this is nothing at
 * all. profile.cu is compiled with it, and makes of each kernel a twin whose
 * name ends with _prof. To give a new kernel frames:
 *  - define it by SHMEM_KERNEL, or with its name in BW_FRAMES_NAME(); its
 *    argument `a` has a member `frames` (struct bw_frame_args);
 *  - BW_FRAMES(a); once, behind shmem_begin(): the kernel's window begins here
 *    and ends where the scope does;
 *  - BW_FRAME(a, FRAME_...); where all threads of the block come by, or
 *    BW_FRAME_OWN where a thread may come by alone: the frame ends where the
 *    scope does, and may have others inside, but never itself;
 *  - BW_FRAME_HAVE(a, v); at the end of a frame that loads: without it the
 *    wait for the data is counted where they are first used; or
 *    BW_FRAME_HAVE_SOME(a, v, is_there) where only some were loaded;
 *  - name it in BW_OPERATOR_KERNELS (bwtool/kernels.h), and give it a row TWIN
 *    in tests/sim/kernels/twin_rows.h.
 * shmem_permit, shmem_publish and shmem_await have their frames already.
 *
 * Thread 0 of a block reads the clock, accounts in shared memory and writes one
 * record when it ends; nothing is read back, so that a launch adds little.
 */
#ifndef BW_SHMEM_FRAMES_H
#define BW_SHMEM_FRAMES_H

#ifndef BW_PROFILE

#define BW_FRAMES_NAME(name) name
#define BW_FRAMES(a)
#define BW_FRAME(a, frame)
#define BW_FRAME_OWN(a, frame)
#define BW_FRAME_HAVE(a, v)
#define BW_FRAME_HAVE_SOME(a, v, is_there)

#else

#include "device.h"
#include "frame_params.h"

#define BW_FRAMES_NAME(name) name##_prof

/* A build for a CPU may make a frame last, and has a clock that ends with the kernel. */
#ifndef BW_FRAME_FAULT
#define BW_FRAME_FAULT(rank, frame) ((void)0)
#endif
#ifndef BW_FRAMES_OVER
#define BW_FRAMES_OVER() ((void)0)
#endif

/*
 * A frame's account in the block. What a frame costs is thread 0's waiting for
 * shared memory: leaving loads all of it at once. Times of one entry stay at
 * their greatest, 2^32 - 1 cycles, which is two seconds: longer than any but a
 * wait that is given up.
 */
struct alignas(16) bw_frame_account {
    uint64_t sum, children;
    uint32_t parents, min, max, last;
    uint32_t first, count;
};

struct bw_frames_shared {
    bw_frame_account frames[FRAMES_MAX];
    uint64_t begin_ns, begin_cycles;
    uint32_t current; /* 1 + the innermost frame that is open; 0: none */
    volatile uint32_t sink;
};

BW_DEVICE bw_frames_shared &bw_frames_here(void)
{
    __shared__ bw_frames_shared here;

    return here;
}

BW_DEVICE uint64_t bw_cycles(void)
{
    return (uint64_t)clock64();
}

/* A frame that is open: `current` as it was before, and when it was entered. */
struct bw_frame_entry {
    uint32_t outer;
    uint64_t opened;
};

BW_DEVICE bw_frame_entry bw_frame_enter(uint32_t frame)
{
    bw_frames_shared &s = bw_frames_here();
    const uint32_t outer = s.current;

    s.current = frame + 1;
    return {outer, bw_cycles()};
}

BW_DEVICE void bw_frame_leave(uint32_t frame, const bw_frame_entry &entry)
{
    const uint64_t cycles = bw_cycles() - entry.opened;
    const uint32_t once = (uint32_t)min(cycles, (uint64_t)0xffffffffu);
    bw_frames_shared &s = bw_frames_here();
    bw_frame_account &account = s.frames[frame];
    bw_frame_account f = account;

    f.sum += cycles;
    f.parents |= 1u << entry.outer;
    f.min = min(f.min, once);
    f.max = max(f.max, once);
    f.last = once;
    f.first = f.count == 0 ? once : f.first;
    f.count++;
    account = f;
    if (entry.outer != 0) {
        s.frames[entry.outer - 1].children += cycles;
    }
    s.current = entry.outer;
}

BW_DEVICE bw_frame_record bw_frame_record_of(const bw_frame_account &f)
{
    return {f.count, f.parents, f.sum, f.children, f.min, f.max, f.first, f.last};
}

/* The kernel's window, in the one thread that keeps the account. */
struct bw_frames_scope {
    const bw_frame_args &args;

    BW_DEVICE_MEMBER bw_frames_scope(const bw_frame_args &a) : args(a)
    {
        bw_frames_shared &s = bw_frames_here();

        if (threadIdx.x == 0) {
            for (int f = 0; f < FRAMES_MAX; f++) {
                s.frames[f] = {0, 0, 0, 0xffffffffu, 0, 0, 0, 0};
            }
            s.current = 0;
            s.begin_ns = bw_now_ns();
            s.begin_cycles = bw_cycles();
        }
    }
    BW_DEVICE_MEMBER ~bw_frames_scope()
    {
        bw_frames_shared &s = bw_frames_here();
        bw_frame_cta *to = (bw_frame_cta *)args.records + (uint64_t)args.slot * args.ctas;

        if (threadIdx.x != 0 || args.records == 0 || blockIdx.x >= args.ctas) {
            return;
        }
        BW_FRAMES_OVER();
        to += blockIdx.x;
        to->cycles = bw_cycles() - s.begin_cycles;
        to->begin_ns = s.begin_ns;
        to->end_ns = bw_now_ns();
        to->sm = bw_sm();
        to->is_written = 1;
        for (int f = 0; f < FRAMES_MAX; f++) {
            to->frames[f].count = s.frames[f].count;
            if (s.frames[f].count != 0) {
                to->frames[f] = bw_frame_record_of(s.frames[f]);
            }
        }
    }
};

/* One frame, from here to the scope's end. */
template <bool IS_OWN> struct bw_frame_scope {
    const bw_frame_args &args;
    const uint32_t frame;
    bw_frame_entry entry;

    BW_DEVICE_MEMBER bw_frame_scope(const bw_frame_args &a, uint32_t f) : args(a), frame(f)
    {
        if (!IS_OWN && args.is_sync != 0) {
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            entry = bw_frame_enter(frame);
        }
    }
    BW_DEVICE_MEMBER ~bw_frame_scope()
    {
        if (!IS_OWN && args.is_sync != 0) {
            __syncthreads();
        }
        if (threadIdx.x == 0) {
            BW_FRAME_FAULT(args.rank, frame);
            bw_frame_leave(frame, entry);
        }
    }
};

/* Goes on when the values are there: a branch needs them, and no compiler can tell the outcome. */
template <int U> BW_DEVICE void bw_frame_have(bool is_sync, const uint4 (&v)[U])
{
    uint32_t mixed = 0;

    if (threadIdx.x != 0 && !is_sync) {
        return;
    }
    BW_UNROLL
    for (int u = 0; u < U; u++) {
        mixed ^= v[u].x;
    }
    if (mixed == 0x7b1d5a3fu) {
        bw_frames_here().sink = mixed;
    }
}

template <int U>
BW_DEVICE void bw_frame_have_some(bool is_sync, const uint4 (&v)[U], const bool (&is_there)[U])
{
    uint32_t mixed = 0;

    if (threadIdx.x != 0 && !is_sync) {
        return;
    }
    BW_UNROLL
    for (int u = 0; u < U; u++) {
        mixed ^= is_there[u] ? v[u].x : 0;
    }
    if (mixed == 0x7b1d5a3fu) {
        bw_frames_here().sink = mixed;
    }
}

#define BW_FRAME_CAT_(a, b) a##b
#define BW_FRAME_CAT(a, b)  BW_FRAME_CAT_(a, b)
#define BW_FRAMES(a)        const bw_frames_scope frames_scope_((a).frames)
#define BW_FRAME(a, frame) \
    const bw_frame_scope<false> BW_FRAME_CAT(frame_scope_, __LINE__)((a).frames, frame)
#define BW_FRAME_OWN(a, frame) \
    const bw_frame_scope<true> BW_FRAME_CAT(frame_scope_, __LINE__)((a).frames, frame)
#define BW_FRAME_HAVE(a, v)                bw_frame_have((a).frames.is_sync != 0, v)
#define BW_FRAME_HAVE_SOME(a, v, is_there) bw_frame_have_some((a).frames.is_sync != 0, v, is_there)

#endif
#endif
