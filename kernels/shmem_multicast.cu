/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators by the switch: a store to the multicast address is written into
 * the memory of all GPUs, this one's too, and a load from there is the sum of
 * what all of them have. a.multicast is that address, a.area this GPU's own
 * memory behind it; nothing but multimem instructions touches the first.
 *
 * multimem.st, src = the user's input, dst = all outputs behind the address:
 * placement R, or A, where the kernel copies what has come to the user's own.
 * multimem.ld_reduce, src = the inputs of all behind the address: placement R,
 * or B, with the input staged before each launch; an all-reduce then copies
 * its output out, too.
 *
 * Signals are those of pushes and pulls (shmem_push.cu). The hazards:
 *  - a store writes all outputs at once, so it waits for the entry of all, each
 *    of which is in its stream behind whatever read that output before;
 *  - a sum reads all inputs at once, so it waits for the entry of all, each of
 *    which is released behind what wrote that input;
 *  - one's own output comes by the switch like the others', but stores of a
 *    thread need no signal for itself, and those of a block are done when it
 *    has passed the barrier of shmem_publish();
 *  - an input may be written again when the launch has ended, for that needs the
 *    data signals of all, which are behind their last load of it;
 *  - the same memory has two names: who has stored by the one fences before the
 *    signal, who reads by the other fences behind it, and so does a sum, whose
 *    inputs were written by their own names;
 *  - block b waits for block b of the others, which has moved the same vectors of
 *    its part as this one of its own: so just those are copied out.
 * On GPUs without multicast (before sm_90) these kernels do nothing.
 */
#include "shmem_multimem.h"

#ifdef BW_HAS_MULTIMEM

template <int U>
BW_DEVICE void shmem_store_all_batch(uint4 *dst, const uint4 (&v)[U], uint32_t i, uint32_t step,
                                     uint32_t end)
{
    BW_UNROLL
    for (int u = 0; u < U; u++) {
        if (i + u * (uint64_t)step < end) {
            bw_multimem_store16(dst + i + u * step, v[u]);
        }
    }
}

#define SHMEM_SUM(name)                              \
    BW_UNROLL                                        \
    for (int u = 0; u < U; u++) {                    \
        if (i + u * (uint64_t)step < end) {          \
            v[u] = name(src + i + u * step);         \
        }                                            \
    }

/* One branch a batch, the same way in all threads. */
template <int U>
BW_DEVICE void shmem_sum_batch(uint32_t dtype, uint4 (&v)[U], const uint4 *src, uint32_t i,
                               uint32_t step, uint32_t end)
{
    switch (dtype) {
    case BW_FP32:
        SHMEM_SUM(shmem_sum_fp32)
        break;
    case BW_FP16:
        SHMEM_SUM(shmem_sum_fp16)
        break;
    case BW_BF16:
        SHMEM_SUM(shmem_sum_bf16)
        break;
    default:
        SHMEM_SUM(shmem_sum_int32)
    }
}

BW_DEVICE uint4 *shmem_all(const shmem_args &a, uint64_t offset, uint32_t part)
{
    return (uint4 *)(a.multicast + offset) + part;
}

/* What has come for `parts` parts, to the user's output, if that is not where it has come to. */
BW_DEVICE void shmem_copy_out(const shmem_args &a, uint32_t parts)
{
    const uint4 *from = (const uint4 *)(a.area + a.out_offset);
    const uint32_t step = shmem_threads();
    uint4 v[BW_SHMEM_COPY_VECTORS];

    if (a.out == a.area + a.out_offset) {
        return;
    }
    shmem_alias_fence();
    for (uint32_t part = 0; part < parts; part++) {
        const uint32_t begin = shmem_part(a, part), length = shmem_part_length(a, part);

        for (uint32_t i = shmem_thread(); i < length; i += BW_SHMEM_COPY_VECTORS * step) {
            BW_FRAME_OWN(a, FRAME_COPY_OUT);
            shmem_load_batch(v, from + begin, i, step, length);
            shmem_store_batch(shmem_out(a, a.rank) + begin, v, i, step, length);
        }
    }
}

