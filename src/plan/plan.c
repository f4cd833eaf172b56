/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/plan.h"

#include "bwtool/log.h"

#include <stdlib.h>

struct builder {
    struct bw_plan *plan;
    const struct bw_testcase *tc;
    int ends;
    const bool *peer;
};

static struct bw_launch *add_launch(struct builder *b, int row, int col)
{
    struct bw_plan *plan = b->plan;
    struct bw_launch *launch = &plan->launches[plan->launch_count++];

    *launch = (struct bw_launch){.row = row, .col = col, .lane = plan->lane_count};
    return launch;
}

/* Where no end is reachable there is nothing to launch: the cell stays N/A. */
static void drop_if_empty(struct builder *b, const struct bw_launch *launch)
{
    if (launch->lane_count == 0) {
        b->plan->launch_count--;
    }
}

/* The end that issues: pinned memory has no engine of its own beside a GPU. */
static int issuer_of(const struct builder *b, const struct bw_step *step)
{
    bool by_src = b->tc->by == BY_SRC;

    if (!bw_testcase_is_host(b->tc)) {
        if (step->src.mem == MEM_HOST) {
            by_src = false;
        } else if (step->dst.mem == MEM_HOST) {
            by_src = true;
        }
    }
    return by_src ? step->src.id : step->dst.id;
}

static struct bw_step step_of(const struct builder *b, int r, int c, bool reverse)
{
    const struct bw_testcase *tc = b->tc;
    const struct bw_end row = {tc->row, r};
    const struct bw_end col = {tc->col, c};
    const bool to_col = (tc->flow == FLOW_TO_COL) != reverse;

    return (struct bw_step){.op = tc->op, .src = to_col ? row : col, .dst = to_col ? col : row};
}

static bool has_way_back(const struct builder *b)
{
    return (b->tc->load & LOAD_REVERSE) != 0 && !bw_testcase_is_split(b->tc);
}

/* Whoever issues a lane needs access to its other end: that the other one has it does not help. */
static bool has_access(const struct builder *b, int r, int c, bool reverse)
{
    const struct bw_step step = step_of(b, r, c, reverse);
    const int issuer = issuer_of(b, &step);
    const int other = step.src.id + step.dst.id - issuer;

    return b->peer[(size_t)issuer * (size_t)b->ends + (size_t)other];
}

static bool reachable(const struct builder *b, int r, int c)
{
    if (bw_testcase_is_host(b->tc)) {
        return true;
    }
    return r != c && (b->peer == NULL || (has_access(b, r, c, false) &&
                                          (!has_way_back(b) || has_access(b, r, c, true))));
}

/* Append the lane between end `r` (row) and end `c` (column). */
static void add_lane(struct builder *b, struct bw_launch *launch, int r, int c, bool reverse,
                     bool is_load)
{
    const struct bw_testcase *tc = b->tc;
    struct bw_step *step = &b->plan->steps[b->plan->step_count];

    *step = step_of(b, r, c, reverse);
    b->plan->lanes[b->plan->lane_count++] = (struct bw_lane_plan){
        .engine = tc->engine,
        .issuer = issuer_of(b, step),
        .is_split = bw_testcase_is_split(tc),
        .is_load = is_load,
        .scale = is_load ? bw_testcase_load_scale(tc) : 1,
        .step = b->plan->step_count++,
        .step_count = 1,
    };
    launch->lane_count++;
}

/* The copy between `r` and `c`, and the one the other way if asked for. */
static void add_traffic(struct builder *b, struct bw_launch *launch, int r, int c, bool is_load)
{
    const bool back_is_load = bw_testcase_reduce(b->tc) == REDUCE_FIRST;

    add_lane(b, launch, r, c, false, is_load);
    if (has_way_back(b)) {
        add_lane(b, launch, r, c, true, is_load || back_is_load);
    }
}

