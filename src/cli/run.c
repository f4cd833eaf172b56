/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "baseline.h"
#include "inventory.h"
#include "operators.h"
#include "pairs.h"
#include "ranks.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/nvml.h"
#include "bwtool/phase.h"
#include "bwtool/report.h"
#include "bwtool/select.h"

#include <stdlib.h>
#include <string.h>

/* One run from the options to the exit status. */
struct runner {
    const struct bw_options *options;
    struct bw_world *world;
    struct bw_selection selection;
    struct bw_topology *topology;
    struct bw_gpus gpus; /* until the session takes them over */
    struct bw_session session;
    struct bw_run run;
    const struct bw_report_ops *ops; /* NULL in ranks that do not report */
    struct bw_report report;
    bool *pairs;               /* of GPUs, those to be measured; NULL: all */
    enum bw_status gpu_status; /* BW_OK, or why there is no GPU to use */
    bool needs_gpus;
    bool is_over; /* nothing more can be measured on the GPUs */
    bool is_late; /* the time that --max-time gives is over   */
};

/* Others may wait so long while the first rank measures alone. */
enum { ALONE_S = 7200 };

bool bw_run_must_not_unload(void)
{
    return bw_cu_context_lost();
}

static const struct bw_report_ops *choose_report(const struct bw_options *options)
{
    if (options->json) {
        return &bw_report_json;
    }
    if (options->suite != NULL) {
        return &bw_report_suite;
    }
    return options->perf_formatter ? &bw_report_perf : &bw_report_text;
}

/* Without -t and -p, a machine without a trace of a GPU runs what needs none. */
static bool is_host_only(const struct bw_options *options)
{
    return options->testcases.count == 0 && options->prefixes.count == 0 &&
           options->suite == NULL && !bw_gpu_is_expected("");
}

static bool selection_needs_gpus(const struct bw_selection *selection)
{
    for (size_t i = 0; i < selection->count; i++) {
        const int index = selection->choices[i].index;

        if (index >= 0 && (bw_testcase_needs(bw_all_at((size_t)index)) & NEED_GPU) != 0) {
            return true;
        }
    }
    return false;
}

static bool has_ranks(const struct runner *r)
{
    return r->world->ranks > 1;
}

/* The record says what `st` came of: of several ranks all say the same, so this is collective. */
static enum bw_status set_error(struct runner *r, enum bw_status st)
{
    char *reason = NULL;

    if (has_ranks(r)) {
        st = bw_world_explain_all(r->world, st, bw_log_reason(), &reason);
    } else if (bw_log_reason() != NULL) {
        reason = strdup(bw_log_reason());
    }
    if (r->run.error == NULL) {
        r->run.error = reason; /* what came first */
    } else {
        free(reason);
    }
    return st;
}

/* The GPUs, whether there are any, and what is in the record of them. */
static enum bw_status find_gpus(struct runner *r)
{
    enum bw_status st = BW_OK;

    (void)bw_phase_enter(PHASE_DRIVER);
    r->gpu_status = bw_gpus_open(&r->gpus);
    (void)bw_phase_enter(PHASE_NVML);
    bw_verbose("the driver has listed %d GPUs", r->gpus.count);
    if (has_ranks(r)) {
        /* One rank without a GPU keeps all from measuring: all say so */
        st = bw_inventory_ranks_all(&r->run, r->world, &r->gpus, r->topology);
        if (st != BW_OK) {
            (void)set_error(r, st);
        }
        r->gpu_status = st == BW_OK ? BW_OK : BW_ERR_NO_GPU;
        return BW_OK;
    }
    if (r->gpu_status == BW_OK) {
        return bw_inventory_gpus(&r->run, &r->gpus, r->topology);
    }
    (void)set_error(r, r->gpu_status);
    return BW_OK;
}

/* From here on the report has begun, and it will be ended. */
static enum bw_status prepare(struct runner *r)
{
    enum bw_status st = BW_OK;

    r->run.is_host_only = is_host_only(r->options);
    if (has_ranks(r)) {
        TRY(bw_ranks_check_all(r->world, r->run.argc, r->run.argv));
        r->run.is_host_only = !bw_ranks_any_all(r->world, !r->run.is_host_only);
    }
    TRY(bw_selection_build(&r->selection, r->options, r->world->ranks, r->run.is_host_only));
    r->needs_gpus = selection_needs_gpus(&r->selection);
    if (bw_world_is_root(r->world)) {
        bw_operator_note(r->options, &r->selection);
    }
    (void)bw_phase_enter(PHASE_BASELINE);
    TRY(bw_baseline_begin(r->options, &r->selection, r->world, &r->run));
    (void)bw_phase_enter(PHASE_TOPOLOGY);
    st = bw_topology_open(&r->topology, NULL);
    (void)bw_phase_enter(PHASE_OTHER);
    TRY(bw_world_agree_all(r->world, st, "reading the machine's topology"));
    bw_inventory_nodes(&r->run, r->topology);
    if (!r->needs_gpus) {
        return BW_OK;
    }
    TRY(find_gpus(r));
out:
    (void)bw_phase_enter(PHASE_OTHER);
    return st;
}

