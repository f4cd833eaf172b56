/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of any testcase on any machine: who reaches whom is the input. */
#include "fuzz.h"

#include "bwtool/plan.h"
#include "bwtool/testcase.h"

#include <stdbool.h>
#include <string.h>

enum { ENDS_MAX = 24 };

static FILE *nowhere;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    nowhere = fopen("/dev/null", "w");
    return nowhere == NULL;
}

static void check_end(struct bw_end end, int ends)
{
    MUST(end.id >= 0 && end.id < ends);
}

static void check_lane(const struct bw_plan *plan, const struct bw_lane_plan *lane, int ends,
                       const bool *peer)
{
    MUST(lane->issuer >= 0 && lane->issuer < ends);
    MUST(lane->step_count > 0 && lane->step + lane->step_count <= plan->step_count);
    for (size_t i = lane->step; i < lane->step + lane->step_count; i++) {
        const struct bw_end src = plan->steps[i].src, dst = plan->steps[i].dst;

        check_end(src, ends);
        check_end(dst, ends);
        if (!bw_testcase_is_host(plan->tc) && src.mem == MEM_DEVICE && dst.mem == MEM_DEVICE &&
            src.id != dst.id) {
            /* One of the two is the issuer, which must reach the other. */
            MUST(peer[lane->issuer * ends + src.id + dst.id - lane->issuer]);
        }
    }
}

static void check(const struct bw_plan *plan, int ends, const bool *peer)
{
    int last = -1;

    MUST(plan->rows == 1 || plan->rows == ends);
    MUST(plan->cols == 1 || plan->cols == ends);
    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct bw_launch *launch = &plan->launches[i];
        const int at = launch->row * plan->cols + launch->col;

        MUST(launch->row >= 0 && launch->row < plan->rows);
        MUST(launch->col >= 0 && launch->col < plan->cols);
        MUST(at > last); /* in order, and no cell twice */
        last = at;
        MUST(bw_plan_find(plan, launch->row, launch->col) == launch);
        MUST(launch->lane_count > 0 && launch->lane + launch->lane_count <= plan->lane_count);
        MUST(!plan->lanes[launch->lane].is_load); /* the first is a measured one */
        for (size_t l = 0; l < launch->lane_count; l++) {
            check_lane(plan, &plan->lanes[launch->lane + l], ends, peer);
        }
    }
}

/* Testcase, number of ends, then a bit for each pair. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool peer[ENDS_MAX * ENDS_MAX];
    const struct bw_testcase *tc = NULL;
    struct bw_plan plan = {0};
    int ends = 0;

    if (size < 2) {
        return 0;
    }
    tc = &bw_testcases[data[0] % bw_testcase_count];
    ends = 1 + data[1] % ENDS_MAX;
    for (int i = 0; i < ends * ends; i++) {
        const size_t byte = 2 + (size_t)i / 8;

        peer[i] = byte < size && (data[byte] >> i % 8 & 1) != 0;
    }
    MUST(bw_plan_build(&plan, tc, ends, peer) == BW_OK);
    check(&plan, ends, peer);
    bw_plan_print(&plan, nowhere);
    bw_plan_free(&plan);
    return 0;
}