static void build_each(struct builder *b)
{
    for (int c = 0; c < b->ends; c++) {
        struct bw_launch *launch = add_launch(b, 0, c);

        add_traffic(b, launch, c, c, false);
        for (int o = 0; (b->tc->load & LOAD_OTHERS) != 0 && o < b->ends; o++) {
            if (o != c) {
                add_traffic(b, launch, o, o, true);
            }
        }
    }
}

static void build_pairs(struct builder *b)
{
    for (int r = 0; r < b->ends; r++) {
        for (int c = 0; c < b->ends; c++) {
            if (reachable(b, r, c)) {
                add_traffic(b, add_launch(b, r, c), r, c, false);
            }
        }
    }
}

static void build_fan(struct builder *b)
{
    for (int c = 0; c < b->ends; c++) {
        struct bw_launch *launch = add_launch(b, 0, c);

        for (int r = 0; r < b->ends; r++) {
            if (reachable(b, r, c)) {
                add_traffic(b, launch, r, c, false);
            }
        }
        drop_if_empty(b, launch);
    }
}

static void build_bisect(struct builder *b)
{
    struct bw_launch *launch = add_launch(b, 0, 0);

    for (int r = 0; r < b->ends; r++) {
        add_traffic(b, launch, r, (r + b->ends / 2) % b->ends, false);
    }
    drop_if_empty(b, launch);
}

static void build_every(struct builder *b)
{
    struct bw_launch *launch = add_launch(b, 0, 0);

    for (int c = 0; c < b->ends; c++) {
        add_traffic(b, launch, c, c, false);
    }
    drop_if_empty(b, launch);
}

static const struct {
    void (*build)(struct builder *b);
    bool has_many_rows, has_many_cols;
} shapes[] = {
    [SHAPE_EACH] = {build_each, false, true},    [SHAPE_PAIRS] = {build_pairs, true, true},
    [SHAPE_FAN] = {build_fan, false, true},      [SHAPE_BISECT] = {build_bisect, true, false},
    [SHAPE_EVERY] = {build_every, false, false},
};

/* Most lanes that `ends` ends can need: pairs or everybody's load, both ways. */
static size_t lanes_max(const struct bw_testcase *tc, size_t ends)
{
    const size_t ways = (tc->load & LOAD_REVERSE) != 0 ? 2 : 1;
    const bool is_square =
        tc->shape == SHAPE_PAIRS || tc->shape == SHAPE_FAN || (tc->load & LOAD_OTHERS) != 0;

    return ways * ends * (is_square ? ends : 1);
}

enum bw_status bw_plan_build(struct bw_plan *plan, const struct bw_testcase *tc, int ends,
                             const bool *peer)
{
    struct builder b = {plan, tc, ends, peer};
    const size_t n = (size_t)ends;
    const size_t lanes = lanes_max(tc, n);

    *plan = (struct bw_plan){
        .tc = tc,
        .rows = shapes[tc->shape].has_many_rows ? ends : 1,
        .cols = shapes[tc->shape].has_many_cols ? ends : 1,
    };
    plan->launches = calloc(n * n + 1, sizeof(*plan->launches));
    plan->lanes = calloc(lanes + 1, sizeof(*plan->lanes));
    plan->steps = calloc(lanes + 1, sizeof(*plan->steps));
    if (plan->launches == NULL || plan->lanes == NULL || plan->steps == NULL) {
        bw_plan_free(plan);
        return bw_errno("no memory for the plan of %s on %d GPUs", tc->name, ends);
    }
    shapes[tc->shape].build(&b);
    return BW_OK;
}

void bw_plan_free(struct bw_plan *plan)
{
    free(plan->launches);
    free(plan->lanes);
    free(plan->steps);
    *plan = (struct bw_plan){0};
}

/* Launches are in row-major order of their cells. */
const struct bw_launch *bw_plan_find(const struct bw_plan *plan, int row, int col)
{
    size_t low = 0;
    size_t high = plan->launch_count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct bw_launch *launch = &plan->launches[middle];

        if (launch->row == row && launch->col == col) {
            return launch;
        }
        if (launch->row < row || (launch->row == row && launch->col < col)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}
