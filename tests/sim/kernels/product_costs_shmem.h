/* SPDX-License-Identifier: Apache-2.0 */
/* What the operators' kernels do to memory. Part of table.cc. */

/* A move, if there is room for it: with very many ranks some only show in what they take. */
static void shmem_move(sim_work &work, const void *src, void *dst, u64 span, double bytes)
{
    if (work.count < SIM_MOVES_MAX && span > 0) {
        move(work, src, dst, span, bytes);
    }
}

static uint64_t shmem_message(const bw_shmem_args &a)
{
    return (uint64_t)a.vectors * 16;
}

/* Signals of all ranks, and where a wait says that it gave up. */
static void shmem_touch(sim_work &work, const bw_shmem_args &a)
{
    const uint64_t bytes =
        (uint64_t)BW_SIGNAL_KINDS * BW_SHMEM_CTAS_MAX * a.ranks * BW_SHMEM_SIGNAL_BYTES;

    for (uint32_t r = 0; r < a.ranks; r++) {
        shmem_move(work, nullptr, (void *)(a.window[r] + a.signal_offset), bytes, 0);
    }
    shmem_move(work, nullptr, (void *)a.timed_out, 4, 0);
}

/* Into each rank's output, from this one's input. */
template <uint32_t LAYOUT> static void cost_shmem_push(sim_work &work, bw_shmem_args a)
{
    const uint64_t bytes = shmem_message(a);

    for (uint32_t d = 1; d <= a.ranks && (LAYOUT != BW_LAYOUT_BROADCAST || a.rank == a.root); d++) {
        const uint32_t r = shmem_peer(a, d);
        const uint32_t from = LAYOUT == BW_LAYOUT_ALL_TO_ALL ? shmem_part(a, r) : 0;
        const uint32_t to = LAYOUT == BW_LAYOUT_BROADCAST ? 0 : shmem_part(a, a.rank);

        shmem_move(work, shmem_in(a, a.rank) + from, shmem_out(a, r) + to, bytes, (double)bytes);
    }
    shmem_touch(work, a);
}

/* From each rank's input, into this one's output. */
template <uint32_t LAYOUT> static void cost_shmem_pull(sim_work &work, bw_shmem_args a)
{
    const bool is_sum = LAYOUT == BW_LAYOUT_REDUCE_SCATTER || LAYOUT == BW_LAYOUT_ALL_REDUCE;
    const bool is_each = LAYOUT == BW_LAYOUT_ALL_TO_ALL || LAYOUT == BW_LAYOUT_REDUCE_SCATTER;
    const uint64_t bytes = shmem_message(a);

    for (uint32_t d = 1; d <= a.ranks; d++) {
        const uint32_t r = shmem_peer(a, d);

        shmem_move(work, shmem_in(a, r) + (is_each ? shmem_part(a, a.rank) : 0),
                   shmem_out(a, a.rank) + (is_sum ? 0 : shmem_part(a, r)), bytes, (double)bytes);
    }
    shmem_touch(work, a);
}

/* By way of scratch: to each peer's, then from one's own. `cost` is of a byte, on the wire. */
template <uint32_t LAYOUT, int COST> static void cost_shmem_scratch(sim_work &work, bw_shmem_args a)
{
    const bool is_each = LAYOUT == BW_LAYOUT_ALL_TO_ALL || LAYOUT == BW_LAYOUT_REDUCE_SCATTER;
    const bool is_sum = LAYOUT == BW_LAYOUT_REDUCE_SCATTER || LAYOUT == BW_LAYOUT_ALL_REDUCE;
    const uint64_t bytes = shmem_message(a);
    const uint64_t scratch = 3 * (uint64_t)a.slot_vectors * 16 * (a.ranks - 1);

    for (uint32_t d = 1; d < a.ranks && (LAYOUT != BW_LAYOUT_BROADCAST || a.rank == a.root); d++) {
        const uint32_t r = shmem_peer(a, d);

        shmem_move(work, shmem_in(a, a.rank) + (is_each ? shmem_part(a, r) : 0),
                   shmem_slot(a, r, a.slot, a.rank), bytes, (double)bytes * COST);
    }
    if (a.ranks > 1) {
        shmem_move(work, (const void *)(a.window[a.rank] + a.scratch_offset), nullptr,
                   scratch / 3 * 2, (double)bytes * COST * (a.ranks - 1));
        shmem_move(work, nullptr, (void *)(a.window[a.rank] + a.scratch_offset), scratch / 3 * 2,
                   0);
    }
    shmem_move(work, shmem_in(a, a.rank), nullptr, bytes * (is_each ? a.ranks : 1), 0);
    shmem_move(work, nullptr, shmem_out(a, a.rank),
               bytes * (is_sum || LAYOUT == BW_LAYOUT_BROADCAST ? 1 : a.ranks), (double)bytes);
    shmem_touch(work, a);
}

/* Three slots instead of two. */
template <uint32_t LAYOUT> static void cost_shmem_poison(sim_work &work, bw_shmem_args a)
{
    const uint64_t scratch = (uint64_t)a.slot_vectors * 16 * (a.ranks - 1);

    cost_shmem_scratch<LAYOUT, 1>(work, a);
    shmem_move(work, nullptr, (void *)(a.window[a.rank] + a.scratch_offset + 2 * scratch), scratch,
               0);
}