static enum bw_status open_session(struct runner *r)
{
    struct bw_gpus *gpus = r->gpu_status == BW_OK && r->needs_gpus ? &r->gpus : NULL;
    enum bw_status st = BW_OK;

    if (bw_baseline_is_alone(&r->run)) {
        return BW_OK; /* all of it was measured by another process */
    }
    TRY(bw_session_open_all(&r->session, r->world, r->topology, gpus));
    if (has_ranks(r)) {
        TRY(bw_ranks_share_all(&r->session, &r->selection, r->options, &r->run.sampling));
        bw_inventory_sharing(&r->run, &r->session);
    }
    r->session.wants_huge_pages = r->options->use_huge_pages;
    r->session.wants_created = r->options->created_memory;
    if (r->session.has_gpus) {
        TRY(bw_pairs_choose(r->options, &r->session.gpus, r->session.gpus.count,
                            r->session.gpus.peer, &r->pairs));
        r->session.pairs = r->pairs;
    }
out:
    return st;
}

static enum bw_status measure(struct runner *r, struct bw_testcase_result *result)
{
    struct bw_cell *cells[3] = {NULL, NULL, NULL};
    struct bw_plan plan = {0};
    enum bw_status st = BW_OK;

    if (bw_operator_of(result->tc) != NULL) {
        return bw_operator_run(&r->session, r->options, &r->run, result);
    }
    TRY(bw_session_plan(&r->session, &plan, result->tc));
    TRY(bw_result_shape(result, &plan));
    for (int m = 0; m < result->matrix_count; m++) {
        cells[m] = result->matrices[m].cells;
    }
    bw_state_begin(r->session.state);
    st = bw_measure_all(&r->session, &plan, &r->run.sampling, cells);
    if (!bw_testcase_is_host(result->tc)) {
        result->records = bw_state_end(r->session.state);
        result->record_count = r->session.gpus.count;
    }
    bw_result_find_outliers(&r->run, result);
out:
    bw_plan_free(&plan);
    return st;
}

static void run_one(struct runner *r, struct bw_testcase_result *result)
{
    const uint64_t start_ns = bw_clock_ns();
    const struct bw_world_use before = r->world->use;
    const struct bw_phases phases = bw_phases_so_far();

    result->status = measure(r, result);
    if (has_ranks(r) && bw_ranks_take_part(result->tc)) {
        result->shared_by = bw_session_shared_by(&r->session);
        result->skew_ns = bw_session_skew_ns(&r->session);
        result->use = (struct bw_world_use){r->world->use.collectives - before.collectives,
                                            r->world->use.bytes - before.bytes,
                                            r->world->use.seconds - before.seconds};
    }
    result->wall_seconds = (double)(bw_clock_ns() - start_ns) * 1e-9;
    result->phases = bw_phases_since(&phases);
    bw_result_set_buffer_bytes(result);
    result->verdict = bw_result_verdict(result);
    bw_result_set_reason(result, bw_result_first_reason(result));
    if (result->reason == NULL && result->status != BW_OK) {
        bw_result_set_reason(result, bw_log_reason());
    }
}

/* Why a testcase is not run, though it exists and this machine might do; NULL if it is. */
static const char *reason_not_to_run(const struct runner *r, const struct bw_testcase *tc)
{
    if (r->is_late && !bw_baseline_is_alone(&r->run)) { /* whose points say it themselves */
        return "the time that --max-time gives was over before its turn";
    }
    if (bw_testcase_is_host(tc)) {
        return NULL;
    }
    if (r->gpu_status != BW_OK) {
        return has_ranks(r) ? "a rank has no usable GPU or driver"
                            : "there is no usable GPU or driver";
    }
    return r->is_over ? "the GPUs were lost before its turn" : NULL;
}

/*
 * With several ranks: what needs no others is the first rank's alone, and the
 * others wait here. True if this is one of those.
 */
static bool must_wait(struct runner *r, const struct bw_testcase *tc)
{
    const bool is_alone = has_ranks(r) && tc != NULL && !bw_ranks_take_part(tc);

    r->world->patience_s = is_alone ? ALONE_S : 0;
    bw_world_tell(r->world, is_alone ? tc->name : NULL, NULL);
    return is_alone && !bw_world_is_root(r->world);
}

/* All ranks know again the same of what goes on. */
static void meet(struct runner *r)
{
    r->is_over = bw_ranks_any_all(r->world, r->is_over || bw_cu_context_lost());
    if (r->run.sampling.deadline_ns != UINT64_MAX) {
        r->is_late = bw_ranks_from_root_all(r->world, bw_sampling_is_over(&r->run.sampling)) != 0;
    }
    r->world->patience_s = 0;
    bw_world_tell(r->world, NULL, NULL);
}

