/* SPDX-License-Identifier: Apache-2.0 */
#include "operator.h"

#include "comparison.h"

#include <math.h>

/* Right-aligned; "N/A" for what is not known. */
static void put_number(FILE *out, int width, int digits, double value)
{
    if (isfinite(value)) {
        fprintf(out, " %*.*f", width, digits, value);
    } else {
        fprintf(out, " %*s", width, "N/A");
    }
}

const char *bw_words_pass(enum bw_shmem_pass pass)
{
    switch (pass) {
    case SHMEM_PASS:
        return "passed";
    case SHMEM_BELOW:
        return "below";
    case SHMEM_PASS_NA:
        break;
    }
    return "not_judged";
}

static bool is_comparable(const struct bw_shmem_point *a, const struct bw_shmem_point *b)
{
    return a->row == b->row && a->figures.payload_bytes == b->figures.payload_bytes &&
           a->placement == b->placement && b->status == BW_OK && b->figures.kernel_us > 0;
}

size_t bw_operator_best(const struct bw_shmem_result *shmem, size_t index)
{
    size_t best = index;

    for (size_t i = 0; i < shmem->count; i++) {
        if (is_comparable(&shmem->points[index], &shmem->points[i]) &&
            !(shmem->points[best].figures.kernel_us <= shmem->points[i].figures.kernel_us)) {
            best = i;
        }
    }
    return best;
}

/* What else there is to say of a point; "" for nothing. */
const char *bw_words_note(const struct bw_shmem_point *point)
{
    if (point->status != BW_OK) {
        return point->reason != NULL ? point->reason : "failed";
    }
    if (point->figures.utilization_pct > 100 && point->row->algorithm == ALGORITHM_MULTICAST) {
        return "above 100 %: the switch adds up and spreads, so that fewer bytes cross the links "
               "than the bus factor counts (wire_bytes are what crosses)";
    }
    if (point->figures.utilization_pct > 100) {
        return "above 100 %: the link is faster than its nominal rate, or the bus factor counts "
               "bytes that did not cross it";
    }
    if (point->row->algorithm == ALGORITHM_CE) {
        return "no kernel: kernel_us is the device time from the first signal to the last";
    }
    if (point->row->is_float_only) {
        return "a NaN of all ones loses its sign";
    }
    return "";
}

static void print_results(FILE *out, const struct bw_testcase_result *result)
{
    fprintf(out, "%s: %s\n", result->name, result->matrices[0].title);
    fprintf(out, "%7s %14s %6s %5s %6s %9s %9s %5s %11s %11s %10s %10s %7s %-10s %s\n", "case_id",
            "shape", "dtype", "n_pes", "engine", "algorithm", "placement", "ctas", "e2e_us",
            "kernel_us", "algo_GBps", "kbus_GBps", "util%", "pass", "notes");
    for (size_t i = 0; i < result->shmem->count; i++) {
        const struct bw_shmem_point *p = &result->shmem->points[i];

        fprintf(out, "%7zu %14llu %6s %5d %6s %9s %9s %5u", i, (unsigned long long)p->elements,
                bw_dtype_name(p->dtype), p->ranks, bw_engine_name(p->row->tc.engine),
                bw_algorithm_name(p->row->algorithm), bw_placement_name(p->placement), p->ctas);
        put_number(out, 11, 3, p->figures.e2e_us);
        put_number(out, 11, 3, p->figures.kernel_us);
        put_number(out, 10, 2, p->figures.algo_gb_per_s);
        put_number(out, 10, 2, p->figures.kernel_bus_gb_per_s);
        put_number(out, 7, 2, p->figures.utilization_pct);
        fprintf(out, " %-10s %s\n", bw_words_pass(p->pass), bw_words_note(p));
    }
    fputc('\n', out);
}

