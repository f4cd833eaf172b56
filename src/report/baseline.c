/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL's side of an operator's result. */
#include "comparison.h"

#include "json_value.h"
#include "operator.h"

#include "bwtool/baseline_json.h"
#include "bwtool/log.h"

#include <math.h>
#include <stdlib.h>

/* A point of the run beside its baseline. `doubt` is its own; "" */
static void compare_point(struct bw_comparison *row, const struct bw_shmem_result *shmem,
                          const struct bw_shmem_point *p, const char *doubt)
{
    const struct bw_baseline *baseline = shmem->baseline;

    *row = (struct bw_comparison){.placement = p->placement, .shmem = p->figures};
    (void)snprintf(row->doubt, sizeof(row->doubt), "%s", doubt);
    bw_comparison_name(row, p->row->op, p->figures.payload_bytes, p->dtype, p->ranks);
    bw_comparison_set(row, p->baseline,
                      baseline->reason[0] != '\0' ? baseline->reason : "it has no such case");
    row->pass = p->pass; /* of GPUs that were not well none is judged */
}

bool bw_text_baseline(FILE *out, const struct bw_testcase_result *result)
{
    const struct bw_shmem_result *shmem = result->shmem;
    struct bw_comparison *rows = calloc(shmem->count + 1, sizeof(*rows));
    size_t count = 0;

    if (rows == NULL) {
        (void)bw_errno("no memory for the comparison with NCCL");
        return false;
    }
    for (size_t i = 0; i < shmem->count; i++) {
        if (shmem->points[i].status == BW_OK) {
            const char *doubt = bw_operator_doubt(result, i);

            compare_point(&rows[count++], shmem, &shmem->points[i], doubt != NULL ? doubt : "");
        }
    }
    bw_text_comparison(out, rows, count, shmem->baseline->version);
    free(rows);
    return true;
}

/* Keys in the standard's order; more only behind them. */
static void print_line(FILE *out, const char *version, const struct bw_baseline_point *point,
                       enum bw_baseline_class kind, int rank)
{
    enum bw_baseline_mode mode = BASELINE_LAUNCH;
    const struct bw_baseline_taken *taken = bw_baseline_of_class(point, kind, &mode);
    struct bw_shmem_figures f;

    if (taken == NULL || !isfinite(taken->rank_us[rank])) {
        return;
    }
    f = bw_baseline_rank_figures(point, rank, taken->rank_us[rank]);
    fprintf(out, "[BASELINE_PERF] pe=%d", rank);
    bw_text_key(out, "e2e_us", f.e2e_us, 3);
    bw_text_key(out, "kernel_us", f.kernel_us, 3);
    bw_text_key(out, "algo_bandwidth_GBps", f.algo_gb_per_s, 3);
    bw_text_key(out, "e2e_bus_bandwidth_GBps", f.e2e_bus_gb_per_s, 3);
    bw_text_key(out, "kernel_bus_bandwidth_GBps", f.kernel_bus_gb_per_s, 3);
    fprintf(out, " payload_bytes=%llu", (unsigned long long)f.payload_bytes);
    bw_text_key(out, "bus_factor", f.bus_factor, 6);
    fprintf(out, " api=%s nccl_version=%s registered=%d mode=%s\n", point->api, version,
            kind == BASELINE_REGISTERED, bw_baseline_mode_name(mode));
}

void bw_text_baseline_perf(FILE *out, const struct bw_baseline *baseline, enum bw_shmem_op op)
{
    for (size_t i = 0; i < baseline->count; i++) {
        const struct bw_baseline_point *point = &baseline->points[i];

        for (int k = 0; point->op == op && k < BASELINE_CLASSES; k++) {
            for (int r = 0; r < point->ranks; r++) {
                print_line(out, baseline->version, point, (enum bw_baseline_class)k, r);
            }
        }
    }
}

static void put_way(FILE *out, const struct bw_baseline_point *point, enum bw_baseline_class kind,
                    enum bw_baseline_mode mode)
{
    const struct bw_baseline_taken *taken = &point->taken[kind][mode];
    const struct bw_shmem_figures f = bw_baseline_figures(point, taken->us);

    fprintf(out, "%22llu %6s %5d %-10s %-6s", (unsigned long long)point->payload_bytes,
            bw_dtype_name(point->dtype), point->ranks, bw_baseline_class_name(kind),
            bw_baseline_mode_name(mode));
    if (taken->is_there) {
        fprintf(out, " %11.3f %10.2f %10.2f %-17s %s\n", taken->us, f.algo_gb_per_s,
                f.kernel_bus_gb_per_s, point->api, point->is_checked ? "every byte" : "no");
    } else {
        fprintf(out, " %11s %10s %10s %-17s %s\n", "N/A", "N/A", "N/A", point->api,
                taken->reason[0] != '\0' ? taken->reason : point->reason);
    }
}

void bw_text_baseline_alone(FILE *out, const struct bw_baseline *baseline, enum bw_shmem_op op)
{
    fprintf(out, "%s by NCCL %s (NCCL_NVLS_ENABLE %s)\n", bw_shmem_formula(op)->name,
            baseline->version, baseline->nvls);
    fprintf(out, "%22s %6s %5s %-10s %-6s %11s %10s %10s %-17s %s\n", "logical_payload_bytes",
            "dtype", "n_pes", "class", "mode", "e2e_us", "algo_GBps", "kbus_GBps", "api",
            "compared");
    for (size_t i = 0; i < baseline->count; i++) {
        for (int w = 0; baseline->points[i].op == op && w < BASELINE_CLASSES * BASELINE_MODES;
             w++) {
            put_way(out, &baseline->points[i], (enum bw_baseline_class)(w / BASELINE_MODES),
                    (enum bw_baseline_mode)(w % BASELINE_MODES));
        }
    }
    fputc('\n', out);
}

json_t *bw_json_case_baseline(const struct bw_shmem_result *shmem, const struct bw_shmem_point *p)
{
    struct bw_comparison row;

    if (shmem->baseline == NULL || p->status != BW_OK) {
        return json_null();
    }
    compare_point(&row, shmem, p, ""); /* its own is told beside this */
    return bw_json_comparison(&row);
}

json_t *bw_json_baselines(const struct bw_baseline *baseline, enum bw_shmem_op op)
{
    json_t *list = json_array();

    for (size_t i = 0; i < baseline->count; i++) {
        if (baseline->points[i].op == op) {
            bw_json_add(list, bw_baseline_point_json(&baseline->points[i]));
        }
    }
    return list;
}

json_t *bw_json_baseline(const struct bw_baseline *baseline)
{
    json_t *object = json_object();

    bw_json_set(object, "kind", bw_json_text("nccl"));
    bw_json_set(object, "nccl_version", bw_json_text_or_null(baseline->version));
    bw_json_set(object, "nvls_enable", bw_json_text_or_null(baseline->nvls));
    bw_json_set(object, "alone", json_boolean(baseline->is_alone));
    bw_json_set(object, "settle_seconds", bw_json_real(baseline->settle_s));
    bw_json_set(object, "reason", bw_json_text_or_null(baseline->reason));
    return object;
}
