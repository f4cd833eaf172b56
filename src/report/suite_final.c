/* SPDX-License-Identifier: Apache-2.0 */
/* The report of a suite: frames (3.5), the final comparison (6), and what was not covered. */
#include "markdown.h"
#include "operator.h"
#include "suite.h"

#include <math.h>

static void put_frame(FILE *out, const char *name, const struct bw_frame_row *row)
{
    char text[160];

    bw_md_text(out, name);
    bw_md_text(out, bw_frame_map[row->frame].name);
    bw_md_text(out, bw_frame_class_name(bw_frame_map[row->frame].of));
    bw_md_number(out, row->avg_us, 3);
    bw_md_number(out, row->max_core_us, 3);
    if (row->count_min == row->count_max) {
        bw_md_count(out, row->count_max);
    } else {
        fprintf(out, "| %u-%u ", row->count_min, row->count_max);
    }
    bw_md_number(out, row->share_pct, 2);
    bw_words_bottleneck(row, text, sizeof(text));
    bw_md_text(out, text);
    bw_md_end(out);
}

/* What no frame was of, and why: a line of the table each. */
static void put_missing(FILE *out, const char *name, const struct bw_shmem_point *p)
{
    for (int of = 0; of < FRAME_CLASSES; of++) {
        if (bw_frame_table_has(p->frames, (enum bw_frame_class)of)) {
            continue;
        }
        bw_md_text(out, name);
        bw_md_text(out, "none");
        bw_md_text(out, bw_frame_class_name((enum bw_frame_class)of));
        for (int i = 0; i < 4; i++) {
            bw_md_text(out, "-");
        }
        bw_md_text(out, bw_words_frame_missing(p, (enum bw_frame_class)of));
        bw_md_end(out);
    }
}

static void put_no_frames(FILE *out, const char *name, const char *why)
{
    bw_md_text(out, name);
    for (int i = 0; i < 6; i++) {
        bw_md_text(out, "-");
    }
    fputs("| no frames: ", out);
    bw_md_words(out, why);
    fputc(' ', out);
    bw_md_end(out);
}

static void put_frames(FILE *out, const char *name, const struct bw_shmem_point *p)
{
    const struct bw_frame_table *t = p->frames;

    if (t == NULL || t->reason != NULL || t->count == 0) {
        put_no_frames(out, name,
                      t == NULL           ? "it was not profiled"
                      : t->reason != NULL ? t->reason
                                          : "no frame was entered");
        return;
    }
    for (size_t i = 0; i < t->count; i++) {
        put_frame(out, name, &t->rows[i]);
    }
    bw_md_text(out, name);
    bw_md_text(out, "unattributed");
    for (int i = 0; i < 4; i++) {
        bw_md_text(out, "-");
    }
    bw_md_number(out, fabs(t->unattributed_pct) < 0.005 ? 0 : t->unattributed_pct, 2);
    fprintf(out, "| kernel_us with frames %.3f, without %.3f: %.3f x ", t->kernel_us, t->plain_us,
            t->perturbation);
    bw_md_end(out);
    put_missing(out, name, p);
}

void bw_md_suite_frames(FILE *out, const struct bw_run *run)
{
    bool is_profiled = false;

    fputs("### 3.5 Device frames\n\n", out);
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_shmem_point *p = bw_suite_point(&run->testcases[i]);

        is_profiled = is_profiled || (p != NULL && p->frames != NULL);
    }
    if (!is_profiled) {
        fputs("There are none: kernels with frames run with `--profile`, which was not given or "
              "came to nothing.\n\n",
              out);
        return;
    }
    bw_md_header(out, "case_id|Frame|Phase|Avg us|Max core us|Count|% E2E|Bottleneck");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_shmem_point *p = bw_suite_point(&run->testcases[i]);

        if (p != NULL) {
            put_frames(out, run->testcases[i].suite->name, p);
        }
    }
    fputc('\n', out);
}