static void run_choice(struct runner *r, const struct bw_choice *choice)
{
    const struct bw_testcase *tc = choice->index < 0 ? NULL : bw_all_at((size_t)choice->index);
    struct bw_testcase_result *result = bw_run_add(&r->run, tc != NULL ? tc->name : choice->word);
    char *waiver = NULL;

    if (result == NULL) {
        bw_error("no memory for the result of %s", tc != NULL ? tc->name : choice->word);
        if (r->run.error == NULL && bw_log_reason() != NULL) {
            r->run.error = strdup(bw_log_reason()); /* a testcase is not even in the record */
        }
        return;
    }
    if (must_wait(r, tc)) {
        return;
    }
    result->suite = choice->suite;
    result->buffer_bytes = r->run.sampling.buffer_bytes;
    if (tc == NULL) {
        result->verdict = VERDICT_NOT_FOUND;
        result->by_index = choice->is_number;
        result->asked_index = choice->number;
    } else if (reason_not_to_run(r, tc) != NULL) {
        result->verdict = VERDICT_NOT_RUN;
        bw_result_set_reason(result, reason_not_to_run(r, tc));
    } else if ((waiver = bw_baseline_is_alone(&r->run)
                             ? bw_baseline_waiver(&r->run)
                             : bw_ranks_waiver_all(&r->session, r->options, tc, choice->suite)) !=
               NULL) {
        result->verdict = VERDICT_WAIVED;
        result->reason = waiver;
    } else {
        if (r->ops != NULL) {
            r->ops->running(&r->report, result->name);
        }
        run_one(r, result);
    }
    if (r->ops != NULL) {
        r->ops->testcase(&r->report, result);
        bw_result_say_outliers(result);
    }
}

static int finish(struct runner *r, enum bw_status st, uint64_t start_ns)
{
    const bool usage = st == BW_ERR_USAGE;

    if (st != BW_OK) {
        st = set_error(r, st);
    }
    r->run.wall_seconds = (double)(bw_clock_ns() - start_ns) * 1e-9;
    r->run.phases = bw_phases_so_far();
    r->run.state_ms = bw_state_cost_ms(r->session.state);
    r->run.exit_status = bw_ranks_from_root_all(
        r->world,
        bw_run_exit_status(&r->run, r->gpu_status == BW_ERR_NO_GPU || st == BW_ERR_NO_GPU, usage));
    if (r->ops != NULL) {
        r->ops->end(&r->report);
    }
    /* The record says the status, so that one without a record is not in it */
    return r->report.is_incomplete && r->run.exit_status == 0 ? EXIT_FAILURE : r->run.exit_status;
}

static void close_all(struct runner *r)
{
    bw_session_close_all(&r->session);
    bw_gpus_close(&r->gpus);
    if (!bw_cu_context_lost()) {
        bw_nvml_close(); /* it may wait for a GPU as well */
    }
    bw_topology_close(r->topology);
    bw_selection_free(&r->selection);
    bw_run_free(&r->run);
    free(r->pairs);
}

int bw_run_all(const struct bw_options *options, struct bw_world *world, int argc, char **argv)
{
    struct runner r = {.options = options, .world = world};
    const uint64_t start_ns = bw_clock_ns();
    enum bw_status st = BW_OK;
    int status = 0;

    (void)bw_phase_enter(PHASE_OTHER);
    bw_run_init(&r.run, argc, argv);
    bw_run_sampling(&r.run.sampling, options);
    bw_inventory_world(&r.run, world);
    r.run.verbose = options->verbose;
    r.run.suite_bytes = options->suite != NULL ? bw_operator_suite_bytes(options) : 0;
    r.ops = bw_world_is_root(world) ? choose_report(options) : NULL;
    r.report = (struct bw_report){.out = stdout, .run = &r.run};
    st = prepare(&r);
    if (st == BW_ERR_USAGE && r.selection.count == 0) {
        status = bw_run_exit_status(&r.run, false, true); /* one line on stderr, and nothing else */
        close_all(&r);
        return status;
    }
    if (r.ops != NULL) {
        r.ops->begin(&r.report);
        r.ops->devices(&r.report);
    }
    if (r.run.is_host_only && bw_world_is_root(world)) {
        bw_note("no NVIDIA GPU here: measuring the host's memory; with a GPU, %d testcases of "
                "copies and latencies between host and GPUs would run",
                BW_TESTCASE_V08_SINGLE);
    }
    TRY(st);
    TRY(open_session(&r));
    bw_ranks_say_alone(world, &r.selection);
    meet(&r);
    for (size_t i = 0; i < r.selection.count; i++) {
        run_choice(&r, &r.selection.choices[i]);
        meet(&r);
    }
out:
    status = finish(&r, st, start_ns);
    close_all(&r);
    return status;
}
