/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators whose data carry their own flag: no fence, no signal, no barrier of
 * a block. Each thread sends groups of words into the peers' scratch, and polls
 * its own scratch for the same groups.
 *
 * SM store, src = the user's input, dst = the peers' scratch, copied out or
 * added by the same kernel: placement A, no user buffer is symmetric.
 *
 *  ll     8 bytes of data with twice the epoch: 50 % of the wire, two slots; any
 *         bits arrive as they were sent
 *  poison 16 bytes of data, "not there yet" is a NaN that is never sent: 100 %,
 *         three slots, because the receiver must poison a slot again that it has
 *         read. Of a floating sum's input it changes NaNs of all ones, in which
 *         it clears the sign: for reductions only
 *
 * A group is a vector of data; threads of a warp are interleaved, so that each
 * access of a warp is 512 contiguous bytes.
 */
#include "shmem_device.h"

struct shmem_ll {
    enum { WORDS = 2, IS_POISON = 0 };

    BW_DEVICE void pack(uint4 (&w)[2], uint4 d, uint32_t epoch)
    {
        w[0] = make_uint4(d.x, epoch, d.y, epoch);
        w[1] = make_uint4(d.z, epoch, d.w, epoch);
    }
    BW_DEVICE bool is_there(const uint4 (&w)[2], uint32_t epoch)
    {
        return w[0].y == epoch && w[0].w == epoch && w[1].y == epoch && w[1].w == epoch;
    }
    BW_DEVICE uint4 unpack(const uint4 (&w)[2])
    {
        return make_uint4(w[0].x, w[0].z, w[1].x, w[1].z);
    }
};

/* Each half of the vector is whole when it is seen, so each needs a mark of its own. */
struct shmem_poison {
    enum { WORDS = 1, IS_POISON = 1 };

    BW_DEVICE uint32_t clean(uint32_t v)
    {
        return v == bw_shmem_poison ? 0x7fffffffu : v; /* another NaN */
    }
    BW_DEVICE void pack(uint4 (&w)[1], uint4 d, uint32_t)
    {
        w[0] = make_uint4(d.x, clean(d.y), d.z, clean(d.w));
    }
    BW_DEVICE bool is_there(const uint4 (&w)[1], uint32_t)
    {
        return w[0].y != bw_shmem_poison && w[0].w != bw_shmem_poison;
    }
    BW_DEVICE uint4 unpack(const uint4 (&w)[1])
    {
        return w[0];
    }
};

template <class P> BW_DEVICE uint32_t shmem_word_at(uint32_t group, uint32_t j)
{
    return (group / 32 * P::WORDS + j) * 32 + group % 32;
}

template <class P>
BW_DEVICE void shmem_send_group(const shmem_args &a, uint32_t r, uint32_t group, uint4 d)
{
    uint4 *slot = shmem_slot(a, r, a.slot, a.rank);
    uint4 w[P::WORDS];

    P::pack(w, d, BW_SHMEM_FAULT(4, a.rank) ? a.epoch - 1 : a.epoch);
    BW_UNROLL
    for (uint32_t j = 0; j < P::WORDS; j++) {
        shmem_store_pair(slot + shmem_word_at<P>(group, j), w[j]);
    }
}

/* U groups a thread, `step` apart. */
struct shmem_groups {
    uint32_t first, step, count; /* count: of the message, a multiple of 32 */
};

BW_DEVICE bool shmem_has_group(const shmem_groups &g, int u)
{
    return g.first + u * (uint64_t)g.step < g.count;
}

template <int U>
BW_DEVICE void shmem_load_groups(uint4 (&d)[U], const uint4 *src, const shmem_groups &g,
                                 uint32_t vectors)
{
    BW_UNROLL
    for (int u = 0; u < U; u++) {
        const uint32_t i = g.first + u * g.step;

        d[u] = shmem_has_group(g, u) && i < vectors ? shmem_load(src + i) : make_uint4(0, 0, 0, 0);
    }
}

template <int U>
BW_DEVICE void shmem_store_groups(uint4 *dst, const uint4 (&d)[U], const shmem_groups &g,
                                  uint32_t vectors)
{
    BW_UNROLL
    for (int u = 0; u < U; u++) {
        const uint32_t i = g.first + u * g.step;

        if (shmem_has_group(g, u) && i < vectors) {
            shmem_store(dst + i, d[u]);
        }
    }
}

/* The slot of the epoch before was read: nobody writes there before this launch has ended. */
template <int U>
BW_DEVICE void shmem_poison_again(const shmem_args &a, uint32_t r, const shmem_groups &g)
{
    uint4 *old = shmem_slot(a, a.rank, a.slot_clear, r);

    BW_FRAME_OWN(a, FRAME_FINALIZE);
    BW_UNROLL
    for (int u = 0; u < U; u++) {
        if (shmem_has_group(g, u) && !BW_SHMEM_FAULT(3, a.rank)) {
            shmem_store_scratch(old + g.first + u * g.step,
                                make_uint4(bw_shmem_poison, bw_shmem_poison, bw_shmem_poison,
                                           bw_shmem_poison));
        }
    }
}