static void print_communication(FILE *out, const struct bw_testcase_result *result)
{
    const struct bw_shmem_result *shmem = result->shmem;
    const struct bw_shmem_formula *formula = bw_shmem_formula(bw_operator_of(result->tc)->op);

    fprintf(out, "communication: payload is %s; bus factor %s; peak: %s%s%s\n", formula->basis,
            formula->factor, shmem->peak_kind[0] != '\0' ? shmem->peak_kind : "unknown",
            shmem->peak_source[0] != '\0' ? ", " : "", shmem->peak_source);
    fprintf(out, "%7s %22s %10s %20s %24s %16s %16s %16s\n", "case_id", "logical_payload_bytes",
            "bus_factor", "peak_bandwidth_GBps", "bandwidth_utilization%", "wire_bytes_sent",
            "wire_bytes_recv", "local_bytes");
    for (size_t i = 0; i < shmem->count; i++) {
        const struct bw_shmem_point *p = &shmem->points[i];

        fprintf(out, "%7zu %22llu", i, (unsigned long long)p->figures.payload_bytes);
        put_number(out, 10, 4, p->figures.bus_factor);
        put_number(out, 20, 2, p->figures.peak_gb_per_s);
        put_number(out, 24, 2, p->figures.utilization_pct);
        fprintf(out, " %16llu %16llu %16llu\n", (unsigned long long)p->bytes.sent,
                (unsigned long long)p->bytes.received, (unsigned long long)p->bytes.local);
    }
    fputc('\n', out);
}

/* Dispatch and combine: whose bytes the bus factor is of, and what makes the same routes again. */
static void print_routes(FILE *out, const struct bw_testcase_result *result)
{
    const struct bw_shmem_result *shmem = result->shmem;

    if (shmem->count == 0 || shmem->points[0].route.ranks == 0) {
        return;
    }
    fprintf(out, "routes: bus_factor_src=counted: the bytes over links, one way, of the rank that "
                 "moves most (bus_rank), over the payload; wire and local bytes are that rank's\n");
    fprintf(out, "%7s %10s %8s %6s %8s %7s %20s %8s\n", "case_id", "tokens", "hidden", "top_k",
            "experts", "skew", "route_seed", "bus_rank");
    for (size_t i = 0; i < shmem->count; i++) {
        const struct bw_shmem_point *p = &shmem->points[i];

        fprintf(out, "%7zu %10u %8u %6u %8u", i, p->route.tokens, p->route.hidden, p->route.top_k,
                p->route.experts);
        if (isinf(p->route.skew)) {
            fprintf(out, " %7s", "one");
        } else {
            put_number(out, 7, 3, p->route.skew);
        }
        fprintf(out, " %20llu", (unsigned long long)p->route.seed);
        put_number(out, 8, 0, p->rank_bytes != NULL ? p->busiest : (double)NAN);
        fputc('\n', out);
    }
    fputc('\n', out);
}

/* Without frames the time is e2e's, and holds the communication. */
static void print_compute(FILE *out, const struct bw_testcase_result *result)
{
    const enum bw_shmem_op op = bw_operator_of(result->tc)->op;

    if (!bw_shmem_formula(op)->is_sum) {
        fprintf(out, "compute: N/A (pure transport)\n\n");
        return;
    }
    fprintf(out,
            "compute: operations are %s additions a rank; the time is that of e2e and includes "
            "communication; no peak is assumed\n",
            bw_shmem_operations_formula(op));
    fprintf(out, "%7s %18s %20s %18s %12s %22s\n", "case_id", "op_count_flops",
            "compute_latency_us", "effective_gflops", "peak_flops", "compute_utilization%");
    for (size_t i = 0; i < result->shmem->count; i++) {
        const struct bw_shmem_point *p = &result->shmem->points[i];

        fprintf(out, "%7zu %18.0f", i, p->operations);
        put_number(out, 20, 3, p->figures.e2e_us);
        put_number(out, 18, 2, p->operations / (p->figures.e2e_us * 1e3));
        fprintf(out, " %12s %22s\n", "N/A", "N/A");
    }
    fputc('\n', out);
}

void bw_text_key(FILE *out, const char *key, double value, int digits)
{
    if (isfinite(value)) {
        fprintf(out, " %s=%.*f", key, digits, value);
    } else {
        fprintf(out, " %s=N/A", key);
    }
}

const char *bw_operator_doubt(const struct bw_testcase_result *result, size_t index)
{
    const struct bw_matrix *matrix = &result->matrices[0];

    return index < (size_t)matrix->rows ? bw_cell_doubt(&matrix->cells[index]) : NULL;
}

