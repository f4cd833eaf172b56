/* SPDX-License-Identifier: Apache-2.0 */
/* What launches of the product's kernels do to memory, and what of them may be skipped. Part of
 * table.cc. */

static void cost_make(sim_work &work, void *p, uint64_t bytes, uint32_t)
{
    move(work, nullptr, p, bytes, (double)bytes);
}

static void resize_make(void *args, void *at, size_t bytes, void *)
{
    auto &a = sim_bound<bw_fill, cost_make>::args_of(args);

    std::get<0>(a) = at;
    std::get<1>(a) = bytes;
}

static void cost_check(sim_work &work, const void *p, uint64_t bytes, uint32_t,
                       bw_check_result *result)
{
    move(work, p, nullptr, bytes, (double)bytes);
    move(work, nullptr, result, sizeof(*result), 0);
}

static void resize_check(void *args, void *at, size_t bytes, void *result)
{
    auto &a = sim_bound<bw_check, cost_check>::args_of(args);

    std::get<0>(a) = at;
    std::get<1>(a) = bytes;
    std::get<3>(a) = result != nullptr ? (bw_check_result *)result : std::get<3>(a);
}

static bool check_is_clean(const void *result)
{
    return ((const bw_check_result *)result)->count == 0;
}

static void check_clear(void *result)
{
    *(bw_check_result *)result = bw_check_result{};
    ((bw_check_result *)result)->first = ~(uint64_t)0;
}

static void cost_corrupt(sim_work &work, void *p, uint64_t word)
{
    move(work, nullptr, (uint32_t *)p + word, 4, 4);
}

static void cost_passes(sim_work &work, void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
    move(work, src, dst, bytes, (double)bytes * (double)passes);
}

static void resize_passes(void *args, void *, size_t bytes, void *)
{
    auto &a = sim_bound<bw_copy_sweep, cost_passes>::args_of(args);

    std::get<2>(a) = bytes == 0 ? 0 : std::get<2>(a);
    std::get<3>(a) = std::get<3>(a) > 2 ? 2 : std::get<3>(a);
}

/* The forward half, and the other one, which goes on until that is through. */
static void cost_split(sim_work &work, void *fwd_dst, const void *fwd_src, void *rev_dst,
                       const void *rev_src, uint64_t bytes, uint64_t passes, bw_split_state *state)
{
    move(work, fwd_src, fwd_dst, bytes, (double)bytes * (double)passes);
    move(work, rev_src, rev_dst, bytes, INFINITY);
    work.moves[1].goes_on = true;
    move(work, nullptr, state, sizeof(*state), 0);
}

/* A thread of the odd warps: its chunks a pass, its bytes a pass, and its looks in all. */
struct split_share {
    uint64_t chunks, bytes, looks, moved;
};

/* `N` vectors are a chunk of the odd warps: how many they have in flight. */
template <auto Kernel, uint64_t N> struct split_model {
    typedef sim_bound<Kernel, cost_split> bound;

    static void resize(void *args, void *, size_t bytes, void *)
    {
        auto &a = bound::args_of(args);

        std::get<4>(a) = bytes == 0 ? 0 : std::get<4>(a);
        std::get<5>(a) = std::get<5>(a) > 2 ? 2 : std::get<5>(a);
    }

    static split_share share_of(uint64_t bytes, const sim_shape *shape, uint64_t thread)
    {
        const uint64_t threads = (uint64_t)shape->grid.x * shape->block.x / 2;
        const uint64_t vectors = bytes / 16, tail = bytes % 16;
        const double passes = shape->passes < 1 ? 1 : shape->passes;
        split_share s = {};
        uint64_t whole = (uint64_t)passes;

        s.chunks = thread + (N - 1) * threads < vectors
                       ? (vectors - thread - (N - 1) * threads + N * threads - 1) / (N * threads)
                       : 0;
        s.bytes = thread < vectors ? (vectors - thread + threads - 1) / threads * 16 : 0;
        s.bytes += thread < tail ? (tail - thread + threads - 1) / threads : 0;
        s.looks = (uint64_t)ceil((passes - (double)whole) * (double)(s.chunks + 1));
        /* The last look of a pass comes after its ragged end. */
        s.moved = s.looks > s.chunks ? s.bytes : 16 * N * s.looks;
        s.moved += whole * s.bytes;
        s.looks += whole * (s.chunks + 1);
        return s;
    }

    static double settle(const void *args, const sim_shape *shape)
    {
        const uint64_t bytes = std::get<4>(*(const typename bound::pack_t *)args);
        const uint64_t threads = (uint64_t)shape->grid.x * shape->block.x / 2;
        uint64_t moved = 0;

        for (uint64_t thread = 0; thread < threads; thread++) {
            moved += share_of(bytes, shape, thread).moved;
        }
        return (double)moved;
    }

    static unsigned long looks(const void *args, const sim_shape *shape, unsigned long thread)
    {
        return share_of(std::get<4>(*(const typename bound::pack_t *)args), shape, thread).looks;
    }

    static void account(void *args, double bytes)
    {
        bw_split_state *state = std::get<6>(bound::args_of(args));

        state->reverse_bytes = (uint64_t)bytes;
    }
};

typedef split_model<bw_copy_split_in, 1> split_in;
typedef split_model<bw_copy_split_out, 4> split_out;

static void cost_chase_build(sim_work &work, uint64_t base, uint32_t nodes, uint32_t stride)
{
    move(work, nullptr, (void *)base, (uint64_t)nodes * stride, (double)nodes * 8);
}

static void cost_chase(sim_work &work, uint64_t, uint32_t, bw_chase_report *report)
{
    move(work, nullptr, report, sizeof(*report), 0);
}

static void cost_chase_check(sim_work &work, uint64_t base, uint32_t nodes, uint32_t stride,
                             bw_check_result *result)
{
    move(work, (const void *)base, nullptr, (uint64_t)nodes * stride, (double)nodes * 8);
    move(work, nullptr, result, sizeof(*result), 0);
}

static void cost_hold(sim_work &work, const uint32_t *flag, uint32_t, uint64_t,
                      bw_gate_report *report)
{
    move(work, flag, nullptr, sizeof(*flag), 0);
    move(work, nullptr, report, sizeof(*report), 0);
}

static void cost_relay(sim_work &work, const uint32_t *host_flag, uint32_t *shared_flag, uint32_t,
                       uint64_t, bw_gate_report *report)
{
    move(work, host_flag, nullptr, sizeof(*host_flag), 0);
    move(work, nullptr, shared_flag, sizeof(*shared_flag), 0);
    move(work, nullptr, report, sizeof(*report), 0);
}

static void cost_clock(sim_work &work, uint32_t *theirs, const uint32_t *mine, uint32_t, uint64_t,
                       bw_clock_log *log)
{
    move(work, nullptr, theirs, sizeof(*theirs), 0);
    move(work, mine, nullptr, sizeof(*mine), 0);
    move(work, nullptr, log, sizeof(*log), 0);
}