/* The words of U groups from rank r, all asked for before the first is looked at. */
template <class P, int U>
BW_DEVICE void shmem_receive_groups(const shmem_args &a, uint32_t r, const shmem_groups &g,
                                    uint4 (&d)[U])
{
    const uint4 *slot = shmem_slot(a, a.rank, a.slot, r);
    uint4 w[U][P::WORDS];
    shmem_patience patience = {0, 0};
    bool is_there;

    {
        BW_FRAME_OWN(a, FRAME_WORD_WAIT);
        do {
            BW_UNROLL
            for (int u = 0; u < U; u++) {
                BW_UNROLL
                for (uint32_t j = 0; j < P::WORDS && shmem_has_group(g, u); j++) {
                    w[u][j] = shmem_load_pair(slot + shmem_word_at<P>(g.first + u * g.step, j));
                }
            }
            is_there = true;
            BW_UNROLL
            for (int u = 0; u < U; u++) {
                is_there = is_there && (!shmem_has_group(g, u) || P::is_there(w[u], a.epoch));
            }
        } while (!is_there && !BW_SHMEM_FAULT(13, a.rank) && !shmem_gives_up(a, patience));
    }
    BW_UNROLL
    for (int u = 0; u < U; u++) {
        d[u] = shmem_has_group(g, u) ? P::unpack(w[u]) : make_uint4(0, 0, 0, 0);
    }
    if (P::IS_POISON) {
        shmem_poison_again<U>(a, r, g);
    }
}

BW_DEVICE bool shmem_words_each(uint32_t layout)
{
    return layout == BW_LAYOUT_ALL_TO_ALL || layout == BW_LAYOUT_REDUCE_SCATTER;
}

/* Load what goes out, store it to the peers; what stays here goes straight to the output. */
template <uint32_t LAYOUT, class P, int U>
BW_DEVICE void shmem_words_send(const shmem_args &a, const shmem_groups &g)
{
    const bool each = shmem_words_each(LAYOUT);
    uint4 d[U];

    if (LAYOUT == BW_LAYOUT_BROADCAST && a.rank != a.root) {
        return;
    }
    if (!each) {
        BW_FRAME_OWN(a, FRAME_COPY_IN);
        shmem_load_groups<U>(d, shmem_in(a, a.rank), g, a.vectors);
        BW_FRAME_HAVE(a, d);
    }
    BW_UNROLL_1
    for (uint32_t k = 1; k < a.ranks; k++) {
        const uint32_t r = shmem_peer(a, k);

        if (each) {
            BW_FRAME_OWN(a, FRAME_COPY_IN);
            shmem_load_groups<U>(d, shmem_in(a, a.rank) + shmem_part(a, r), g, a.vectors);
            BW_FRAME_HAVE(a, d);
        }
        BW_FRAME_OWN(a, FRAME_REMOTE_PUT);
        BW_UNROLL
        for (int u = 0; u < U; u++) {
            if (shmem_has_group(g, u)) {
                shmem_send_group<P>(a, r, g.first + u * g.step, d[u]);
            }
        }
    }
    if (LAYOUT != BW_LAYOUT_REDUCE_SCATTER && LAYOUT != BW_LAYOUT_ALL_REDUCE) {
        BW_FRAME_OWN(a, FRAME_COPY_OUT);
        if (LAYOUT == BW_LAYOUT_ALL_TO_ALL) {
            shmem_load_groups<U>(d, shmem_in(a, a.rank) + shmem_part(a, a.rank), g, a.vectors);
        }
        shmem_store_groups<U>(shmem_out(a, a.rank) +
                                  (LAYOUT == BW_LAYOUT_BROADCAST ? 0 : shmem_part(a, a.rank)),
                              d, g, a.vectors);
    }
}

/*
 * Two ranks: a + b = b + a, so the own data need not wait for their place in
 * the order. More: in the order of the ranks, the same bits on all of them.
 */