/* The parts to the peers' scratch, and the sum of one's own part to all outputs. */
static void cost_shmem_two_shot(sim_work &work, bw_shmem_args a)
{
    const uint64_t scratch = 2 * (uint64_t)a.slot_vectors * 16 * (a.ranks - 1);

    for (uint32_t d = 1; d <= a.ranks; d++) {
        const uint32_t r = shmem_peer(a, d);
        const uint64_t there = (uint64_t)shmem_part_length(a, r) * 16;
        const uint64_t mine = (uint64_t)shmem_part_length(a, a.rank) * 16;

        if (r != a.rank && there > 0) {
            shmem_move(work, shmem_in(a, a.rank) + shmem_part(a, r),
                       shmem_slot(a, r, a.slot, a.rank), there, (double)there);
        }
        if (mine > 0) {
            shmem_move(work, shmem_in(a, a.rank) + shmem_part(a, a.rank),
                       shmem_out(a, r) + shmem_part(a, a.rank), mine, (double)mine);
        }
    }
    shmem_move(work, (const void *)(a.window[a.rank] + a.scratch_offset), nullptr,
               a.ranks > 1 ? scratch : 0, 0);
    shmem_touch(work, a);
}

/* By the switch: to all outputs, or the sum of all inputs; then out of what has come, if need be.
 */
template <uint32_t LAYOUT> static void cost_shmem_multicast(sim_work &work, bw_shmem_args a)
{
    const bool is_sum = LAYOUT == BW_LAYOUT_REDUCE_SCATTER || LAYOUT == BW_LAYOUT_ALL_REDUCE;
    const bool is_whole = LAYOUT == BW_LAYOUT_ALL_REDUCE;
    const uint64_t bytes = (uint64_t)shmem_part_length(a, a.rank) * 16;
    const uint32_t part = LAYOUT == BW_LAYOUT_BROADCAST ? 0 : shmem_part(a, a.rank);
    uint4 *all_out = (uint4 *)(a.multicast + a.out_offset) + part;
    const uint64_t come = bw_shmem_outputs(LAYOUT, a.ranks) * (is_whole ? a.total : a.vectors) * 16;

    if (is_sum) {
        shmem_move(work, (uint4 *)(a.multicast + a.in_offset) + part, nullptr, bytes,
                   (double)bytes);
        shmem_move(work, nullptr, is_whole ? all_out : shmem_out(a, a.rank), bytes, (double)bytes);
    } else if (LAYOUT != BW_LAYOUT_BROADCAST || a.rank == a.root) {
        shmem_move(work, shmem_in(a, a.rank), all_out, bytes, (double)bytes);
    }
    if (a.out != a.area + a.out_offset && LAYOUT != BW_LAYOUT_REDUCE_SCATTER) {
        shmem_move(work, (void *)(a.area + a.out_offset), (void *)a.out, come, (double)come);
    }
    shmem_touch(work, a);
}

static void cost_shmem_signals(sim_work &work, bw_shmem_args a)
{
    shmem_touch(work, a);
}

static void cost_shmem_pingpong(sim_work &work, bw_shmem_args a)
{
    const uint64_t bytes = shmem_message(a);

    if (a.rank <= 1) {
        shmem_move(work, (const void *)a.in, (void *)(a.window[1 - a.rank] + a.out_offset), bytes,
                   (double)bytes * a.rounds);
    }
    shmem_touch(work, a);
}

static void cost_shmem_fill(sim_work &work, bw_shmem_check c)
{
    const uint64_t bytes = bw_shmem_inputs(c.layout, c.ranks) * c.pitch_bytes;

    move(work, nullptr, (void *)c.memory, bytes, (double)bytes);
}

static void cost_shmem_spoil(sim_work &work, bw_shmem_check c)
{
    const uint64_t bytes = bw_shmem_outputs(c.layout, c.ranks) * c.pitch_bytes;

    move(work, nullptr, (void *)c.memory, bytes, (double)bytes);
}

static void cost_shmem_check(sim_work &work, bw_shmem_check c)
{
    const uint64_t bytes = bw_shmem_outputs(c.layout, c.ranks) * c.pitch_bytes;

    move(work, (const void *)c.memory, nullptr, bytes, (double)bytes);
    move(work, nullptr, (void *)c.result, sizeof(bw_check_result), 0);
}

#define SHMEM_OF(how, cost)                                                 \
    {SIM_KERNEL(bw_shmem_##how##_all_gather, cost<BW_LAYOUT_ALL_GATHER>)},  \
    {                                                                       \
        SIM_KERNEL(bw_shmem_##how##_all_to_all, cost<BW_LAYOUT_ALL_TO_ALL>) \
    }
#define SHMEM_BROADCAST_OF(how, cost)                                     \
    {                                                                     \
        SIM_KERNEL(bw_shmem_##how##_broadcast, cost<BW_LAYOUT_BROADCAST>) \
    }
#define SHMEM_SUMS_OF(how, cost)                                                   \
    {SIM_KERNEL(bw_shmem_##how##_reduce_scatter, cost<BW_LAYOUT_REDUCE_SCATTER>)}, \
    {                                                                              \
        SIM_KERNEL(bw_shmem_##how##_all_reduce, cost<BW_LAYOUT_ALL_REDUCE>)        \
    }

#define SHMEM_MULTICAST(what, layout)                                       \
    {                                                                       \
        SIM_KERNEL(bw_shmem_multicast_##what, cost_shmem_multicast<layout>) \
    }

template <uint32_t LAYOUT> static void cost_shmem_tiles(sim_work &work, bw_shmem_args a)
{
    cost_shmem_scratch<LAYOUT, 1>(work, a);
}

template <uint32_t LAYOUT> static void cost_shmem_ll(sim_work &work, bw_shmem_args a)
{
    cost_shmem_scratch<LAYOUT, 2>(work, a);
}
