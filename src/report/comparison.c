/* SPDX-License-Identifier: Apache-2.0 */
/* An operator beside NCCL: the tables that the standard asks for, and the same as JSON. */
#include "comparison.h"

#include "json_value.h"
#include "operator.h"

#include <math.h>
#include <string.h>

void bw_comparison_name(struct bw_comparison *row, enum bw_shmem_op op, uint64_t payload_bytes,
                        enum bw_shmem_dtype dtype, int ranks)
{
    (void)snprintf(row->metric, sizeof(row->metric), "%s payload_bytes=%llu dtype=%s n_pes=%d",
                   bw_shmem_formula(op)->name, (unsigned long long)payload_bytes,
                   bw_dtype_name(dtype), ranks);
}

/* What is said of the operator itself comes first. */
static void add_doubt(struct bw_comparison *row, const char *doubt)
{
    if (row->doubt[0] == '\0' && doubt[0] != '\0') {
        (void)snprintf(row->doubt, sizeof(row->doubt), "its baseline: %.200s", doubt);
    }
}

void bw_comparison_set(struct bw_comparison *row, const struct bw_baseline_point *point,
                       const char *reason)
{
    const struct bw_baseline_taken *taken = NULL;

    row->kind = bw_baseline_class_for(row->placement);
    (void)snprintf(row->reason, sizeof(row->reason), "%s", reason);
    if (point != NULL) {
        taken = bw_baseline_of_class(point, row->kind, &row->mode);
        (void)snprintf(row->api, sizeof(row->api), "%s", point->api);
        if (taken != NULL) {
            row->has_baseline = true;
            row->baseline = bw_baseline_figures(point, taken->us);
            add_doubt(row, bw_baseline_doubt(point, row->kind));
        } else {
            (void)snprintf(row->reason, sizeof(row->reason), "%s",
                           bw_baseline_reason(point, row->kind));
        }
        taken = bw_baseline_best(point, &row->best_kind, &row->best_mode);
        if (taken != NULL) {
            row->has_best = true;
            row->best = bw_baseline_figures(point, taken->us);
        }
    }
    row->pass =
        row->doubt[0] != '\0'
            ? SHMEM_PASS_NA
            : bw_shmem_verdict(&row->shmem,
                               row->has_baseline ? row->baseline.kernel_bus_gb_per_s : (double)NAN);
}

static double delta_pct(double ours, double theirs)
{
    return (ours / theirs - 1) * 100;
}

static void put(FILE *out, double value, int digits)
{
    if (isfinite(value)) {
        fprintf(out, " | %.*f", digits, value);
    } else {
        fputs(" | N/A", out);
    }
}

static void put_delta(FILE *out, double ours, double theirs)
{
    if (isfinite(delta_pct(ours, theirs))) {
        fprintf(out, " | %+.1f%%", delta_pct(ours, theirs));
    } else {
        fputs(" | N/A", out);
    }
}

/* By what the verdict was found. */
static const char *judge_of(const struct bw_comparison *row)
{
    return row->pass == SHMEM_PASS_NA                                   ? "nothing"
           : row->has_baseline && row->baseline.kernel_bus_gb_per_s > 0 ? "baseline"
                                                                        : "utilization";
}

static void put_notes(FILE *out, const struct bw_comparison *row)
{
    fputs(" |", out);
    if (row->is_refused) {
        fprintf(out, " refused: %s", row->reason);
    } else {
        if (row->doubt[0] != '\0') {
            fprintf(out, " unreliable: %s%s", row->doubt, row->has_baseline ? "" : ";");
        }
        if (!row->has_baseline) {
            fprintf(out, " no baseline: %s; judged by %s", row->reason, judge_of(row));
        }
    }
    fputc('\n', out);
}

static void print_row(FILE *out, const struct bw_comparison *row)
{
    const double theirs = row->has_baseline ? row->baseline.kernel_bus_gb_per_s : (double)NAN;

    fputs(row->metric, out);
    put(out, row->shmem.kernel_bus_gb_per_s, 2);
    put(out, theirs, 2);
    put_delta(out, row->shmem.kernel_bus_gb_per_s, theirs);
    fprintf(out, " | %s", row->is_refused ? "refused" : bw_words_pass(row->pass));
    fprintf(out, " | %s", bw_placement_name(row->placement));
    if (row->has_baseline) {
        fprintf(out, " | %s, %s, %s", bw_baseline_class_name(row->kind),
                bw_baseline_mode_name(row->mode), row->api);
    } else {
        fputs(" | none", out);
    }
    put(out, row->shmem.e2e_us, 3);
    put(out, row->shmem.kernel_us, 3);
    put(out, row->has_baseline ? row->baseline.kernel_us : (double)NAN, 3);
    put(out, row->shmem.e2e_bus_gb_per_s, 2);
    put_notes(out, row);
}

