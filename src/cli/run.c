/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "baseline.h"
#include "inventory.h"
#include "operators.h"
#include "pairs.h"
#include "ranks.h"
#include "runner.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/nvml.h"
#include "bwtool/phase.h"

#include <stdlib.h>
#include <string.h>

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

/* The record says what `st` came of: of several ranks all say the same, so this is collective. */
static enum bw_status set_error(struct runner *r, enum bw_status st)
{
    char *reason = NULL;

    if (bw_has_ranks(r)) {
        st = bw_world_explain_all(r->world, st, bw_log_reason(), &reason);
    } else if (bw_log_reason() != NULL) {
        reason = strdup(bw_log_reason());
    }
    bw_run_set_error(&r->run, reason);
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
    if (bw_has_ranks(r)) {
        /* One rank without a GPU keeps all from measuring: all say so */
        st = bw_inventory_ranks_all(&r->run, r->world, &r->gpus, r->gpu_status, r->topology);
        r->gpu_status = st == BW_OK ? BW_OK : set_error(r, st);
        return BW_OK;
    }
    if (r->gpu_status == BW_OK) {
        return bw_inventory_gpus(&r->run, &r->gpus, r->topology);
    }
    (void)set_error(r, r->gpu_status);
    return BW_OK;
}

/* What each rank finds out by itself. */
static enum bw_status prepare_here(struct runner *r)
{
    enum bw_status st = BW_OK;

    TRY(bw_selection_build(&r->selection, r->options, r->world->ranks, r->run.is_host_only));
    r->needs_gpus = selection_needs_gpus(&r->selection);
    if (bw_world_is_root(r->world)) {
        bw_operator_note(r->options, &r->selection);
    }
    (void)bw_phase_enter(PHASE_BASELINE);
    TRY(bw_baseline_begin(r->options, &r->selection, r->world, &r->run));
    (void)bw_phase_enter(PHASE_TOPOLOGY);
    TRY(bw_topology_open(&r->topology, NULL));
    bw_inventory_nodes(&r->run, r->topology);
out:
    (void)bw_phase_enter(PHASE_OTHER);
    return st;
}

/* From here on the report has begun, and it will be ended. */
static enum bw_status prepare(struct runner *r)
{
    enum bw_status st = BW_OK;

    r->run.is_host_only = is_host_only(r->options);
    if (bw_has_ranks(r)) {
        TRY(bw_ranks_check_all(r->world, r->run.argc, r->run.argv));
        r->run.is_host_only = !bw_ranks_any_all(r->world, !r->run.is_host_only);
    }
    TRY(bw_world_agree_all(r->world, prepare_here(r),
                           "choosing testcases, reading the machine's topology"));
    if (r->needs_gpus) {
        TRY(find_gpus(r));
    }
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
    if (bw_has_ranks(r) || r->session.has_gpus) {
        TRY(bw_ranks_share_all(&r->session, &r->selection, r->options, &r->run.sampling));
    }
    if (bw_has_ranks(r)) {
        bw_inventory_sharing(&r->run, &r->session);
    }
    r->session.wants_huge_pages = r->options->use_huge_pages;
    r->session.wants_created = r->options->created_memory;
    if (r->session.has_gpus && bw_world_is_root(r->world)) { /* it measures pairs alone */
        st = bw_pairs_choose(r->options, &r->session.gpus, r->session.gpus.count,
                             r->session.gpus.peer, &r->pairs);
        r->session.pairs = r->pairs;
    }
    TRY(bw_world_agree_all(r->world, st, "choosing pairs of GPUs"));
out:
    return st;
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
    return bw_ranks_from_root_all(r->world, r->report.is_incomplete && r->run.exit_status == 0
                                                ? EXIT_FAILURE
                                                : r->run.exit_status);
}

/* Nothing of what was asked for exists. Not so where a rank failed otherwise. */
static bool is_refused_all(struct runner *r, enum bw_status st)
{
    const bool is_refused = st == BW_ERR_USAGE && r->selection.count == 0;

    return !bw_ranks_any_all(r->world, !is_refused);
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
    if (st != BW_OK && is_refused_all(&r, st)) {
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
        bw_take_turn(&r, &r.selection.choices[i]);
        meet(&r);
    }
out:
    status = finish(&r, st, start_ns);
    close_all(&r);
    return status;
}
