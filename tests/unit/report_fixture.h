/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_FIXTURE_H
#define BW_REPORT_FIXTURE_H

#include "bwtool/log.h"
#include "bwtool/plan.h"
#include "bwtool/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Runs filled in by hand, and what a writer makes of them. The numbers are
 * chosen, not measured: each cell's tells its row, column and matrix.
 */

extern const char bw_words_version[], bw_words_git_version[];

enum { FIXTURE_TEXT_BYTES = 1 << 20, FIXTURE_SAMPLES = 3 };

static inline void fixture_devices(struct bw_run *run, int count)
{
    run->devices = calloc((size_t)count, sizeof *run->devices);
    run->peer = calloc((size_t)(count * count), sizeof *run->peer);
    if (run->devices == NULL || run->peer == NULL) {
        abort();
    }
    run->device_count = count;
    for (int i = 0; i < count; i++) {
        struct bw_device_info *device = &run->devices[i];

        *device = (struct bw_device_info){.ordinal = i,
                                          .numa_node = i < count / 2 ? 0 : 1,
                                          .memory_bytes = 150754820096u,
                                          .sm_count = 132,
                                          .capability_major = 9};
        snprintf(device->name, sizeof device->name, "NVIDIA H200");
        snprintf(device->host, sizeof device->host, "node-a");
        snprintf(device->pci, sizeof device->pci, "00000000:%02x:00",
                 (unsigned)(0x0f + 0x10 * i) & 0xff);
        snprintf(device->uuid, sizeof device->uuid, "GPU-%08d-0000-0000-0000-000000000000", i);
        for (int j = 0; j < count; j++) {
            run->peer[i * count + j] = true;
        }
    }
}

static inline void fixture_run(struct bw_run *run, int devices)
{
    static char *argv[] = {(char *)"bwtool", (char *)"-t", (char *)"0"};

    bw_run_init(run, 3, argv);
    snprintf(run->host, sizeof run->host, "node-a");
    snprintf(run->system, sizeof run->system, "Linux 6.1.0 x86_64");
    snprintf(run->workdir, sizeof run->workdir, "/home/user");
    snprintf(run->started, sizeof run->started, "2026-01-02T03:04:05Z");
    run->sampling = (struct bw_sampling){.buffer_bytes = 512u << 20,
                                         .samples = FIXTURE_SAMPLES,
                                         .copies = 16,
                                         .bind = true,
                                         .corrupt_word = UINT64_MAX};
    run->wall_seconds = 1.5;
    run->node_count = 2;
    if (devices > 0) {
        run->cuda_version = 12080;
        snprintf(run->driver_version, sizeof run->driver_version, "570.124.06");
        fixture_devices(run, devices);
    }
}

static inline void fixture_cell(struct bw_cell *cell, double value)
{
    static const double factors[FIXTURE_SAMPLES] = {1.0, 0.99, 1.02};

    cell->is_present = true;
    cell->value = value;
    cell->samples = calloc(FIXTURE_SAMPLES, sizeof *cell->samples);
    if (cell->samples == NULL) {
        abort();
    }
    for (int i = 0; i < FIXTURE_SAMPLES; i++) {
        cell->samples[i] = factors[i] * value;
    }
    cell->stats = (struct bw_stats){.n = FIXTURE_SAMPLES,
                                    .median = value,
                                    .mean = value * 1.003,
                                    .min = value * 0.99,
                                    .max = value * 1.02,
                                    .p5 = value * 0.991,
                                    .p95 = value * 1.018,
                                    .cv = 0.0125,
                                    .ci_low = NAN,
                                    .ci_high = NAN};
    cell->bytes = (uint64_t)16 << 29;
    cell->seconds = 0.0625;
    cell->reverse_gb_per_s = NAN;
}

static inline void fixture_failed_cell(struct bw_cell *cell, enum bw_status status,
                                       const char *reason)
{
    free(cell->samples);
    *cell = (struct bw_cell){.status = status, .reason = strdup(reason)};
}

/* Cells as a plan for `ends` ends has them, each with a value of its own. */
static inline struct bw_testcase_result *fixture_testcase(struct bw_run *run, const char *name,
                                                          int ends, double base)
{
    struct bw_testcase_result *result = bw_run_add(run, name);
    struct bw_plan plan = {0};

    if (result == NULL || result->tc == NULL ||
        bw_plan_build(&plan, result->tc, ends, NULL) != BW_OK ||
        bw_result_shape(result, &plan) != BW_OK) {
        abort();
    }
    for (int r = 0; r < plan.rows; r++) {
        for (int c = 0; c < plan.cols; c++) {
            const double value = base + 10.0 * r + 1.25 * c;

            if (result->tc->shape != SHAPE_BISECT && bw_plan_find(&plan, r, c) == NULL) {
                continue;
            }
            for (int m = 0; m < result->matrix_count; m++) {
                /* The third is the sum of the first two. */
                fixture_cell(&result->matrices[m].cells[r * plan.cols + c],
                             m == 2 ? 2 * value + 0.5 : value + 0.5 * m);
            }
        }
    }
    result->buffer_bytes = run->sampling.buffer_bytes;
    result->wall_seconds = 0.25;
    bw_plan_free(&plan);
    return result;
}

