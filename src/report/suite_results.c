/* SPDX-License-Identifier: Apache-2.0 */
/* Section 3 of the report of a suite: what each case was found to take. */
#include "markdown.h"
#include "operator.h"
#include "suite.h"
#include "words.h"

#include <math.h>
#include <stdlib.h>

void bw_suite_compare(const struct bw_run *run, const struct bw_shmem_point *p,
                      struct bw_comparison *row)
{
    const struct bw_baseline *baseline = run->baseline;

    *row = (struct bw_comparison){.placement = p->placement, .shmem = p->figures};
    bw_comparison_name(row, p->row->op, p->figures.payload_bytes, p->dtype, p->ranks);
    bw_comparison_set(row, p->baseline,
                      baseline == NULL              ? "none was asked for"
                      : baseline->reason[0] != '\0' ? baseline->reason
                                                    : "it has no such case");
    row->pass = p->pass; /* of GPUs that were not well none is judged */
}

const char *bw_suite_target(const struct bw_comparison *row)
{
    if (row->pass == SHMEM_PASS_NA) {
        return "none";
    }
    return row->has_baseline && row->baseline.kernel_bus_gb_per_s > 0 ? "80 % of the baseline"
                                                                      : "20 % utilization";
}

/* What ran of the case, valid or not; NULL: nothing did. */
static const struct bw_shmem_point *any_point(const struct bw_testcase_result *result)
{
    return result->shmem != NULL && result->shmem->count > 0 ? &result->shmem->points[0] : NULL;
}

static void put_shape(FILE *out, const struct bw_shmem_point *p)
{
    if (p->route.ranks > 0) {
        fprintf(out, "| %u tokens x %u, top %u ", p->route.tokens, p->route.hidden, p->route.top_k);
    } else {
        bw_md_count(out, p->elements);
    }
}

/* Why there are no numbers. */
static void put_reason(FILE *out, const struct bw_testcase_result *result)
{
    char *reason = bw_words_reason(result);

    fputs("| ", out);
    bw_md_words(out, reason != NULL ? reason : "not measured");
    fputs(result->status == BW_ERR_VERIFY ? ": no valid performance data " : " ", out);
    free(reason);
}

static void put_no_result(FILE *out, const struct bw_testcase_result *result)
{
    const struct bw_suite_case *c = result->suite;
    const struct bw_shmem_point *p = any_point(result);

    if (p != NULL && p->elements > 0) {
        put_shape(out, p);
    } else {
        bw_md_text(out, "N/A");
    }
    bw_md_text(out, bw_dtype_name(c->dtype));
    if (c->ranks > 0) {
        bw_md_count(out, (uint64_t)c->ranks);
    } else {
        bw_md_text(out, "all");
    }
    for (int i = 0; i < 3; i++) {
        bw_md_text(out, "-");
    }
    for (int i = 0; i < 7; i++) {
        bw_md_number(out, (double)NAN, 0);
    }
    bw_md_text(out, "-");
    bw_md_text(out, bw_words_verdict(result->verdict));
    put_reason(out, result);
}

static void put_result(FILE *out, const struct bw_run *run, const struct bw_testcase_result *result,
                       const struct bw_shmem_point *p)
{
    struct bw_comparison row;
    double theirs = NAN;

    bw_suite_compare(run, p, &row);
    theirs = row.has_baseline ? row.baseline.kernel_bus_gb_per_s : (double)NAN;
    put_shape(out, p);
    bw_md_text(out, bw_dtype_name(p->dtype));
    bw_md_count(out, (uint64_t)p->ranks);
    bw_md_text(out, bw_engine_name(p->row->tc.engine));
    bw_md_text(out, bw_algorithm_name(p->row->algorithm));
    bw_md_text(out, bw_placement_name(p->placement));
    bw_md_number(out, p->figures.e2e_us, 3);
    bw_md_number(out, p->figures.kernel_us, 3);
    bw_md_number(out, p->figures.algo_gb_per_s, 2);
    bw_md_number(out, p->figures.kernel_bus_gb_per_s, 2);
    bw_md_number(out, p->figures.utilization_pct, 2);
    bw_md_number(out, theirs, 2);
    bw_md_percent(out, (p->figures.kernel_bus_gb_per_s / theirs - 1) * 100);
    bw_md_text(out, bw_suite_target(&row));
    bw_md_text(out, bw_words_pass(p->pass));
    if (result->verdict == VERDICT_UNRELIABLE) {
        put_reason(out, result);
    } else {
        bw_md_text(out, bw_words_note(p));
    }
}

static void put_results(FILE *out, const struct bw_run *run)
{
    fputs("### 3.1 Result: bandwidth\n\n", out);
    bw_md_header(out, "case_id|shape|dtype|n_pes|engine|algorithm|placement|e2e_us|kernel_us|"
                      "algo_bandwidth_GBps|kernel_bus_bandwidth_GBps|utilization%|"
                      "baseline kernel_bus_bandwidth_GBps|delta|target|pass|notes");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];
        const struct bw_shmem_point *p = bw_suite_point(result);

        if (result->suite == NULL) {
            continue;
        }
        bw_md_text(out, result->suite->name);
        if (p != NULL) {
            put_result(out, run, result, p);
        } else {
            put_no_result(out, result);
        }
        bw_md_end(out);
    }
    fputc('\n', out);
}

