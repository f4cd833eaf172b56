/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as nvbandwidth v0.8 prints it, line by line: people parse it. Nothing
 * but results is printed, and nothing between a "Running" line and the next
 * that a parser could take for a row.
 */
#include "bwtool/log.h"
#include "bwtool/report.h"
#include "operator.h"
#include "text_matrix.h"
#include "words.h"

#include <math.h>
#include <stdlib.h>

enum { SMALL_BUFFER_BYTES = 512 * 1024 * 1024 };

void bw_report_version(FILE *out)
{
    fprintf(out, "bwtool Version: %s (nvbandwidth v0.8 compatible)\n", bw_words_version);
    fprintf(out, "Built from Git version: %s\n\n", bw_words_git_version);
}

static void text_begin(struct bw_report *report)
{
    bw_report_version(report->out);
    fflush(report->out);
}

static void print_devices(FILE *out, const struct bw_run *run)
{
    const int rank_width = snprintf(NULL, 0, "%d", run->rank_count - 1);

    for (int i = 0; i < run->device_count; i++) {
        const struct bw_device_info *device = &run->devices[i];

        if (run->rank_count > 1) {
            fprintf(out, "Process %*d (", rank_width, device->rank);
            bw_words_put(out, device->host);
            fprintf(out, "): device %d: ", device->ordinal);
        } else {
            fprintf(out, "Device %d: ", device->ordinal);
        }
        bw_words_put(out, device->name);
        fprintf(out, " (%s)\n", device->pci);
    }
    fputc('\n', out);
}

static void text_devices(struct bw_report *report)
{
    const struct bw_run *run = report->run;
    FILE *out = report->out;

    if (run->sampling.buffer_bytes < SMALL_BUFFER_BYTES && run->device_count > 0) {
        bw_note("the buffer is smaller than 512 MiB: rates can stay below what the links can do");
    }
    if (run->mpi_version[0] != '\0') {
        fputs("MPI version: ", out);
        bw_words_put(out, run->mpi_version);
        fputc('\n', out);
    }
    fprintf(out, "CUDA Runtime Version: %d\n", run->cuda_version);
    fprintf(out, "CUDA Driver Version: %d\n", run->cuda_version);
    fputs("Driver Version: ", out);
    bw_words_put(out, run->driver_version[0] != '\0' ? run->driver_version : "unknown");
    fputc('\n', out);
    if (run->is_simulated) {
        fputs("Simulated GPUs: the numbers below are made up, not measured\n", out);
    }
    fputc('\n', out);
    if (run->rank_count == 1) {
        bw_words_put(out, run->host);
        fputc('\n', out);
    }
    print_devices(out, run);
    fflush(out);
}

/* At once: scripts wait for this line, and a crash must not take it along. */
static void text_running(struct bw_report *report, const char *name)
{
    fprintf(report->out, "Running %s.\n", name);
    fflush(report->out);
}

static void print_value(FILE *out, const char *word, const char *key, double value)
{
    if (isfinite(value)) {
        fprintf(out, "%s %s %.2f\n", word, key, value);
    }
}

static void print_summary(struct bw_report *report, const struct bw_testcase_result *result,
                          const struct bw_matrix *matrix, bool is_perf)
{
    const struct bw_summary summary = bw_matrix_summary(matrix);
    FILE *out = report->out;
    char *key = NULL;

    if (summary.n == 0) {
        return;
    }
    key = bw_words_key(result, matrix);
    if (key == NULL) {
        bw_error("%s: not enough host memory to print its sum", result->name);
        report->is_incomplete = true;
        return;
    }
    if (is_perf) {
        fprintf(out, "&&&& PERF %s %.2f %s\n", key, summary.sum,
                bw_testcase_is_latency(result->tc) ? "-ns" : "+GB/s");
    } else {
        print_value(out, "SUM", key, summary.sum);
    }
    if (report->run->verbose) {
        print_value(out, "MIN", key, summary.min);
        print_value(out, "MAX", key, summary.max);
        print_value(out, "AVG", key, summary.average);
        print_value(out, "COEFFICIENT_OF_VARIATION", key, summary.cv);
    }
    fputc('\n', out);
    free(key);
}

static void print_not_found(FILE *out, const struct bw_testcase_result *result)
{
    if (result->by_index) {
        fprintf(out, "ERROR: Testcase index %lld out of bound!\n", result->asked_index);
        return;
    }
    fputs("ERROR: Testcase ", out);
    bw_words_put(out, result->name);
    fputs(" not found!\n", out);
}

static void print_waived(FILE *out, const struct bw_testcase_result *result)
{
    char *reason = bw_words_reason(result);

    fprintf(out, "Waived: %s: ", result->name);
    bw_words_put(out, reason != NULL ? reason : "not supported on this machine");
    fputc('\n', out);
    free(reason);
}

static void print_not_run(const struct bw_testcase_result *result)
{
    char *reason = bw_words_reason(result);

    bw_warn("%s: not run: %s", result->name, reason != NULL ? reason : "the run has ended");
    free(reason);
}

/* Its tables; its matrix, which is one column of them, only as a perf line. */
static void print_operator(struct bw_report *report, const struct bw_testcase_result *result,
                           bool is_perf)
{
    if (report->run->verbose) {
        bw_text_state(report->out, result);
    }
    report->is_incomplete |= !bw_text_operator(report->out, result);
    for (int m = 0; is_perf && m < result->matrix_count; m++) {
        print_summary(report, result, &result->matrices[m], true);
    }
}

static void print_testcase(struct bw_report *report, const struct bw_testcase_result *result,
                           bool is_perf)
{
    switch (result->verdict) {
    case VERDICT_NOT_FOUND:
        print_not_found(report->out, result);
        break;
    case VERDICT_WAIVED:
        print_waived(report->out, result);
        break;
    case VERDICT_NOT_RUN:
        print_not_run(result);
        break;
    case VERDICT_PASSED:
    case VERDICT_FAILED:
    case VERDICT_UNRELIABLE:
        if (result->shmem != NULL) {
            print_operator(report, result, is_perf);
            break;
        }
        if (report->run->verbose) {
            bw_text_samples(report->out, result);
            bw_text_peaks(report->out, result);
            bw_text_state(report->out, result);
        }
        for (int m = 0; m < result->matrix_count; m++) {
            bw_text_matrix(report->out, &result->matrices[m]);
            print_summary(report, result, &result->matrices[m], is_perf);
        }
        break;
    }
    fflush(report->out);
}

static void text_testcase(struct bw_report *report, const struct bw_testcase_result *result)
{
    print_testcase(report, result, false);
}

static void perf_testcase(struct bw_report *report, const struct bw_testcase_result *result)
{
    print_testcase(report, result, true);
}

/* nvbandwidth's closing note went to stdout, where parsers take it for rows. */
static void text_end(struct bw_report *report)
{
    const struct bw_run *run = report->run;

    for (size_t i = 0; i < run->testcase_count; i++) {
        if (run->testcases[i].verdict == VERDICT_PASSED) {
            bw_note("results also depend on driver, clocks and how the machine is wired; they may "
                    "be less than it can do");
            break;
        }
    }
    fflush(report->out);
}

const struct bw_report_ops bw_report_text = {
    .name = "text",
    .begin = text_begin,
    .devices = text_devices,
    .running = text_running,
    .testcase = text_testcase,
    .end = text_end,
};

/* The same, with other words for the sums: "&&&& PERF" lines. */
const struct bw_report_ops bw_report_perf = {
    .name = "perf",
    .begin = text_begin,
    .devices = text_devices,
    .running = text_running,
    .testcase = perf_testcase,
    .end = text_end,
};