template <uint32_t LAYOUT, class P, int U>
BW_DEVICE void shmem_words_reduce(const shmem_args &a, const shmem_groups &g)
{
    const uint4 *own =
        shmem_in(a, a.rank) + (LAYOUT == BW_LAYOUT_REDUCE_SCATTER ? shmem_part(a, a.rank) : 0);
    const uint32_t first = a.ranks == 2 ? a.rank : 0;
    uint4 sum[U], d[U];

    if (first == a.rank) {
        BW_FRAME_OWN(a, FRAME_COPY_IN);
        shmem_load_groups<U>(sum, own, g, a.vectors);
    } else {
        shmem_receive_groups<P, U>(a, first, g, sum);
    }
    BW_UNROLL_1
    for (uint32_t r = 0; r < a.ranks; r++) {
        if (r == first) {
            continue;
        }
        if (r == a.rank) {
            BW_FRAME_OWN(a, FRAME_COPY_IN);
            shmem_load_groups<U>(d, own, g, a.vectors);
        } else {
            shmem_receive_groups<P, U>(a, r, g, d);
        }
        BW_FRAME_OWN(a, FRAME_REDUCE);
        shmem_add_batch(a.dtype, sum, d);
        BW_FRAME_HAVE(a, sum);
    }
    BW_FRAME_OWN(a, FRAME_FINALIZE);
    shmem_store_groups<U>(shmem_out(a, a.rank), sum, g, a.vectors);
}

template <uint32_t LAYOUT, class P, int U>
BW_DEVICE void shmem_words_copy_out(const shmem_args &a, const shmem_groups &g)
{
    const uint32_t last =
        LAYOUT == BW_LAYOUT_BROADCAST ? (a.rank == a.root ? 0 : 1) : a.ranks - 1;
    uint4 d[U];

    BW_UNROLL_1
    for (uint32_t k = 1; k <= last; k++) {
        const uint32_t r = LAYOUT == BW_LAYOUT_BROADCAST ? a.root : shmem_peer(a, k);

        shmem_receive_groups<P, U>(a, r, g, d);
        BW_FRAME_OWN(a, FRAME_COPY_OUT);
        shmem_store_groups<U>(shmem_out(a, a.rank) +
                                  (LAYOUT == BW_LAYOUT_BROADCAST ? 0 : shmem_part(a, r)),
                              d, g, a.vectors);
    }
}

template <uint32_t LAYOUT, class P, int U>
BW_DEVICE void shmem_words_receive(const shmem_args &a, const shmem_groups &g)
{
    if constexpr (LAYOUT == BW_LAYOUT_REDUCE_SCATTER || LAYOUT == BW_LAYOUT_ALL_REDUCE) {
        shmem_words_reduce<LAYOUT, P, U>(a, g);
    } else {
        shmem_words_copy_out<LAYOUT, P, U>(a, g);
    }
}

template <uint32_t LAYOUT, class P, int U> BW_DEVICE void shmem_run_words(const shmem_args &a)
{
    const uint32_t count = (a.vectors + 31) / 32 * 32;
    shmem_groups g = {blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x, count};

    shmem_begin();
    BW_FRAMES(a);
    if (LAYOUT == BW_LAYOUT_BROADCAST) {
        shmem_credit<TILES_BROADCAST>(a);
    }
    if (g.first >= count) {
        return;
    }
    shmem_words_send<LAYOUT, P, U>(a, g);
    while (shmem_has_group(g, U)) {
        shmem_groups next = g;

        next.first += U * g.step;
        shmem_words_send<LAYOUT, P, U>(a, next);
        shmem_words_receive<LAYOUT, P, U>(a, g);
        g = next;
    }
    shmem_words_receive<LAYOUT, P, U>(a, g);
}

#define SHMEM_WORDS(name, layout, how, unroll, blocks_a_sm) \
    SHMEM_KERNEL(name, blocks_a_sm)                         \
    {                                                       \
        shmem_run_words<layout, how, unroll>(a);            \
    }

SHMEM_WORDS(bw_shmem_ll_all_gather, BW_LAYOUT_ALL_GATHER, shmem_ll, 1, 2)
SHMEM_WORDS(bw_shmem_ll_all_to_all, BW_LAYOUT_ALL_TO_ALL, shmem_ll, 1, 2)
SHMEM_WORDS(bw_shmem_ll_broadcast, BW_LAYOUT_BROADCAST, shmem_ll, 1, 2)
SHMEM_WORDS(bw_shmem_ll_reduce_scatter, BW_LAYOUT_REDUCE_SCATTER, shmem_ll, 1, 2)
SHMEM_WORDS(bw_shmem_ll_all_reduce, BW_LAYOUT_ALL_REDUCE, shmem_ll, 1, 2)
SHMEM_WORDS(bw_shmem_poison_reduce_scatter, BW_LAYOUT_REDUCE_SCATTER, shmem_poison, 1, 2)
SHMEM_WORDS(bw_shmem_poison_all_reduce, BW_LAYOUT_ALL_REDUCE, shmem_poison, 1, 2)
SHMEM_WORDS(bw_shmem_poison4_reduce_scatter, BW_LAYOUT_REDUCE_SCATTER, shmem_poison, 4, 1)
SHMEM_WORDS(bw_shmem_poison4_all_reduce, BW_LAYOUT_ALL_REDUCE, shmem_poison, 4, 1)