static void put_latencies(FILE *out, const struct bw_run *run)
{
    fputs("### 3.2 Result: latency\n\n", out);
    bw_md_header(out, "case_id|e2e_us|kernel_us|staging_us|kernel_us p5|kernel_us p95|"
                      "kernel_us, mean of PEs|baseline e2e_us|e2e_bus_bandwidth_GBps|samples|"
                      "iterations|warm-up|rounds checked");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_shmem_point *p = bw_suite_point(&run->testcases[i]);
        struct bw_comparison row;

        if (p == NULL) {
            continue;
        }
        bw_suite_compare(run, p, &row);
        bw_md_text(out, run->testcases[i].suite->name);
        bw_md_number(out, p->figures.e2e_us, 3);
        bw_md_number(out, p->figures.kernel_us, 3);
        bw_md_number(out, p->staging_us, 3);
        bw_md_number(out, p->kernel_us.p5, 3);
        bw_md_number(out, p->kernel_us.p95, 3);
        bw_md_number(out, p->mean_kernel_us, 3);
        bw_md_number(out, row.has_baseline ? row.baseline.e2e_us : (double)NAN, 3);
        bw_md_number(out, p->figures.e2e_bus_gb_per_s, 2);
        bw_md_count(out, p->kernel_us.n);
        bw_md_count(out, p->iterations);
        bw_md_count(out, p->warm);
        bw_md_count(out, p->rounds_checked);
        bw_md_end(out);
    }
    fputc('\n', out);
}

static void put_communication(FILE *out, const struct bw_run *run)
{
    fputs("### 3.3 Communication\n\n", out);
    bw_md_header(out, "case_id|logical_payload_bytes|bus_factor|peak_bandwidth_GBps|"
                      "bandwidth_utilization%|wire_bytes_sent|wire_bytes_recv|local_bytes|"
                      "source of the peak");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];
        const struct bw_shmem_point *p = bw_suite_point(result);

        if (p == NULL) {
            continue;
        }
        bw_md_text(out, result->suite->name);
        bw_md_count(out, p->figures.payload_bytes);
        bw_md_number(out, p->figures.bus_factor, 4);
        bw_md_number(out, p->figures.peak_gb_per_s, 2);
        bw_md_number(out, p->figures.utilization_pct, 2);
        bw_md_count(out, p->bytes.sent);
        bw_md_count(out, p->bytes.received);
        bw_md_count(out, p->bytes.local);
        fputs("| ", out);
        bw_md_words(out,
                    result->shmem->peak_kind[0] != '\0' ? result->shmem->peak_kind : "unknown");
        fputs(result->shmem->peak_source[0] != '\0' ? ": " : "", out);
        bw_md_words(out, result->shmem->peak_source);
        fputc(' ', out);
        bw_md_end(out);
    }
    fputc('\n', out);
}

/* Of a launch, what its frames of that class took by themselves; NAN without frames. */
static double frames_us(const struct bw_shmem_point *p, enum bw_frame_class of)
{
    double sum = 0;

    if (p->frames == NULL || p->frames->reason != NULL || p->frames->count == 0) {
        return NAN;
    }
    for (size_t i = 0; i < p->frames->count; i++) {
        const struct bw_frame_row *row = &p->frames->rows[i];

        sum += bw_frame_map[row->frame].of == of ? row->self_us : 0;
    }
    return sum;
}

static void put_sum(FILE *out, const char *name, const struct bw_shmem_point *p)
{
    const double compute_us = frames_us(p, FRAMES_OF_COMPUTE);
    const bool has_frames = compute_us > 0;
    const double us = has_frames ? compute_us : p->figures.e2e_us;
    const double moves_us = frames_us(p, FRAMES_OF_REMOTE) + frames_us(p, FRAMES_OF_WAIT);

    bw_md_text(out, name);
    bw_md_number(out, p->operations, 0);
    bw_md_text(out, bw_shmem_operations_formula(p->row->op));
    bw_md_number(out, us, 3);
    bw_md_text(out, has_frames ? "frames" : "e2e, includes communication");
    bw_md_number(out, p->operations / (us * 1e3), 2);
    bw_md_text(out, "N/A");
    bw_md_text(out, "N/A");
    bw_md_number(out, p->frames != NULL ? moves_us / p->frames->e2e_us * 100 : (double)NAN, 2);
    bw_md_end(out);
}

static void put_compute(FILE *out, const struct bw_run *run)
{
    fputs("### 3.4 Compute\n\nCases that only move data have none (pure transport: N/A). No peak "
          "is assumed. The share of communication is known where there are frames.\n\n",
          out);
    bw_md_header(out, "case_id|op_count_flops|formula|compute_latency_us|time of|effective_gflops|"
                      "peak_flops|compute_utilization%|communication, % of e2e");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_shmem_point *p = bw_suite_point(&run->testcases[i]);

        if (p != NULL && bw_shmem_formula(p->row->op)->is_sum) {
            put_sum(out, run->testcases[i].suite->name, p);
        }
    }
    fputc('\n', out);
}

static void put_perf_lines(FILE *out, const struct bw_run *run)
{
    fputs("```\n", out);
    for (size_t i = 0; i < run->testcase_count; i++) {
        if (bw_suite_point(&run->testcases[i]) != NULL) {
            bw_text_perf(out, run->testcases[i].shmem);
        }
    }
    fputs("```\n\n", out);
}

void bw_md_suite_results(FILE *out, const struct bw_run *run)
{
    bool has_perf = false;

    fputs("## 3. Round 0\n\n", out);
    put_results(out, run);
    put_latencies(out, run);
    put_communication(out, run);
    put_compute(out, run);
    for (size_t i = 0; i < run->testcase_count; i++) {
        has_perf |= run->testcases[i].shmem != NULL && run->testcases[i].shmem->has_perf_lines;
    }
    if (has_perf) {
        put_perf_lines(out, run);
    }
}
