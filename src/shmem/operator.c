/* SPDX-License-Identifier: Apache-2.0 */
/* The second table of testcases: a row an operator, and one for each way to do it. */
#include "bwtool/operators.h"

#include "bwtool/kernels.h"

#include <stdio.h>
#include <string.h>

#define A PLACEMENT_A
#define B PLACEMENT_B
#define R PLACEMENT_R

#define TC(name_, engine_, op_)                                                        \
    {                                                                                  \
        .name = (name_), .shape = SHAPE_FAN, .row = MEM_DEVICE, .col = MEM_DEVICE,     \
        .flow = FLOW_TO_ROW, .by = BY_SRC, .engine = ENGINE_##engine_, .op = OP_##op_, \
    }
/* A sum has its default dtype from nccl-tests' habit, transport from the standard's. */
#define DTYPE(is_sum) ((is_sum) ? BW_FP32 : BW_FP16)

#define ROW(name_, op_, engine_, algorithm_, kernel_, placements_, natural_, slots_, spread_,   \
            threads_, blocks_, is_float_, schedule_)                                            \
    {                                                                                           \
        .tc = TC(name_, engine_, OPERATOR), .op = SHMEM_##op_,                                  \
        .algorithm = ALGORITHM_##algorithm_, .kernel = KERNEL_##kernel_,                        \
        .placements = (placements_), .natural = (natural_), .slots = (slots_),                  \
        .spread = (spread_), .threads = (threads_), .blocks_a_sm = (blocks_),                   \
        .is_float_only = (is_float_),                                                           \
        .dtype = DTYPE(SHMEM_##op_ == SHMEM_REDUCE_SCATTER || SHMEM_##op_ == SHMEM_ALL_REDUCE), \
        .schedule = (schedule_)                                                                 \
    }

/* The comments that the standard asks for: who moves what from where to where, and so why. */
#define AUTO_SAYS \
    "the best way known for the size, the number of ranks, the dtype and the placement"
/* SM store src=user input, dst=peers' output, which must be symmetric: no copy before (R), or a
 * copy-out behind (B). */
#define PUSH_SAYS "SM stores from the user's input into the peers' symmetric output; no staging"
/* SM load src=peers' input, which must be symmetric: staged before each launch (B), or the user's
 * own (R). */
#define PULL_SAYS "SM loads from the peers' symmetric input; a user's own input is staged (B)"
/* TMA store src=user input, dst=peers' output: as PUSH. */
#define TMA_SAYS \
    "bulk copies (TMA) from the user's input into the peers' symmetric output; no staging"
/* CE put src=user input, dst=peers' output; there is no kernel: kernel_us is the device time from
 * the first signal to the last. */
#define CE_SAYS                                                                               \
    "copy engines put the user's input into the peers' symmetric output, between two signal " \
    "kernels; kernel_us is the device time of all of it"
/* SM store src=user input, dst=peers' scratch, copied out by the same kernel: no outside copy (A).
 */
#define TILES_SAYS \
    "SM stores from the user's input into the peers' scratch, copied out or added by the kernel"
#define TWO_SHOT_SAYS                                                                          \
    "SM stores into the peers' scratch, sums of a part pushed into all symmetric outputs; no " \
    "staging"
#define LL_SAYS \
    "SM stores of 8 bytes with the epoch into the peers' scratch, copied out by the kernel"
#define POISON_SAYS                                                                        \
    "SM stores of words that are not a certain NaN into the peers' scratch, added by the " \
    "kernel; a NaN of all ones loses its sign"
/* multimem.st src=user input, dst=all ranks' output: no copy before (R), or copied out by the same
 * kernel (A). */
#define MULTICAST_STORE_SAYS                                                              \
    "multicast stores from the user's input, which the switch writes into all symmetric " \
    "outputs; copied out by the kernel where the user's own is another (A)"
/* multimem.ld_reduce src=all ranks' input, which must be symmetric: staged before (B), or the
 * user's own (R). */
#define MULTICAST_SUM_SAYS                                                                  \
    "multicast loads: the switch adds up the same place of all symmetric inputs; a user's " \
    "own input is staged (B)"
#define MULTICAST_SUM_STORE_SAYS                                                              \
    "multicast loads and stores: the switch adds up the same place of all symmetric inputs, " \
    "and writes each rank's part of the sums into all symmetric outputs; a user's own input " \
    "is staged and the output copied out by the kernel (B)"

/*
 * The standard's phases of the routed operators. 1a: the tokens, or the rows of a combine. 1b and
 * 1c: dst and slot of each token and rank, only where peers read them. 3a, a prefetch of the route,
 * is none of its own: the kernel reads the tables by way of its caches, in 3b.
 * SM store src=user tokens, dst=peers' receive areas: as PUSH.
 */
#define ROUTE_SAYS "; the kernel reads the route tables itself, so that there is no route prefetch"
#define DISPATCH_PUSH_SAYS                                                                    \
    "SM stores of each token, once a rank, from the user's input into its row of the peers' " \
    "symmetric receive areas; route tables are read by their own rank alone: no staging "     \
    "before" ROUTE_SAYS
/* TMA store src=user tokens, dst=peers' receive areas: as PUSH. */
#define DISPATCH_TMA_SAYS                                                                   \
    "bulk copies (TMA) of each token, loaded once and stored once a rank, from the user's " \
    "input into its row of the peers' symmetric receive areas; no staging before" ROUTE_SAYS
/* SM load src=peers' tokens and tables, which must be symmetric: all three staged (B). */
#define DISPATCH_PULL_SAYS                                                                \
    "SM loads from the peers' symmetric tokens, by the peers' symmetric route tables; a " \
    "user's own tokens, destinations and slots are staged (B, three copies)" ROUTE_SAYS
/* SM store src=user tokens, dst=peers' scratch, copied out by the same kernel: as TILES. */
#define DISPATCH_TILES_SAYS                                                                 \
    "SM stores of each token, once a rank, from the user's input into the peers' scratch, " \
    "copied out by the kernel" ROUTE_SAYS
#define COMBINE_SAYS                                                                   \
    "; the rows, one of each token and rank, are added in the order of the ranks, in " \
    "fp32" ROUTE_SAYS
/* SM load src=peers' rows, which must be symmetric: staged (B); tables are the rank's own. */
#define COMBINE_PULL_SAYS                                                                      \
    "SM loads from the peers' symmetric rows; a user's own rows are staged (B), route tables " \
    "are read by their own rank alone and are not" COMBINE_SAYS
/* SM store src=user rows, dst=peers' scratch, added by the same kernel: as TILES. */
#define COMBINE_TILES_SAYS                                                                  \
    "SM stores of rows from the user's input into the scratch of the tokens' ranks, added " \
    "by the kernel" COMBINE_SAYS

#define AUTO(name, op, placements) \
    ROW(name, op, SM, AUTO, gate_hold, placements, PLACEMENT_AUTO, 0, 0, 0, 0, false, AUTO_SAYS)
#define PUSH(op, tail)                                                                             \
    ROW("shmem_" #tail "_push", op, SM, PUSH, shmem_push_##tail, B | R, R, 0, 0, BW_SHMEM_THREADS, \
        2, false, PUSH_SAYS)
#define PULL(op, tail, blocks)                                                                     \
    ROW("shmem_" #tail "_pull", op, SM, PULL, shmem_pull_##tail, B | R, R, 0, 0, BW_SHMEM_THREADS, \
        blocks, false, PULL_SAYS)
#define TMA(op, tail)                                                          \
    ROW("shmem_" #tail "_tma", op, TMA, TMA, shmem_tma_##tail, B | R, R, 0, 0, \
        BW_SHMEM_TMA_THREADS, 3, false, TMA_SAYS)
#define CE(op, tail) \
    ROW("shmem_" #tail "_ce", op, CE, CE, shmem_sync, B | R, R, 0, 0, 128, 1, false, CE_SAYS)
#define TILES(op, tail)                                                                           \
    ROW("shmem_" #tail "_tiles", op, SM, TILES, shmem_tiles_##tail, A, A, 2, 1, BW_SHMEM_THREADS, \
        2, false, TILES_SAYS)
#define LL(op, tail)                                                                               \
    ROW("shmem_" #tail "_ll", op, SM, LL, shmem_ll_##tail, A, A, 2, 2, BW_SHMEM_THREADS, 1, false, \
        LL_SAYS)
#define POISON(op, tail)                                                                  \
    ROW("shmem_" #tail "_poison", op, SM, POISON, shmem_poison_##tail, A, A, 3, 1,        \
        BW_SHMEM_THREADS, 1, true, POISON_SAYS),                                          \
        ROW("shmem_" #tail "_poison4", op, SM, POISON4, shmem_poison4_##tail, A, A, 3, 1, \
            BW_SHMEM_THREADS, 1, true, POISON_SAYS)
#define ROUTED(op, tail, algorithm, how, placements, natural, slots, schedule)                 \
    ROW("shmem_" #tail "_" #how, op, SM, algorithm, shmem_##how##_##tail, placements, natural, \
        slots, (slots) > 0 ? 1 : 0, BW_SHMEM_THREADS, 2, false, schedule)
#define MULTICAST(op, tail, placements, schedule)                                                 \
    ROW("shmem_" #tail "_multicast", op, SM, MULTICAST, shmem_multicast_##tail, placements, R, 0, \
        0, BW_SHMEM_THREADS, 1, false, schedule)

/* New rows go to the end, and no row ever moves: places are indices, counted on from testcase.h's.
 */
/* clang-format off */
const struct bw_operator bw_operators[] = {
    ROW("shmem_put", PUT, SM, DIRECT, copy_stride8, R, R, 0, 0, 0, 0, false,
        "SM stores from rank 0's memory into rank 1's symmetric output; no staging"),
    ROW("shmem_get", GET, SM, DIRECT, copy_stride8, R, R, 0, 0, 0, 0, false,
        "SM loads of rank 0 from rank 1's symmetric input into its own output; no staging"),
    {.tc = TC("shmem_put_signal", SM, SIGNAL), .op = SHMEM_PUT_SIGNAL, .algorithm = ALGORITHM_DIRECT,
     .kernel = KERNEL_shmem_pingpong, .placements = R, .natural = R, .dtype = BW_FP16,
     .threads = BW_SHMEM_THREADS, .blocks_a_sm = 1,
     .schedule = "SM stores into the peer's symmetric output and a signal behind them, to and fro: "
                 "half of a round trip"},
    {.tc = TC("shmem_barrier", SM, SIGNAL), .op = SHMEM_BARRIER, .algorithm = ALGORITHM_DIRECT,
     .kernel = KERNEL_shmem_barrier, .placements = R, .natural = R, .dtype = BW_FP16,
     .threads = 128, .blocks_a_sm = 1,
     .schedule = "a stream-ordered barrier: a launch of one block a rank, a signal to and from all"},
    AUTO("shmem_all_to_all", ALL_TO_ALL, A | B | R),
    AUTO("shmem_all_gather", ALL_GATHER, A | B | R),
    AUTO("shmem_reduce_scatter", REDUCE_SCATTER, A | B | R),
    AUTO("shmem_all_reduce", ALL_REDUCE, A | B | R),
    AUTO("shmem_broadcast", BROADCAST, A | B | R),
    PUSH(ALL_TO_ALL, all_to_all),
    PULL(ALL_TO_ALL, all_to_all, 2),
    TMA(ALL_TO_ALL, all_to_all),
    CE(ALL_TO_ALL, all_to_all),
    TILES(ALL_TO_ALL, all_to_all),
    LL(ALL_TO_ALL, all_to_all),
    PUSH(ALL_GATHER, all_gather),
    PULL(ALL_GATHER, all_gather, 2),
    TMA(ALL_GATHER, all_gather),
    CE(ALL_GATHER, all_gather),
    TILES(ALL_GATHER, all_gather),
    LL(ALL_GATHER, all_gather),
    PULL(REDUCE_SCATTER, reduce_scatter, 1),
    TILES(REDUCE_SCATTER, reduce_scatter),
    LL(REDUCE_SCATTER, reduce_scatter),
    POISON(REDUCE_SCATTER, reduce_scatter),
    PULL(ALL_REDUCE, all_reduce, 1),
    TILES(ALL_REDUCE, all_reduce),
    ROW("shmem_all_reduce_two_shot", ALL_REDUCE, SM, TWO_SHOT, shmem_two_shot_all_reduce, B | R, R,
        2, 1, BW_SHMEM_THREADS, 2, false, TWO_SHOT_SAYS),
    LL(ALL_REDUCE, all_reduce),
    POISON(ALL_REDUCE, all_reduce),
    PUSH(BROADCAST, broadcast),
    TMA(BROADCAST, broadcast),
    CE(BROADCAST, broadcast),
    TILES(BROADCAST, broadcast),
    LL(BROADCAST, broadcast),
    MULTICAST(ALL_GATHER, all_gather, A | R, MULTICAST_STORE_SAYS),
    MULTICAST(REDUCE_SCATTER, reduce_scatter, B | R, MULTICAST_SUM_SAYS),
    MULTICAST(ALL_REDUCE, all_reduce, B | R, MULTICAST_SUM_STORE_SAYS),
    MULTICAST(BROADCAST, broadcast, A | R, MULTICAST_STORE_SAYS),
    AUTO("shmem_dispatch", DISPATCH, A | B | R),
    AUTO("shmem_combine", COMBINE, A | B | R),
    ROUTED(DISPATCH, dispatch, PUSH, push, B | R, R, 0, DISPATCH_PUSH_SAYS),
    ROUTED(DISPATCH, dispatch, PULL, pull, B | R, R, 0, DISPATCH_PULL_SAYS),
    ROUTED(DISPATCH, dispatch, TILES, tiles, A, A, 2, DISPATCH_TILES_SAYS),
    ROUTED(COMBINE, combine, PULL, pull, B | R, R, 0, COMBINE_PULL_SAYS),
    ROUTED(COMBINE, combine, TILES, tiles, A, A, 2, COMBINE_TILES_SAYS),
    ROW("shmem_dispatch_tma", DISPATCH, TMA, TMA, shmem_tma_dispatch, B | R, R, 0, 0,
        BW_SHMEM_TMA_THREADS, 3, false, DISPATCH_TMA_SAYS),
};
/* clang-format on */
const size_t bw_operator_count = sizeof(bw_operators) / sizeof(bw_operators[0]);

#undef A
#undef B
#undef R

static const char *const algorithm_names[ALGORITHM_COUNT] = {
    [ALGORITHM_AUTO] = "auto",       [ALGORITHM_DIRECT] = "direct",
    [ALGORITHM_PUSH] = "push",       [ALGORITHM_PULL] = "pull",
    [ALGORITHM_TMA] = "tma",         [ALGORITHM_CE] = "ce",
    [ALGORITHM_TILES] = "tiles",     [ALGORITHM_TWO_SHOT] = "two_shot",
    [ALGORITHM_LL] = "ll",           [ALGORITHM_POISON] = "poison",
    [ALGORITHM_POISON4] = "poison4", [ALGORITHM_MULTICAST] = "multicast",
};

const char *bw_algorithm_name(enum bw_algorithm algorithm)
{
    return algorithm_names[algorithm];
}

bool bw_algorithm_find(const char *name, enum bw_algorithm *algorithm)
{
    for (int i = 0; i < ALGORITHM_COUNT; i++) {
        if (strcmp(name, algorithm_names[i]) == 0) {
            *algorithm = (enum bw_algorithm)i;
            return true;
        }
    }
    return false;
}

static const struct {
    enum bw_placement placement;
    const char *name, *lower;
} placements[] = {
    {PLACEMENT_AUTO, "auto", "auto"},
    {PLACEMENT_A, "A", "a"},
    {PLACEMENT_B, "B", "b"},
    {PLACEMENT_R, "R", "r"},
};

const char *bw_placement_name(enum bw_placement placement)
{
    for (size_t i = 0; i < sizeof(placements) / sizeof(placements[0]); i++) {
        if (placements[i].placement == placement) {
            return placements[i].name;
        }
    }
    return "?";
}

bool bw_placement_find(const char *name, enum bw_placement *placement)
{
    for (size_t i = 0; i < sizeof(placements) / sizeof(placements[0]); i++) {
        if (strcmp(name, placements[i].name) == 0 || strcmp(name, placements[i].lower) == 0) {
            *placement = placements[i].placement;
            return true;
        }
    }
    return false;
}

static const struct {
    const char *name;
    unsigned bytes;
} dtypes[BW_SHMEM_DTYPES] = {
    [BW_FP16] = {"fp16", 2},   [BW_BF16] = {"bf16", 2}, [BW_FP32] = {"fp32", 4},
    [BW_INT32] = {"int32", 4}, [BW_INT8] = {"int8", 1},
};

const char *bw_dtype_name(enum bw_shmem_dtype dtype)
{
    return dtypes[dtype].name;
}

unsigned bw_dtype_bytes(enum bw_shmem_dtype dtype)
{
    return dtypes[dtype].bytes;
}

bool bw_dtype_find(const char *name, enum bw_shmem_dtype *dtype)
{
    for (int i = 0; i < BW_SHMEM_DTYPES; i++) {
        if (strcmp(name, dtypes[i].name) == 0) {
            *dtype = (enum bw_shmem_dtype)i;
            return true;
        }
    }
    return false;
}

int bw_operator_find(const char *name)
{
    for (size_t i = 0; i < bw_operator_count; i++) {
        if (strcmp(bw_operators[i].tc.name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

const struct bw_operator *bw_operator_of(const struct bw_testcase *tc)
{
    for (size_t i = 0; i < bw_operator_count; i++) {
        if (tc == &bw_operators[i].tc) {
            return &bw_operators[i];
        }
    }
    return NULL;
}

int bw_operator_describe(const struct bw_operator *row, char *text, size_t room)
{
    char places[16] = "";

    for (int i = 0; i < 3; i++) {
        if ((row->placements & (1u << i)) != 0) {
            snprintf(places + strlen(places), sizeof(places) - strlen(places), "%s%c",
                     places[0] == '\0' ? "" : ", ", "ABR"[i]);
        }
    }
    return snprintf(text, room,
                    "Operator %s over symmetric memory, all GPUs of this process: %s\n"
                    "Placement: %s; dtype: %s",
                    bw_shmem_formula(row->op)->name, row->schedule, places,
                    bw_dtype_name(row->dtype));
}

size_t bw_all_count(void)
{
    return bw_testcase_count + bw_operator_count;
}

const struct bw_testcase *bw_all_at(size_t index)
{
    return index < bw_testcase_count ? &bw_testcases[index]
                                     : &bw_operators[index - bw_testcase_count].tc;
}

int bw_all_find(const char *name)
{
    const int first = bw_testcase_find(name);
    const int second = bw_operator_find(name);

    return first >= 0 ? first : second >= 0 ? (int)bw_testcase_count + second : -1;
}
