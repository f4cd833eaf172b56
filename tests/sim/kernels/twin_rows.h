/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels with frames (twins.cc). They do to memory what their plain kernels
 * do, and write their records. Part of table.cc.
 */

/* name, threads of a block that move data (more than there are: all), cost of the plain kernel */
/* clang-format off */
#define TWINS(TWIN)                                                       \
    TWIN(push_all_gather, 1024, cost_shmem_push<BW_LAYOUT_ALL_GATHER>)    \
    TWIN(push_all_to_all, 1024, cost_shmem_push<BW_LAYOUT_ALL_TO_ALL>)    \
    TWIN(push_broadcast, 1024, cost_shmem_push<BW_LAYOUT_BROADCAST>)      \
    TWIN(pull_all_gather, 1024, cost_shmem_pull<BW_LAYOUT_ALL_GATHER>)    \
    TWIN(pull_all_to_all, 1024, cost_shmem_pull<BW_LAYOUT_ALL_TO_ALL>)    \
    TWIN(pull_reduce_scatter, 1024, cost_shmem_pull<BW_LAYOUT_REDUCE_SCATTER>) \
    TWIN(pull_all_reduce, 1024, cost_shmem_pull<BW_LAYOUT_ALL_REDUCE>)    \
    TWIN(tma_all_gather, 1, cost_shmem_push<BW_LAYOUT_ALL_GATHER>)        \
    TWIN(tma_all_to_all, 1, cost_shmem_push<BW_LAYOUT_ALL_TO_ALL>)        \
    TWIN(tma_broadcast, 1, cost_shmem_push<BW_LAYOUT_BROADCAST>)          \
    TWIN(tiles_all_gather, 1024, cost_shmem_tiles<BW_LAYOUT_ALL_GATHER>)  \
    TWIN(tiles_all_to_all, 1024, cost_shmem_tiles<BW_LAYOUT_ALL_TO_ALL>)  \
    TWIN(tiles_broadcast, 1024, cost_shmem_tiles<BW_LAYOUT_BROADCAST>)    \
    TWIN(tiles_reduce_scatter, 1024, cost_shmem_tiles<BW_LAYOUT_REDUCE_SCATTER>) \
    TWIN(tiles_all_reduce, 1024, cost_shmem_tiles<BW_LAYOUT_ALL_REDUCE>)  \
    TWIN(two_shot_all_reduce, 1024, cost_shmem_two_shot)                  \
    TWIN(ll_all_gather, 1024, cost_shmem_ll<BW_LAYOUT_ALL_GATHER>)        \
    TWIN(ll_all_to_all, 1024, cost_shmem_ll<BW_LAYOUT_ALL_TO_ALL>)        \
    TWIN(ll_broadcast, 1024, cost_shmem_ll<BW_LAYOUT_BROADCAST>)          \
    TWIN(ll_reduce_scatter, 1024, cost_shmem_ll<BW_LAYOUT_REDUCE_SCATTER>) \
    TWIN(ll_all_reduce, 1024, cost_shmem_ll<BW_LAYOUT_ALL_REDUCE>)        \
    TWIN(poison_reduce_scatter, 1024, cost_shmem_poison<BW_LAYOUT_REDUCE_SCATTER>) \
    TWIN(poison_all_reduce, 1024, cost_shmem_poison<BW_LAYOUT_ALL_REDUCE>) \
    TWIN(poison4_reduce_scatter, 1024, cost_shmem_poison<BW_LAYOUT_REDUCE_SCATTER>) \
    TWIN(poison4_all_reduce, 1024, cost_shmem_poison<BW_LAYOUT_ALL_REDUCE>) \
    TWIN(multicast_all_gather, 1024, cost_shmem_multicast<BW_LAYOUT_ALL_GATHER>) \
    TWIN(multicast_broadcast, 1024, cost_shmem_multicast<BW_LAYOUT_BROADCAST>) \
    TWIN(multicast_reduce_scatter, 1024, cost_shmem_multicast<BW_LAYOUT_REDUCE_SCATTER>) \
    TWIN(multicast_all_reduce, 1024, cost_shmem_multicast<BW_LAYOUT_ALL_REDUCE>) \
    TWIN(barrier, 1024, cost_shmem_signals)                               \
    TWIN(pingpong, 1024, cost_shmem_pingpong)
#define ROUTED_TWINS(TWIN)                                                 \
    TWIN(push_dispatch, 1024, cost_push_dispatch)                          \
    TWIN(pull_dispatch, 1024, cost_pull_dispatch)                          \
    TWIN(tiles_dispatch, 1024, cost_tiles_dispatch)                        \
    TWIN(pull_combine, 1024, cost_pull_combine)                            \
    TWIN(tiles_combine, 1024, cost_tiles_combine)                          \
    TWIN(tma_dispatch, 1, cost_push_dispatch)
/* clang-format on */

static const bw_frame_args &frames_of(const bw_shmem_args &a)
{
    return a.frames;
}

static const bw_frame_args &frames_of(const bw_route_args &a)
{
    return a.s.frames;
}

template <class ARGS, void (*COST)(sim_work &, ARGS), unsigned MOVERS>
static void cost_twin(sim_work &work, ARGS a)
{
    const bw_frame_args &frames = frames_of(a);
    const uint64_t bytes = frames.ctas * sizeof(bw_frame_cta);

    COST(work, a);
    work.movers = MOVERS;
    if (frames.records != 0) {
        shmem_move(work, nullptr, (void *)(frames.records + frames.slot * bytes), bytes, 0);
    }
}

/* Its clock goes on by 10 ns a look. */
static void cost_frame_tick(sim_work &work, bw_frame_tick *tick, uint32_t reads)
{
    move(work, nullptr, tick, sizeof(*tick), 0);
    work.busy_ns = 10.0 * reads;
    work.movers = 1;
    work.steps = reads;
}

#define DECLARE_TWIN_OF(args, name, movers, cost)   \
    extern "C" void bw_shmem_##name##_prof(args a); \
    static constexpr void (*cost_twin_##name)(sim_work &, args) = cost_twin<args, cost, movers>;
#define DECLARE_TWIN(name, movers, cost)   DECLARE_TWIN_OF(bw_shmem_args, name, movers, cost)
#define DECLARE_ROUTED(name, movers, cost) DECLARE_TWIN_OF(bw_route_args, name, movers, cost)
TWINS(DECLARE_TWIN)
ROUTED_TWINS(DECLARE_ROUTED)
extern "C" void bw_frame_tick_find(bw_frame_tick *tick, uint32_t reads);

#define TWIN_ROW(name, movers, cost) {SIM_KERNEL(bw_shmem_##name##_prof, cost_twin_##name)},