static void put_comparison(FILE *out, const struct bw_run *run,
                           const struct bw_testcase_result *result, const struct bw_shmem_point *p)
{
    struct bw_comparison row;
    double theirs = NAN;

    bw_suite_compare(run, p, &row);
    theirs = row.has_baseline ? row.baseline.kernel_bus_gb_per_s : (double)NAN;
    bw_md_text(out, result->suite->name);
    bw_md_text(out, row.metric);
    bw_md_number(out, p->figures.kernel_bus_gb_per_s, 2);
    bw_md_number(out, theirs, 2);
    bw_md_percent(out, (p->figures.kernel_bus_gb_per_s / theirs - 1) * 100);
    bw_md_text(out, bw_words_pass(p->pass));
    bw_md_text(out, bw_suite_target(&row));
    bw_md_text(out, bw_placement_name(p->placement));
    if (row.has_baseline) {
        fprintf(out, "| %s, %s, %s ", bw_baseline_class_name(row.kind),
                bw_baseline_mode_name(row.mode), row.api);
    } else {
        fputs("| none: ", out);
        bw_md_words(out, row.reason);
        fputc(' ', out);
    }
    bw_md_number(out, p->figures.e2e_us, 3);
    bw_md_number(out, p->figures.kernel_us, 3);
    bw_md_number(out, row.has_baseline ? row.baseline.e2e_us : (double)NAN, 3);
    bw_md_number(out, p->figures.e2e_bus_gb_per_s, 2);
    bw_md_number(out, row.has_best ? row.best.kernel_bus_gb_per_s : (double)NAN, 2);
    bw_md_end(out);
}

static void put_comparisons(FILE *out, const struct bw_run *run, enum bw_suite_size size)
{
    bw_md_header(out, "case_id|metric|SHMEM kernel_bus_bandwidth_GBps|"
                      "Baseline kernel_bus_bandwidth_GBps|delta|pass|target|placement|"
                      "NCCL class, mode, api|SHMEM e2e_us|SHMEM kernel_us|Baseline e2e_us|"
                      "SHMEM e2e_bus_bandwidth_GBps|best NCCL mode of all, bus GBps");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];
        const struct bw_shmem_point *p = bw_suite_point(result);

        if (p != NULL && result->suite->size == size && result->suite->ranks == 0) {
            put_comparison(out, run, result, p);
        }
    }
    fputc('\n', out);
}

static void put_gates(FILE *out, const struct bw_run *run)
{
    struct bw_suite_gate gates[BW_SUITE_GATES];
    size_t missed = 0;

    bw_suite_gates(run, gates);
    for (int i = 0; i < BW_SUITE_GATES; i++) {
        missed += gates[i].is_must && !gates[i].is_met;
    }
    fprintf(out, "Coverage: %zu of the gates that must be met are not.\n\n", missed);
    bw_md_header(out, "gate|asked|result|why");
    for (int i = 0; i < BW_SUITE_GATES; i++) {
        bw_md_text(out, gates[i].name);
        bw_md_text(out, gates[i].is_must ? "must" : "recommended");
        bw_md_text(out, gates[i].is_met ? "met" : "gate not met");
        bw_md_text(out, gates[i].why);
        bw_md_end(out);
    }
}

void bw_md_suite_final(FILE *out, const struct bw_run *run)
{
    fprintf(out,
            "## 6. Final comparison\n\n"
            "This run changes nothing between rounds: round 0 is the last one. The verdict is by "
            "kernel_bus_bandwidth_GBps alone: at least %d %% of NCCL's or, without a "
            "baseline, %d %% of the peak from %d KiB on.\n\nL:\n\n",
            BW_SHMEM_BASELINE_PCT, BW_SHMEM_FLOOR_PCT, BW_SHMEM_FLOOR_BYTES >> 10);
    put_comparisons(out, run, SUITE_L);
    fputs("S:\n\n", out);
    put_comparisons(out, run, SUITE_S);
    put_gates(out, run);
}
