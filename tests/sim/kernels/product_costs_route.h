/* SPDX-License-Identifier: Apache-2.0 */
/* What dispatch and combine do to memory. Part of table.cc. */

static uint64_t route_bytes(const bw_route_args &a, uint64_t rows)
{
    return rows * a.s.vectors * 16;
}

static void route_tables(sim_work &work, const bw_route_args &a)
{
    const uint64_t bytes = (uint64_t)a.tokens * a.width * 4;

    shmem_move(work, (const void *)a.dst, nullptr, bytes, 0);
    shmem_move(work, (const void *)a.slot, nullptr, bytes, 0);
}

/* The tables of this rank's tokens are read, and signals exchanged. */
static void route_touch(sim_work &work, const bw_route_args &a)
{
    route_tables(work, a);
    shmem_touch(work, a.s);
}

/* This rank's tokens, into each rank's receive area. */
static void cost_push_dispatch(sim_work &work, bw_route_args a)
{
    for (uint32_t d = 1; d <= a.s.ranks; d++) {
        const uint32_t r = shmem_peer(a.s, d);
        const uint64_t bytes = route_bytes(a, a.sent[r]);

        shmem_move(work, shmem_in(a.s, a.s.rank), shmem_out(a.s, r) + route_row(a, a.base[r]),
                   bytes, (double)bytes);
    }
    route_touch(work, a);
}

/* Pieces of this rank's tokens, in its own memory. */
static void cost_route_pack(sim_work &work, bw_route_args a)
{
    for (uint32_t r = 0; r < a.s.ranks; r++) {
        const uint64_t bytes = route_bytes(a, a.sent[r]);

        shmem_move(work, shmem_in(a.s, a.s.rank), shmem_out(a.s, r) + route_row(a, a.base[r]),
                   bytes, (double)bytes);
    }
    route_tables(work, a);
}

static void cost_route_unpack(sim_work &work, bw_route_args a)
{
    for (uint32_t r = 0; r < a.s.ranks; r++) {
        const uint64_t bytes = route_bytes(a, a.sent[r]);

        shmem_move(work, shmem_in(a.s, r) + route_row(a, a.base[r]), shmem_out(a.s, a.s.rank),
                   bytes, (double)bytes);
    }
    shmem_move(work, nullptr, shmem_out(a.s, a.s.rank), route_bytes(a, a.tokens), 0);
    route_tables(work, a);
}

static void cost_pull_dispatch(sim_work &work, bw_route_args a)
{
    for (uint32_t d = 1; d <= a.s.ranks; d++) {
        const uint32_t r = shmem_peer(a.s, d);
        const uint64_t bytes = route_bytes(a, a.received[r]);

        shmem_move(work, shmem_in(a.s, r), shmem_out(a.s, a.s.rank) + route_row(a, a.from[r]),
                   bytes, (double)bytes);
    }
    route_touch(work, a);
}

/* The rows of this rank's tokens, wherever they are; their sums here. */
static void cost_pull_combine(sim_work &work, bw_route_args a)
{
    for (uint32_t d = 1; d <= a.s.ranks; d++) {
        const uint32_t r = shmem_peer(a.s, d);
        const uint64_t bytes = route_bytes(a, a.sent[r]);

        shmem_move(work, shmem_in(a.s, r) + route_row(a, a.base[r]), shmem_out(a.s, a.s.rank),
                   bytes, (double)bytes);
    }
    shmem_move(work, nullptr, shmem_out(a.s, a.s.rank), route_bytes(a, a.tokens), 0);
    route_touch(work, a);
}

/* Rows to the peers' scratch, and out of one's own. */
static void route_scratch(sim_work &work, const bw_route_args &a, const uint32_t *rows)
{
    const uint64_t scratch = 2 * (uint64_t)a.s.slot_vectors * 16 * (a.s.ranks - 1);
    void *own = (void *)(a.s.window[a.s.rank] + a.s.scratch_offset);

    for (uint32_t d = 1; d < a.s.ranks; d++) {
        const uint32_t r = shmem_peer(a.s, d);
        const uint64_t bytes = route_bytes(a, rows[r]);

        shmem_move(work, shmem_in(a.s, a.s.rank), shmem_slot(a.s, r, a.s.slot, a.s.rank), bytes,
                   (double)bytes);
    }
    shmem_move(work, own, nullptr, scratch, (double)scratch / 2);
    shmem_move(work, nullptr, own, scratch, 0);
    shmem_move(work, (const void *)a.edge, nullptr, (uint64_t)a.s.ranks * (a.tiles + 1) * 4, 0);
    route_touch(work, a);
}

static void cost_tiles_dispatch(sim_work &work, bw_route_args a)
{
    uint64_t rows = 0;

    for (uint32_t r = 0; r < a.s.ranks; r++) {
        rows += a.received[r];
    }
    shmem_move(work, nullptr, shmem_out(a.s, a.s.rank), route_bytes(a, rows),
               (double)route_bytes(a, rows));
    shmem_move(work, shmem_in(a.s, a.s.rank), nullptr, route_bytes(a, a.tokens), 0);
    route_scratch(work, a, a.sent);
}

static void cost_tiles_combine(sim_work &work, bw_route_args a)
{
    uint64_t rows = 0;

    for (uint32_t r = 0; r < a.s.ranks; r++) {
        rows += a.received[r];
    }
    shmem_move(work, shmem_in(a.s, a.s.rank), nullptr, route_bytes(a, rows), 0);
    shmem_move(work, nullptr, shmem_out(a.s, a.s.rank), route_bytes(a, a.tokens),
               (double)route_bytes(a, a.tokens));
    route_scratch(work, a, a.received);
}

static void cost_route_fill(sim_work &work, bw_route_check c)
{
    if (c.rows > 0) {
        move(work, nullptr, (void *)c.memory, c.rows * c.pitch_bytes,
             (double)(c.rows * c.pitch_bytes));
    }
}

/* What is expected is read off the tables. */
static void route_expects(sim_work &work, const bw_route_check &c)
{
    const uint64_t bytes = (uint64_t)c.tokens * c.width * 4;

    shmem_move(work, (const void *)c.dst, nullptr, c.is_sum ? bytes : 0, 0);
    shmem_move(work, (const void *)c.slot, nullptr, c.is_sum ? bytes : 0, 0);
    shmem_move(work, (const void *)c.origin, nullptr, c.is_sum ? 0 : c.rows * 4, 0);
}

static void cost_route_spoil(sim_work &work, bw_route_check c)
{
    move(work, nullptr, (void *)c.memory, c.room * c.pitch_bytes, (double)(c.room * c.pitch_bytes));
    route_expects(work, c);
}

static void cost_route_check(sim_work &work, bw_route_check c)
{
    move(work, (const void *)c.memory, nullptr, c.room * c.pitch_bytes,
         (double)(c.room * c.pitch_bytes));
    move(work, nullptr, (void *)c.result, sizeof(bw_check_result), 0);
    route_expects(work, c);
}
