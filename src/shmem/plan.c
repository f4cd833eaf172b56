/* SPDX-License-Identifier: Apache-2.0 */
/* A program spelled out as a plan: a lane for each rank that issues, with its steps in order. */
#include "profile.h"

#include "bwtool/suite.h"

#include "bwtool/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS_MAX = 5 };

/* What the loop is told that it measures: rates or latencies come later, from its times. */
static const struct bw_testcase timed = {
    .name = "operator",
    .shape = SHAPE_FAN,
    .row = MEM_DEVICE,
    .col = MEM_DEVICE,
    .engine = ENGINE_SM,
    .op = OP_OPERATOR,
};
static const struct bw_testcase timed_over_ranks = {
    .name = "operator",
    .shape = SHAPE_FAN,
    .row = MEM_SHARED,
    .col = MEM_SHARED,
    .engine = ENGINE_SM,
    .op = OP_OPERATOR,
};

static struct bw_end end_of(const struct shmem_case *c, int rank, bool is_symmetric)
{
    (void)c;
    return (struct bw_end){is_symmetric ? MEM_SHARED : MEM_DEVICE, rank};
}

/* The steps of rank r; how many. */
static size_t steps_of(const struct shmem_case *c, int r, enum shmem_program_kind kind,
                       struct bw_step *steps)
{
    const bool is_staged = kind != PROGRAM_KERNEL && shmem_has_staging(c);
    const bool is_before = is_staged && shmem_in_is_symmetric(c);
    const struct bw_end in = end_of(c, r, shmem_in_is_symmetric(c));
    const struct bw_end out = end_of(c, r, shmem_out_is_symmetric(c));
    size_t count = 0;

    for (unsigned i = 0; is_before && i < (shmem_route_is_shared(c) ? 3 : 1); i++) {
        steps[count++] = (struct bw_step){OP_STAGE, end_of(c, r, false), in};
    }
    if (is_before && kind == PROGRAM_E2E) {
        steps[count++] = (struct bw_step){OP_BARRIER, in, in};
    }
    if (kind != PROGRAM_STAGING) {
        steps[count++] = (struct bw_step){c->row->tc.op, in, out};
    }
    if (is_staged && !is_before) {
        steps[count++] = (struct bw_step){OP_STAGE, out, end_of(c, r, false)};
    }
    return count;
}

enum bw_status shmem_plan_build(struct bw_plan *plan, const struct shmem_case *c,
                                struct shmem_program *program)
{
    const size_t lanes = (size_t)shmem_issuers(c);

    *plan = (struct bw_plan){
        .tc = c->session != NULL && c->session->ranks != NULL ? &timed_over_ranks : &timed,
        .rows = 1,
        .cols = 1,
        .launch_count = 1};
    plan->launches = calloc(1, sizeof(*plan->launches));
    plan->lanes = calloc(lanes, sizeof(*plan->lanes));
    plan->steps = calloc(lanes * STEPS_MAX, sizeof(*plan->steps));
    if (plan->launches == NULL || plan->lanes == NULL || plan->steps == NULL) {
        bw_plan_free(plan);
        return bw_errno("no memory for the plan of %s", c->row->tc.name);
    }
    plan->launches[0].lane_count = lanes;
    plan->lane_count = lanes;
    for (size_t r = 0; r < lanes; r++) {
        struct bw_lane_plan *lane = &plan->lanes[r];

        *lane = (struct bw_lane_plan){.engine = c->row->tc.engine,
                                      .ops = &bw_engine_shmem,
                                      .program = program,
                                      .issuer = (int)r,
                                      .scale = 1,
                                      .step = plan->step_count};
        lane->step_count = steps_of(c, (int)r, program->kind, &plan->steps[plan->step_count]);
        plan->step_count += lane->step_count;
    }
    return BW_OK;
}

static void print_step(const struct bw_step *step, const struct shmem_case *c, FILE *out)
{
    static const char letters[] = {[MEM_DEVICE] = 'D', [MEM_SHARED] = 'S'};

    switch (step->op) {
    case OP_STAGE:
        fprintf(out, " stage %c%d>%c%d", letters[step->src.mem], step->src.id,
                letters[step->dst.mem], step->dst.id);
        break;
    case OP_BARRIER:
        fputs(" barrier", out);
        break;
    default:
        fprintf(out, " %s %c%d>%c*", bw_shmem_formula(c->row->op)->name, letters[step->src.mem],
                step->src.id, letters[step->dst.mem]);
        break;
    }
}

void shmem_plan_print(const struct bw_plan *plan, const struct shmem_case *c,
                      enum shmem_program_kind kind, FILE *out)
{
    static const char *const kinds[] = {
        [PROGRAM_E2E] = "e2e", [PROGRAM_KERNEL] = "kernel", [PROGRAM_STAGING] = "staging"};

    for (size_t i = 0; i < plan->lane_count; i++) {
        const struct bw_lane_plan *lane = &plan->lanes[i];

        fprintf(out, "%s %llu bytes %s %s placement %s %s | %s %ux%u @%d:", c->row->tc.name,
                (unsigned long long)c->payload_bytes, bw_dtype_name(c->dtype), kinds[kind],
                bw_placement_name(c->placement), bw_algorithm_name(c->row->algorithm),
                bw_engine_name(lane->engine), c->ctas, c->threads, lane->issuer);
        for (size_t s = lane->step; s < lane->step + lane->step_count; s++) {
            print_step(&plan->steps[s], c, out);
        }
        fputc('\n', out);
    }
}

