/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/plan.h"

#include <string.h>

static const char *const reduces[] = {
    [REDUCE_FIRST] = "first",
    [REDUCE_SUM] = "sum",
    [REDUCE_TOTAL] = "total",
    [REDUCE_EACH] = "each",
};

static const char *engine_word(const struct bw_testcase *tc)
{
    if (bw_testcase_is_latency(tc)) {
        return tc->engine == ENGINE_CPU ? "cpu-chase" : "chase";
    }
    if (bw_testcase_is_split(tc)) {
        return "split";
    }
    if (tc->row == MEM_MULTICAST || tc->col == MEM_MULTICAST) {
        return "mcast";
    }
    return bw_engine_name(tc->engine);
}

static void print_end(FILE *out, const struct bw_testcase *tc, struct bw_end end)
{
    static const char letters[] = {
        [MEM_HOST] = 'H',
        [MEM_DEVICE] = 'D',
        [MEM_SHARED] = 'F',
        [MEM_MULTICAST] = 'M',
    };

    fprintf(out, "%c%d", bw_testcase_is_host(tc) ? 'C' : letters[end.mem], end.id);
}

static void print_lanes(const struct bw_plan *plan, const struct bw_launch *launch, FILE *out)
{
    const struct bw_testcase *tc = plan->tc;

    fprintf(out, "%s %s", engine_word(tc), reduces[bw_testcase_reduce(tc)]);
    for (size_t i = launch->lane; i < launch->lane + launch->lane_count; i++) {
        const struct bw_lane_plan *lane = &plan->lanes[i];
        const struct bw_step *step = &plan->steps[lane->step];
        /* A split-warp kernel has both ways: its ends are a set, by letter. */
        const bool swap = lane->is_split && step->src.mem == MEM_HOST;

        fputs(lane->is_split ? " {" : " ", out);
        print_end(out, tc, swap ? step->dst : step->src);
        fputs(lane->is_split ? "," : ">", out);
        print_end(out, tc, swap ? step->src : step->dst);
        fprintf(out, "%s@%dx%u", lane->is_split ? "}" : "", lane->issuer, lane->scale);
    }
    fputc('\n', out);
}

/* `copy` is the lane whose rate the matrix shows; -1: the sum of all. */
static void print_matrix(const struct bw_plan *plan, const char *suffix, int copy, FILE *out)
{
    const bool is_bisect = plan->tc->shape == SHAPE_BISECT;

    for (int r = 0; r < plan->rows; r++) {
        for (int c = 0; c < plan->cols; c++) {
            const struct bw_launch *launch = bw_plan_find(plan, is_bisect ? 0 : r, c);

            fprintf(out, "%s%s %dx%d [%d,%d] ", plan->tc->name, suffix, plan->rows, plan->cols, r,
                    c);
            if (launch == NULL) {
                fputs("N/A\n", out);
                continue;
            }
            if (copy < 0) {
                fputs("sum-of-copies | ", out);
            } else {
                fprintf(out, "copy %d | ", is_bisect ? r : copy);
            }
            print_lanes(plan, launch, out);
        }
    }
}

void bw_plan_print(const struct bw_plan *plan, FILE *out)
{
    const int count = bw_testcase_matrix_count(plan->tc);

    for (int m = 0; m < count; m++) {
        print_matrix(plan, bw_testcase_suffix(plan->tc, m), m == 2 ? -1 : m, out);
    }
}
