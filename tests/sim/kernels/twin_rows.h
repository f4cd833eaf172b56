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
    TWIN(barrier, 1024, cost_shmem_signals)                               \
    TWIN(pingpong, 1024, cost_shmem_pingpong)
/* clang-format on */

template <auto Cost, unsigned MOVERS> static void cost_twin(sim_work &work, bw_shmem_args a)
{
    const uint64_t bytes = a.frames.ctas * sizeof(bw_frame_cta);

    Cost(work, a);
    work.movers = MOVERS;
    if (a.frames.records != 0) {
        shmem_move(work, nullptr, (void *)(a.frames.records + a.frames.slot * bytes), bytes, 0);
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

#define DECLARE_TWIN(name, movers, cost)                     \
    extern "C" void bw_shmem_##name##_prof(bw_shmem_args a); \
    static constexpr void (*cost_twin_##name)(sim_work &, bw_shmem_args) = cost_twin<cost, movers>;
TWINS(DECLARE_TWIN)
extern "C" void bw_frame_tick_find(bw_frame_tick *tick, uint32_t reads);

#define TWIN_ROW(name, movers, cost) {SIM_KERNEL(bw_shmem_##name##_prof, cost_twin_##name)},