static void print_best(FILE *out, const struct bw_comparison *rows, size_t count)
{
    fputs(
        "any class vs the best NCCL mode of all (no verdict: the classes may differ)\n"
        "metric | SHMEM placement | SHMEM kernel_bus_bandwidth_GBps | NCCL class, mode | Baseline "
        "kernel_bus_bandwidth_GBps | delta | SHMEM e2e_us | Baseline e2e_us\n",
        out);
    for (size_t i = 0; i < count; i++) {
        const struct bw_comparison *row = &rows[i];

        if (!row->has_best || row->is_refused) {
            continue;
        }
        fprintf(out, "%s | %s", row->metric, bw_placement_name(row->placement));
        put(out, row->shmem.kernel_bus_gb_per_s, 2);
        fprintf(out, " | %s, %s", bw_baseline_class_name(row->best_kind),
                bw_baseline_mode_name(row->best_mode));
        put(out, row->best.kernel_bus_gb_per_s, 2);
        put_delta(out, row->shmem.kernel_bus_gb_per_s, row->best.kernel_bus_gb_per_s);
        put(out, row->shmem.e2e_us, 3);
        put(out, row->best.e2e_us, 3);
        fputc('\n', out);
    }
    fputc('\n', out);
}

void bw_text_comparison(FILE *out, const struct bw_comparison *rows, size_t count,
                        const char *version)
{
    bool has_best = false;

    fprintf(out,
            "comparison with NCCL%s%s: A and B with plain buffers, R with registered windows, the "
            "better of launches and a graph; passed: kernel bus bandwidth of at least %d %% of "
            "NCCL's, without a baseline a utilization of %d %%\n",
            version[0] != '\0' ? " " : "", version, BW_SHMEM_BASELINE_PCT, BW_SHMEM_FLOOR_PCT);
    fputs("metric | SHMEM kernel_bus_bandwidth_GBps | Baseline kernel_bus_bandwidth_GBps | delta | "
          "pass | placement | NCCL class, mode, api | SHMEM e2e_us | SHMEM kernel_us | Baseline "
          "e2e_us | SHMEM e2e_bus_bandwidth_GBps | notes\n",
          out);
    for (size_t i = 0; i < count; i++) {
        print_row(out, &rows[i]);
        has_best = has_best || (rows[i].has_best && !rows[i].is_refused);
    }
    fputc('\n', out);
    if (has_best) {
        print_best(out, rows, count);
    }
}

static void set_figures(json_t *object, const struct bw_shmem_figures *f, double ours)
{
    bw_json_set(object, "e2e_us", bw_json_real(f->e2e_us));
    bw_json_set(object, "kernel_us", bw_json_real(f->kernel_us));
    bw_json_set(object, "algo_bandwidth_GBps", bw_json_real(f->algo_gb_per_s));
    bw_json_set(object, "e2e_bus_bandwidth_GBps", bw_json_real(f->e2e_bus_gb_per_s));
    bw_json_set(object, "kernel_bus_bandwidth_GBps", bw_json_real(f->kernel_bus_gb_per_s));
    bw_json_set(object, "payload_bytes", bw_json_count(f->payload_bytes));
    bw_json_set(object, "bus_factor", bw_json_real(f->bus_factor));
    bw_json_set(object, "delta_pct", bw_json_real(delta_pct(ours, f->kernel_bus_gb_per_s)));
}

static json_t *way_of(const char *api, enum bw_baseline_class kind, enum bw_baseline_mode mode)
{
    json_t *object = json_object();

    bw_json_set(object, "api", bw_json_text(api));
    bw_json_set(object, "class", bw_json_text(bw_baseline_class_name(kind)));
    bw_json_set(object, "mode", bw_json_text(bw_baseline_mode_name(mode)));
    return object;
}

json_t *bw_json_comparison(const struct bw_comparison *row)
{
    const double ours = row->shmem.kernel_bus_gb_per_s;
    json_t *object = row->has_baseline ? way_of(row->api, row->kind, row->mode) : json_object();

    if (row->has_baseline) {
        set_figures(object, &row->baseline, ours);
    }
    if (row->has_best) {
        json_t *best = way_of(row->api, row->best_kind, row->best_mode);

        set_figures(best, &row->best, ours);
        bw_json_set(object, "best_of_all", best);
    }
    bw_json_set(object, "judged_by", bw_json_text(judge_of(row)));
    if (row->doubt[0] != '\0') {
        bw_json_set(object, "doubt", bw_json_text(row->doubt));
    }
    bw_json_set(object, "reason", bw_json_text_or_null(row->reason));
    return object;
}