/* This rank's message, the first batch of which is on its way, to all. */
BW_DEVICE void shmem_store_to_all(const shmem_args &a, uint4 *dst,
                                  uint4 (&v)[BW_SHMEM_COPY_VECTORS], uint32_t i, uint32_t step)
{
    {
        BW_FRAME(a, FRAME_TRANSPORT);
        while (i < a.vectors) {
            {
                BW_FRAME_OWN(a, FRAME_REMOTE_PUT);
                shmem_store_all_batch(dst, v, i, step, a.vectors);
            }
            BW_FRAME_OWN(a, FRAME_COPY_IN);
            i += BW_SHMEM_COPY_VECTORS * step;
            shmem_load_batch(v, shmem_in(a, a.rank), i, step, a.vectors);
            BW_FRAME_HAVE(a, v);
        }
    }
    shmem_alias_fence();
}

template <bool GATHER> BW_DEVICE void shmem_run_multicast(const shmem_args &a)
{
    const bool sends = GATHER || a.rank == a.root;
    const uint32_t senders = GATHER ? SHMEM_ALL : a.root;
    const uint32_t step = shmem_threads();
    const uint32_t i = shmem_thread();
    uint4 v[BW_SHMEM_COPY_VECTORS];

    shmem_begin();
    BW_FRAMES(a);
    if (GATHER || !sends) {
        shmem_permit(a, senders);
    }
    if (sends) {
        {
            BW_FRAME(a, FRAME_COPY_IN);
            shmem_load_batch(v, shmem_in(a, a.rank), i, step, a.vectors);
        }
        shmem_await(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
        shmem_store_to_all(a, shmem_all(a, a.out_offset, GATHER ? shmem_part(a, a.rank) : 0), v, i,
                           step);
        shmem_publish(a, BW_SIGNAL_DATA, SHMEM_ALL, a.epoch);
    }
    if (GATHER || !sends) {
        shmem_await(a, BW_SIGNAL_DATA, senders, a.epoch);
    }
    shmem_copy_out(a, GATHER ? a.ranks : 1);
}

/* Each rank adds its part: for itself or, of the WHOLE, for all. */
template <bool WHOLE> BW_DEVICE void shmem_run_multicast_sum(const shmem_args &a)
{
    const uint32_t part = shmem_part(a, a.rank);
    const uint32_t length = WHOLE ? shmem_part_length(a, a.rank) : a.vectors;
    const uint32_t step = shmem_threads();
    uint4 v[BW_SHMEM_COPY_VECTORS];

    shmem_begin();
    BW_FRAMES(a);
    shmem_publish(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
    shmem_await(a, BW_SIGNAL_ENTRY, SHMEM_ALL, a.epoch);
    shmem_alias_fence();
    for (uint32_t i = shmem_thread(); i < length; i += BW_SHMEM_COPY_VECTORS * step) {
        {
            BW_FRAME_OWN(a, FRAME_REMOTE_GET);
            shmem_sum_batch(a.dtype, v, shmem_all(a, a.in_offset, part), i, step, length);
            BW_FRAME_HAVE(a, v);
        }
        if (WHOLE) {
            BW_FRAME_OWN(a, FRAME_REMOTE_PUT);
            shmem_store_all_batch(shmem_all(a, a.out_offset, part), v, i, step, length);
        } else {
            BW_FRAME_OWN(a, FRAME_FINALIZE);
            shmem_store_batch(shmem_out(a, a.rank), v, i, step, length);
        }
    }
    shmem_alias_fence();
    shmem_finish(a);
    if (WHOLE) {
        shmem_copy_out(a, a.ranks);
    }
}

#define SHMEM_MULTICAST_BODY(run) run(a);
#else
#define SHMEM_MULTICAST_BODY(run) (void)a;
#endif

SHMEM_KERNEL(bw_shmem_multicast_all_gather, 1)
{
    SHMEM_MULTICAST_BODY(shmem_run_multicast<true>)
}

SHMEM_KERNEL(bw_shmem_multicast_broadcast, 1)
{
    SHMEM_MULTICAST_BODY(shmem_run_multicast<false>)
}

SHMEM_KERNEL(bw_shmem_multicast_reduce_scatter, 1)
{
    SHMEM_MULTICAST_BODY(shmem_run_multicast_sum<false>)
}

SHMEM_KERNEL(bw_shmem_multicast_all_reduce, 1)
{
    SHMEM_MULTICAST_BODY(shmem_run_multicast_sum<true>)
}