/* Keys in the standard's order; more only behind them. */
static void print_perf_line(FILE *out, const struct bw_shmem_point *p, int rank)
{
    const double kernel_us = p->rank_kernel_us[rank];
    const double e2e_us = p->rank_e2e_us != NULL ? p->rank_e2e_us[rank] : kernel_us;
    const double factor = p->rank_bytes != NULL
                              ? bw_bus_factor_counted(bw_shmem_remote_bytes(&p->rank_bytes[rank]),
                                                      p->figures.payload_bytes)
                              : p->figures.bus_factor;
    const struct bw_shmem_figures f = bw_shmem_figures_of(factor, p->figures.payload_bytes, e2e_us,
                                                          kernel_us, p->figures.peak_gb_per_s);

    fprintf(out, "[PERF] pe=%d", rank);
    bw_text_key(out, "e2e_us", f.e2e_us, 3);
    bw_text_key(out, "kernel_us", f.kernel_us, 3);
    bw_text_key(out, "algo_bandwidth_GBps", f.algo_gb_per_s, 3);
    bw_text_key(out, "e2e_bus_bandwidth_GBps", f.e2e_bus_gb_per_s, 3);
    bw_text_key(out, "kernel_bus_bandwidth_GBps", f.kernel_bus_gb_per_s, 3);
    bw_text_key(out, "bandwidth_utilization_pct", f.utilization_pct, 2);
    fprintf(out, " payload_bytes=%llu", (unsigned long long)f.payload_bytes);
    bw_text_key(out, "bus_factor", f.bus_factor, 6);
    bw_text_key(out, "peak_bandwidth_GBps", f.peak_gb_per_s, 2);
    if (p->rank_bytes != NULL) {
        fputs(" bus_factor_src=counted", out);
    }
    fputc('\n', out);
}

void bw_text_perf(FILE *out, const struct bw_shmem_result *shmem)
{
    for (size_t i = 0; i < shmem->count; i++) {
        const struct bw_shmem_point *p = &shmem->points[i];

        for (int r = 0; p->rank_kernel_us != NULL && r < p->ranks; r++) {
            if (isfinite(p->rank_kernel_us[r])) {
                print_perf_line(out, p, r);
            }
        }
    }
}

/* Where several grids were tried: the best one beside the default. */
static void print_best(FILE *out, const struct bw_testcase_result *result)
{
    const struct bw_shmem_result *shmem = result->shmem;

    for (size_t i = 0; i < shmem->count; i++) {
        const struct bw_shmem_point *p = &shmem->points[i];
        const size_t best = bw_operator_best(shmem, i);
        const bool is_first =
            i == 0 || shmem->points[i - 1].figures.payload_bytes != p->figures.payload_bytes;

        if (is_first && i + 1 < shmem->count && is_comparable(p, &shmem->points[i + 1])) {
            fprintf(out,
                    "best of the grids tried for %llu bytes: %u blocks, %.3f us; default: %u\n",
                    (unsigned long long)p->figures.payload_bytes, shmem->points[best].ctas,
                    shmem->points[best].figures.kernel_us, p->default_ctas);
        }
    }
}

static bool print_operator(FILE *out, const struct bw_testcase_result *result)
{
    print_results(out, result);
    print_communication(out, result);
    print_routes(out, result);
    print_compute(out, result);
    print_best(out, result);
    bw_text_frames(out, result);
    return result->shmem->baseline == NULL || bw_text_baseline(out, result);
}

bool bw_text_operator(FILE *out, const struct bw_testcase_result *result)
{
    const struct bw_baseline *baseline = result->shmem->baseline;
    const enum bw_shmem_op op = bw_operator_of(result->tc)->op;
    bool is_whole = true;

    if (baseline != NULL && baseline->is_alone) {
        bw_text_baseline_alone(out, baseline, op);
    } else {
        is_whole = print_operator(out, result);
    }
    if (result->shmem->has_perf_lines) {
        bw_text_perf(out, result->shmem);
    }
    if (result->shmem->has_perf_lines && baseline != NULL) {
        bw_text_baseline_perf(out, baseline, op);
    }
    return is_whole;
}
