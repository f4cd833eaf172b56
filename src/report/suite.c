/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a suite: the writer, and its sections 1 and 2. */
#include "suite.h"

#include "markdown.h"
#include "operator.h"
#include "words.h"

#include "bwtool/log.h"
#include "bwtool/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void put_field(FILE *out, const char *name, const char *text)
{
    bw_md_text(out, name);
    bw_md_text(out, text[0] != '\0' ? text : "unknown");
    bw_md_end(out);
}

static void put_command(FILE *out, const struct bw_run *run)
{
    fputs("| command | ", out);
    for (int i = 0; i < run->argc; i++) {
        bw_md_words(out, run->argv[i]);
        fputc(' ', out);
    }
    bw_md_end(out);
}

static void put_gpus(FILE *out, const struct bw_run *run)
{
    for (int i = 0; i < run->device_count; i++) {
        const struct bw_device_info *gpu = &run->devices[i];

        fprintf(out, "| PE %d | ", i);
        bw_md_words(out, gpu->name);
        fprintf(out, ", %s, ", gpu->pci);
        bw_md_words(out, gpu->uuid);
        if (run->rank_count > 1) {
            fprintf(out, ", rank %d on ", gpu->rank);
            bw_md_words(out, gpu->host);
        }
        fputc(' ', out);
        bw_md_end(out);
    }
}

static void put_sizes(FILE *out, const struct bw_run *run)
{
    const struct bw_suite_case small = {.size = SUITE_S};
    char text[120];

    (void)snprintf(text, sizeof(text), "S %llu, L %llu, XL %llu bytes of each PE",
                   (unsigned long long)bw_suite_bytes(&small, run->suite_bytes),
                   (unsigned long long)run->suite_bytes,
                   (unsigned long long)run->suite_bytes * BW_SUITE_XL_FACTOR);
    put_field(out, "sizes", text);
}

/* What is needed to make the same numbers again. */
static void put_environment(FILE *out, const struct bw_run *run)
{
    char text[160];

    bw_md_header(out, "field|value");
    put_command(out, run);
    put_field(out, "folder", run->workdir);
    put_field(out, "started", run->started);
    put_field(out, "host", run->host);
    put_field(out, "system", run->system);
    put_field(out, "bwtool", bw_words_git_version);
    put_field(out, "driver", run->driver_version);
    (void)snprintf(text, sizeof(text), "%d.%d", run->cuda_version / 1000,
                   run->cuda_version % 1000 / 10);
    put_field(out, "CUDA of the driver", text);
    if (run->mpi_version[0] != '\0') {
        put_field(out, "MPI", run->mpi_version);
    }
    put_gpus(out, run);
    (void)snprintf(text, sizeof(text), "%s over samples, of the slowest PE; see 3.2",
                   run->sampling.use_mean ? "mean" : "median");
    put_field(out, "repeats", text);
    put_sizes(out, run);
    (void)snprintf(text, sizeof(text), "%d", run->exit_status);
    put_field(out, "exit status", text);
    if (bw_run_error(run) != NULL) {
        put_field(out, "the run ended early", bw_run_error(run));
    }
    fputc('\n', out);
}

/* The ways that ran, each once: who moves what from where to where. */
static void put_schedules(FILE *out, const struct bw_run *run)
{
    bw_md_header(out, "operator|algorithm|engine|placement|payload|bus_factor|schedule");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_shmem_point *p = bw_suite_point(&run->testcases[i]);
        bool is_said = p == NULL;

        for (size_t k = 0; k < i && !is_said; k++) {
            const struct bw_shmem_point *before = bw_suite_point(&run->testcases[k]);

            is_said = before != NULL && before->row == p->row && before->placement == p->placement;
        }
        if (is_said) {
            continue;
        }
        bw_md_text(out, bw_shmem_formula(p->row->op)->name);
        bw_md_text(out, bw_algorithm_name(p->row->algorithm));
        bw_md_text(out, bw_engine_name(p->row->tc.engine));
        bw_md_text(out, bw_placement_name(p->placement));
        bw_md_text(out, bw_shmem_formula(p->row->op)->basis);
        bw_md_text(out, bw_shmem_formula(p->row->op)->factor);
        bw_md_text(out, p->row->schedule);
        bw_md_end(out);
    }
    fputc('\n', out);
}

static void put_cases(FILE *out, const struct bw_run *run)
{
    bw_md_header(out, "case_id|operator|size|bytes|dtype|placement|n_pes|why it is there|"
                      "result|reason");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];
        const struct bw_suite_case *c = result->suite;
        char *reason = bw_words_reason(result);

        if (c == NULL) {
            free(reason);
            continue;
        }
        bw_md_text(out, c->name);
        bw_md_text(out, c->row);
        bw_md_text(out, bw_suite_size_name(c->size));
        bw_md_count(out, bw_suite_bytes(c, run->suite_bytes));
        bw_md_text(out, bw_dtype_name(c->dtype));
        bw_md_text(out, bw_placement_name(c->placement));
        bw_md_count(out, (uint64_t)(c->ranks > 0 ? c->ranks : bw_suite_pes(run)));
        bw_md_text(out, c->what);
        bw_md_text(out, bw_words_verdict(result->verdict));
        bw_md_text(out, reason);
        bw_md_end(out);
        free(reason);
    }
    fputc('\n', out);
}