void shmem_plan_print_frames(const struct shmem_case *c, FILE *out)
{
    const char *none = shmem_profile_why_none(c);

    fprintf(out, "%s frames %s: %s\n", c->row->tc.name, bw_profile_mode_name(c->profile_mode),
            none != NULL           ? none
            : shmem_has_staging(c) ? "the kernel and the e2e programs once more"
                                   : "the kernel's program once more");
}

/* The programs of one size with one grid. */
static enum bw_status print_programs(struct shmem_case *c, FILE *out)
{
    enum bw_status st = BW_OK;

    for (int kind = PROGRAM_E2E; kind <= PROGRAM_STAGING; kind++) {
        struct shmem_program program = {.c = c, .kind = (enum shmem_program_kind)kind};
        struct bw_plan plan = {0};

        if (kind == PROGRAM_STAGING && !shmem_has_staging(c)) {
            break;
        }
        TRY(shmem_plan_build(&plan, c, &program));
        shmem_plan_print(&plan, c, program.kind, out);
        bw_plan_free(&plan);
    }
    if (c->profile_mode != PROFILE_OFF) {
        shmem_plan_print_frames(c, out);
    }
out:
    return st;
}

/* Why there is nothing to run; of several sizes with the same reason, once. */
static void say_why_not(const struct bw_operator *row, int ranks, const char *reason, char *said,
                        size_t room)
{
    if (strncmp(said, reason, room - 1) != 0) {
        (void)snprintf(said, room, "%s", reason);
        bw_note("%s: nothing to run on %d GPU%s: %s", row->tc.name, ranks, ranks == 1 ? "" : "s",
                reason);
    }
}

/* Every grid of a size; those that come to the same are measured, and printed, once. */
static enum bw_status print_size(const struct bw_operator *row,
                                 const struct bw_shmem_request *request,
                                 const struct shmem_machine *machine, uint64_t bytes,
                                 struct shmem_case *c, FILE *out, char **why_not)
{
    unsigned seen[BW_SHMEM_GRIDS_MAX] = {0};
    unsigned count = 0;
    enum bw_status st = BW_OK;

    for (unsigned i = 0; i == 0 || i < request->ctas_count; i++) {
        bool is_seen = false;

        *why_not = shmem_case_set(c, row, request, machine, bytes,
                                  request->ctas_count > 0 ? request->ctas[i] : 0);
        if (*why_not != NULL) {
            break; /* no grid changes that */
        }
        for (unsigned k = 0; k < count; k++) {
            is_seen |= seen[k] == c->ctas;
        }
        seen[count++] = c->ctas;
        if (!is_seen) {
            TRY(print_programs(c, out));
        }
    }
out:
    return st;
}

enum bw_status bw_shmem_print_plan(const struct bw_operator *row,
                                   const struct bw_shmem_request *request,
                                   const struct bw_gpus *gpus, int ranks, FILE *out)
{
    struct shmem_machine machine = shmem_machine_to_plan(gpus, ranks);
    struct shmem_case *c = calloc(1, sizeof(*c));
    char said[240] = "";
    enum bw_status st = BW_OK;
    double at = 0;

    if (c == NULL) {
        return bw_errno("no memory for a plan");
    }
    if (request->no_multicast != NULL) {
        machine.no_multicast = request->no_multicast;
    }
    for (uint64_t bytes = shmem_next_bytes(row, request, &at); bytes > 0;
         bytes = shmem_next_bytes(row, request, &at)) {
        char *why_not = NULL;

        TRY(print_size(row, request, &machine, bytes, c, out, &why_not));
        if (why_not != NULL) {
            say_why_not(row, ranks, why_not, said, sizeof(said));
        }
        free(why_not);
    }
out:
    free(c);
    return st;
}

static void print_case(FILE *out, const struct bw_suite_case *suite, uint64_t large_bytes,
                       const struct bw_gpus *gpus, int ranks, struct shmem_case *c)
{
    const int own = suite->ranks > 0 ? suite->ranks : ranks;
    const struct shmem_machine machine = shmem_machine_to_plan(gpus, own);
    struct bw_shmem_request request = {.factor = 2};
    char *reason = NULL;

    bw_suite_set(suite, large_bytes, &request);
    reason = shmem_case_set(c, &bw_operators[bw_operator_find(suite->row)], &request, &machine,
                            request.bytes_min, 0);
    if (own > ranks) {
        free(reason);
        reason = shmem_ranks_reason(own, ranks);
    }
    fprintf(out, "%-20s %-26s %-4s %13llu %-6s %-9s %5d %-9s %s", suite->name, suite->row,
            bw_suite_size_name(suite->size),
            (unsigned long long)(c->payload_bytes > 0 ? c->payload_bytes : request.bytes_min),
            bw_dtype_name(suite->dtype),
            bw_placement_name(c->row != NULL ? c->placement : suite->placement), own,
            c->row != NULL ? bw_algorithm_name(c->row->algorithm) : "-", suite->what);
    if (reason != NULL) {
        fprintf(out, " (waived: %s)", reason);
    }
    fputc('\n', out);
    free(reason);
}

enum bw_status bw_suite_print(FILE *out, uint64_t large_bytes, const struct bw_gpus *gpus,
                              int ranks)
{
    struct shmem_case *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        return bw_errno("no memory for a case");
    }
    fprintf(out, "suite shmem: %zu cases on %d GPUs; payload_bytes is of a rank\n",
            bw_suite_shmem_count, ranks);
    fprintf(out, "%-20s %-26s %-4s %13s %-6s %-9s %5s %-9s %s\n", "case", "operator", "size",
            "payload_bytes", "dtype", "placement", "n_pes", "algorithm", "why it is there");
    for (size_t i = 0; i < bw_suite_shmem_count; i++) {
        print_case(out, &bw_suite_shmem[i], large_bytes, gpus, ranks, c);
    }
    free(c);
    return BW_OK;
}