static inline void fixture_verdict(struct bw_run *run, const char *name, enum bw_verdict verdict,
                                   const char *reason)
{
    struct bw_testcase_result *result = bw_run_add(run, name);

    if (result == NULL) {
        abort();
    }
    result->verdict = verdict;
    result->reason = reason != NULL ? strdup(reason) : NULL;
}

/* What the writer prints for the whole run; the caller frees it. */
static inline char *fixture_print(const struct bw_report_ops *ops, const struct bw_run *run)
{
    char *text = NULL;
    size_t bytes = 0;
    struct bw_report report = {.out = open_memstream(&text, &bytes), .run = run};

    if (report.out == NULL) {
        abort();
    }
    ops->begin(&report);
    ops->devices(&report);
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];

        if (result->verdict == VERDICT_PASSED || result->verdict == VERDICT_FAILED ||
            result->verdict == VERDICT_UNRELIABLE) {
            ops->running(&report, result->name);
        }
        ops->testcase(&report, result);
    }
    ops->end(&report);
    fclose(report.out);
    return text;
}

/* The recorded runs. */

static inline void fixture_host_only(struct bw_run *run)
{
    fixture_run(run, 0);
    run->is_host_only = true;
    run->nodes = calloc(2, sizeof *run->nodes);
    if (run->nodes == NULL) {
        abort();
    }
    run->nodes[0] = (struct bw_node_info){.os_index = 0, .cpus = 32, .memory_bytes = 1u << 30};
    run->nodes[1] = (struct bw_node_info){.os_index = 2, .cpus = 0};
    fixture_testcase(run, "cpu_copy", 2, 40.0);
    fixture_testcase(run, "cpu_read", 2, 80.0);
    fixture_testcase(run, "cpu_latency", 2, 95.0);
}

static inline void fixture_one(struct bw_run *run)
{
    struct bw_testcase_result *result = NULL;

    fixture_run(run, 1);
    fixture_testcase(run, "host_to_device_memcpy_ce", 1, 55.53);
    fixture_verdict(run, "device_to_device_memcpy_read_ce", VERDICT_WAIVED,
                    "needs two GPUs that reach each other");
    fixture_testcase(run, "device_local_copy", 1, 2092.55);
    result = fixture_testcase(run, "host_device_latency_sm", 1, 772.58);
    result->buffer_bytes = 2u << 20;
}

static inline void fixture_two(struct bw_run *run)
{
    struct bw_testcase_result *result = NULL;

    fixture_run(run, 2);
    setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
    setenv("NCCL_NVLS_ENABLE", "0", 1);
    fixture_testcase(run, "host_to_device_memcpy_ce", 2, 55.53);
    fixture_testcase(run, "device_to_device_memcpy_read_ce", 2, 396.0);
    fixture_testcase(run, "device_to_device_bidirectional_memcpy_read_ce", 2, 380.0);
    fixture_testcase(run, "all_to_one_write_sm", 2, 390.0);
    result = fixture_testcase(run, "device_to_host_bidirectional_memcpy_sm", 2, 41.0);
    for (int c = 0; c < 2; c++) {
        result->matrices[0].cells[c].reverse_gb_per_s = 40.0 + c;
    }
    fixture_testcase(run, "device_to_device_latency_sm", 2, 700.0);
}

static inline void fixture_two_verbose(struct bw_run *run)
{
    fixture_two(run);
    run->verbose = true;
}

static inline void fixture_eight(struct bw_run *run)
{
    fixture_run(run, 8);
    fixture_testcase(run, "device_to_device_memcpy_write_ce", 8, 300.0);
    fixture_testcase(run, "one_to_all_read_ce", 8, 999999.99);
    fixture_testcase(run, "device_local_copy", 8, 12345678.9);
}

static inline void fixture_failed(struct bw_run *run)
{
    static const char why[] = "gpu 1: cuMemcpyAsync: [CUDA_ERROR_ILLEGAL_ADDRESS]";
    struct bw_testcase_result *result = NULL;

    fixture_run(run, 2);
    result = fixture_testcase(run, "device_to_device_memcpy_read_ce", 2, 396.0);
    result->verdict = VERDICT_FAILED;
    result->status = BW_ERR_VERIFY;
    fixture_failed_cell(&result->matrices[0].cells[2], BW_ERR_VERIFY,
                        "gpu 0 to gpu 1, ce: at byte 4096 expected 0x12, got 0x13, 1 word differs");
    result = fixture_testcase(run, "device_to_device_bidirectional_memcpy_write_sm", 2, 380.0);
    result->verdict = VERDICT_FAILED;
    result->status = BW_ERR_LOST;
    result->reason = strdup(why);
    for (int m = 0; m < 3; m++) {
        fixture_failed_cell(&result->matrices[m].cells[1], BW_ERR_LOST, why);
        fixture_failed_cell(&result->matrices[m].cells[2], BW_ERR_LOST, why);
    }
    fixture_verdict(run, "device_local_copy", VERDICT_NOT_RUN, "a GPU's context is lost");
    fixture_verdict(run, "host_to_device_memcpy_sm", VERDICT_FAILED, "not enough host memory");
    run->exit_status = 1;
}

