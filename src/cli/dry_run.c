/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "operators.h"
#include "pairs.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"
#include "bwtool/plan.h"
#include "bwtool/select.h"
#include "bwtool/topology.h"

#include <stdio.h>
#include <stdlib.h>

/* The machine to plan for: counted, or this one. */
struct target {
    int gpus, nodes, ranks;
    const struct bw_gpus *like; /* of this machine; none where they are counted */
    const bool *peer;           /* NULL: all reach each other */
    const bool *pairs;          /* of those, the ones to be measured; NULL: all */
};

static enum bw_status print_plan(const struct bw_testcase *tc, const struct target *target,
                                 const struct bw_options *options)
{
    const bool is_multinode = bw_testcase_is_multinode(tc);
    int ends = is_multinode ? target->ranks : target->gpus;
    const bool *peer = NULL;
    struct bw_plan plan = {0};
    enum bw_status st = BW_OK;

    if (bw_operator_of(tc) != NULL) {
        return bw_operator_print_plan(tc, options, target->like,
                                      target->ranks > 1 ? target->ranks : target->gpus);
    }
    if (bw_testcase_is_host(tc)) {
        ends = target->nodes;
    } else if (is_multinode && ends < 2) {
        return BW_OK; /* nothing to launch, not even a cell */
    }
    peer = tc->shape == SHAPE_PAIRS && target->pairs != NULL && !bw_testcase_is_host(tc)
               ? target->pairs
               : target->peer;
    TRY(bw_plan_build(&plan, tc, ends, is_multinode ? NULL : peer));
    bw_plan_print(&plan, stdout);
out:
    bw_plan_free(&plan);
    return st;
}

static enum bw_status print_plans(const struct bw_selection *selection, const struct target *target,
                                  const struct bw_options *options)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < selection->count; i++) {
        if (selection->choices[i].index >= 0) {
            TRY(print_plan(bw_all_at((size_t)selection->choices[i].index), target, options));
        }
    }
    st = selection->unknown_count != 0 ? BW_ERR_USAGE : BW_OK;
out:
    return st;
}

static bool needs_gpus(const struct bw_selection *selection)
{
    for (size_t i = 0; i < selection->count; i++) {
        const int index = selection->choices[i].index;

        if (index >= 0 && !bw_testcase_is_host(bw_all_at((size_t)index))) {
            return true;
        }
    }
    return false;
}

static enum bw_status dry_run(const struct bw_options *options, const struct bw_world *world)
{
    struct bw_selection selection = {0};
    struct bw_topology *topology = NULL;
    struct bw_gpus gpus = {0};
    bool *pairs = NULL;
    struct target target = {.ranks = world->ranks, .like = &gpus};
    enum bw_status st = BW_OK;

    TRY(bw_selection_build(&selection, options, world->ranks, false));
    TRY(bw_topology_open(&topology, NULL));
    target.nodes = bw_topology_node_count(topology);
    if (options->dry_run_gpus != 0) {
        target.gpus = (int)options->dry_run_gpus;
        target.ranks = target.gpus;
    } else if (needs_gpus(&selection)) {
        TRY(bw_gpus_open(&gpus));
        target.gpus = gpus.count;
        target.peer = gpus.peer;
    }
    if (options->suite != NULL) {
        if (bw_world_is_root(world)) {
            st = bw_suite_print(stdout, bw_operator_suite_bytes(options), &gpus,
                                world->ranks > 1 ? world->ranks : target.gpus);
        }
        goto out;
    }
    TRY(bw_pairs_choose(options, &gpus, target.gpus, target.peer, &pairs));
    target.pairs = pairs;
    if (bw_world_is_root(world)) {
        TRY(print_plans(&selection, &target, options));
    }
out:
    free(pairs);
    bw_gpus_close(&gpus);
    bw_topology_close(topology);
    bw_selection_free(&selection);
    return st;
}

int bw_dry_run(const struct bw_options *options, const struct bw_world *world)
{
    switch (dry_run(options, world)) {
    case BW_OK:
        return 0;
    case BW_ERR_USAGE:
        return 2;
    case BW_ERR_NO_GPU:
        return 3;
    default:
        return 1;
    }
}