void bw_md_suite_info(FILE *out, const struct bw_run *run)
{
    fputs("## 1. Operator info\n\n", out);
    put_environment(out, run);
    put_cases(out, run);
    put_schedules(out, run);
}

static void put_way(FILE *out, const struct bw_baseline_point *point, enum bw_baseline_class kind,
                    enum bw_baseline_mode mode)
{
    const struct bw_baseline_taken *taken = &point->taken[kind][mode];

    bw_md_number(out, taken->is_there ? taken->us : (double)NAN, 3);
}

static void put_baseline_point(FILE *out, const struct bw_baseline_point *point)
{
    enum bw_baseline_class kind = BASELINE_PLAIN;
    enum bw_baseline_mode mode = BASELINE_LAUNCH;
    const struct bw_baseline_taken *best = bw_baseline_best(point, &kind, &mode);
    const struct bw_shmem_figures f =
        bw_baseline_figures(point, best != NULL ? best->us : (double)NAN);

    bw_md_text(out, bw_shmem_formula(point->op)->name);
    bw_md_text(out, bw_dtype_name(point->dtype));
    bw_md_count(out, (uint64_t)point->ranks);
    bw_md_count(out, point->payload_bytes);
    bw_md_text(out, point->api);
    for (int k = 0; k < BASELINE_CLASSES; k++) {
        for (int m = 0; m < BASELINE_MODES; m++) {
            put_way(out, point, (enum bw_baseline_class)k, (enum bw_baseline_mode)m);
        }
    }
    bw_md_number(out, f.algo_gb_per_s, 2);
    bw_md_number(out, f.kernel_bus_gb_per_s, 2);
    bw_md_text(out, best == NULL ? "not measured" : point->is_checked ? "every byte" : "no");
    bw_md_text(out, best != NULL ? "" : bw_baseline_reason(point, BASELINE_PLAIN));
    bw_md_end(out);
}

void bw_md_suite_baseline(FILE *out, const struct bw_run *run)
{
    const struct bw_baseline *baseline = run->baseline;

    fputs("## 2. Baseline detail\n\n", out);
    if (baseline == NULL) {
        fprintf(out,
                "There is no baseline: none was asked for (%s). Without one a case is judged by "
                "its utilization: at least %d %%.\n\n",
                run->rank_count > 1 ? "a job of several ranks has none: `--baseline nccl-only -j` "
                                      "without mpirun, and `--compare` joins the two"
                                    : "`--baseline nccl`",
                BW_SHMEM_FLOOR_PCT);
        return;
    }
    fprintf(out,
            "NCCL %s, NCCL_NVLS_ENABLE %s, in a process of its own; then the GPUs were "
            "left alone for %.0f s.",
            baseline->version[0] != '\0' ? baseline->version : "(not loaded)",
            baseline->nvls[0] != '\0' ? baseline->nvls : "unknown", baseline->settle_s);
    if (baseline->reason[0] != '\0') {
        fprintf(out, " It is %s: ", baseline->count > 0 ? "not whole" : "missing");
        bw_md_words(out, baseline->reason);
        fputc('.', out);
    }
    fputs("\n\n", out);
    if (baseline->count > 0) {
        bw_md_header(out, "operator|dtype|n_pes|payload_bytes|api|plain, launch (us)|"
                          "plain, graph (us)|registered, launch (us)|registered, graph (us)|"
                          "algo_bandwidth_GBps of the best|kernel_bus_bandwidth_GBps of the best|"
                          "compared|notes");
    }
    for (size_t i = 0; i < baseline->count; i++) {
        put_baseline_point(out, &baseline->points[i]);
    }
    fputs(baseline->count > 0 ? "\n" : "", out);
}

/* Standard output is the report's alone, which comes at the end. */
static void nothing(struct bw_report *report)
{
    (void)report;
}

static void suite_running(struct bw_report *report, const char *name)
{
    const struct bw_run *run = report->run;
    const struct bw_testcase_result *result = &run->testcases[run->testcase_count - 1];

    bw_note("case %zu of %zu: %s (%s)", run->testcase_count, bw_suite_shmem_count,
            result->suite != NULL ? result->suite->name : "?", name);
}

static void suite_testcase(struct bw_report *report, const struct bw_testcase_result *result)
{
    (void)report;
    (void)result;
}

static void suite_end(struct bw_report *report)
{
    FILE *out = report->out;
    const struct bw_run *run = report->run;

    fputs("# bwtool: suite shmem\n\n", out);
    if (run->is_simulated) {
        fputs("**Simulated GPUs: the numbers below are made up, not measured.**\n\n", out);
    }
    bw_md_suite_info(out, run);
    bw_md_suite_baseline(out, run);
    bw_md_suite_results(out, run);
    bw_md_suite_frames(out, run);
    bw_md_suite_final(out, run);
    fflush(out);
}

const struct bw_report_ops bw_report_suite = {
    .name = "suite",
    .begin = nothing,
    .devices = nothing,
    .running = suite_running,
    .testcase = suite_testcase,
    .end = suite_end,
};