static inline void fixture_unknown(struct bw_run *run)
{
    struct bw_testcase_result *result = NULL;

    fixture_run(run, 1);
    fixture_verdict(run, "nosuch", VERDICT_NOT_FOUND, NULL);
    fixture_testcase(run, "host_to_device_memcpy_ce", 1, 55.53);
    fixture_verdict(run, "99", VERDICT_NOT_FOUND, NULL);
    result = &run->testcases[run->testcase_count - 1];
    result->by_index = true;
    result->asked_index = 99;
    run->exit_status = 2;
}

static inline void fixture_ranks(struct bw_run *run)
{
    fixture_run(run, 4);
    run->rank_count = 12;
    run->verbose = true;
    snprintf(run->mpi_version, sizeof run->mpi_version, "Open MPI v4.1.4");
    for (int i = 0; i < 4; i++) {
        run->devices[i].rank = 3 * i;
        run->devices[i].ordinal = i % 2;
    }
    fixture_testcase(run, "multinode_bisect_write_ce", 4, 350.0);
    fixture_testcase(run, "multinode_device_to_device_memcpy_write_ce", 3, 350.0);
    fixture_testcase(run, "multinode_device_to_device_broadcast_one_to_all_sm", 3, 300.0);
    fixture_testcase(run, "multinode_device_to_device_broadcast_all_to_all_sm", 3, 900.0);
}

static inline void fixture_simulated(struct bw_run *run)
{
    fixture_run(run, 1);
    run->is_simulated = true;
    snprintf(run->devices[0].name, sizeof run->devices[0].name, "Simulated H200");
    fixture_testcase(run, "host_to_device_memcpy_ce", 1, 50.0);
}

static inline void fixture_fatal(struct bw_run *run)
{
    fixture_run(run, 0);
    run->node_count = 0;
    run->error = strdup("[CUDA_ERROR_NO_DEVICE] cuInit(0): no GPU answers");
    run->exit_status = 3;
}

/* Texts and numbers that a writer could choke on. */
static inline void fixture_odd(struct bw_run *run)
{
    struct bw_testcase_result *result = NULL;

    fixture_run(run, 1);
    run->driver_version[0] = '\0';
    run->sampling = (struct bw_sampling){.buffer_bytes = 1u << 20,
                                         .precision = 0.0025,
                                         .use_mean = true,
                                         .skip_verification = true,
                                         .corrupt_word = 7};
    run->devices[0].numa_node = -1;
    fixture_verdict(run, "no\nsuch\t\"\xff\xfe", VERDICT_NOT_FOUND, NULL);
    fixture_verdict(run, "cpu_copy", VERDICT_WAIVED, "first line\n7 second line");
    result = fixture_testcase(run, "host_to_device_memcpy_ce", 1, INFINITY);
    result->matrices[0].cells[0].stats.cv = INFINITY;
    result = fixture_testcase(run, "device_to_host_memcpy_ce", 1, 3e-7);
    result->verdict = VERDICT_UNRELIABLE;
    result->matrices[0].cells[0].is_doubtful = true;
    result->matrices[0].cells[0].doubt = strdup("the load ended too early");
    fixture_testcase(run, "device_to_device_memcpy_read_ce", 0, 0.0);
    run->exit_status = 5;
}

struct fixture {
    const char *name;
    void (*fill)(struct bw_run *run);
};

static const struct fixture fixtures[] = {
    {"host_only", fixture_host_only},
    {"one", fixture_one},
    {"two", fixture_two},
    {"two_verbose", fixture_two_verbose},
    {"eight", fixture_eight},
    {"failed", fixture_failed},
    {"unknown", fixture_unknown},
    {"ranks", fixture_ranks},
    {"simulated", fixture_simulated},
    {"fatal", fixture_fatal},
    {"odd", fixture_odd},
};

enum { FIXTURE_COUNT = sizeof fixtures / sizeof fixtures[0] };

/* Fill in a run in an environment and with a record of messages that are known. */
static inline void fixture_open(const struct fixture *fixture, struct bw_run *run)
{
    char *path = getenv("PATH") != NULL ? strdup(getenv("PATH")) : NULL;

    clearenv();
    setenv("PATH", path != NULL ? path : "/usr/bin:/bin", 1);
    free(path);
    bw_log_fini();
    bw_log_init(true, false);
    fixture->fill(run);
}

static inline void fixture_close(struct bw_run *run)
{
    bw_run_free(run);
    bw_log_fini();
}

#endif
