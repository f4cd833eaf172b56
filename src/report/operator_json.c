/* SPDX-License-Identifier: Apache-2.0 */
#include "comparison.h"
#include "json_value.h"
#include "operator.h"

#include <math.h>

static json_t *stats_of(const struct bw_stats *stats)
{
    json_t *object = json_object();

    bw_json_set(object, "n", json_integer((json_int_t)stats->n));
    bw_json_set(object, "median", bw_json_real(stats->median));
    bw_json_set(object, "mean", bw_json_real(stats->mean));
    bw_json_set(object, "min", bw_json_real(stats->min));
    bw_json_set(object, "max", bw_json_real(stats->max));
    bw_json_set(object, "p5", bw_json_real(stats->p5));
    bw_json_set(object, "p95", bw_json_real(stats->p95));
    bw_json_set(object, "cv", bw_json_real(stats->cv));
    return object;
}

static json_t *ranks_of(const double *values, int count)
{
    json_t *list = json_array();

    for (int i = 0; i < count; i++) {
        bw_json_add(list, bw_json_real(values[i]));
    }
    return list;
}

/* The case: what ran, so that it can be run again. */
static void set_case(json_t *object, const struct bw_shmem_point *p)
{
    bw_json_set(object, "algorithm", bw_json_text(bw_algorithm_name(p->row->algorithm)));
    bw_json_set(object, "row", bw_json_text(p->row->tc.name));
    bw_json_set(object, "engine", bw_json_text(bw_engine_name(p->row->tc.engine)));
    bw_json_set(object, "placement", bw_json_text(bw_placement_name(p->placement)));
    bw_json_set(object, "schedule", bw_json_text(p->row->schedule));
    bw_json_set(object, "dtype", bw_json_text(bw_dtype_name(p->dtype)));
    bw_json_set(object, "reduction",
                bw_json_text(bw_shmem_formula(p->row->op)->is_sum ? "sum" : "none"));
    bw_json_set(object, "n_pes", json_integer(p->ranks));
    bw_json_set(object, "shape_elements", bw_json_count(p->elements));
    bw_json_set(object, "ctas", json_integer(p->ctas));
    bw_json_set(object, "default_ctas", json_integer(p->default_ctas));
    bw_json_set(object, "threads", json_integer(p->threads));
    bw_json_set(object, "dependent_launch", json_boolean(p->has_pdl));
    bw_json_set(object, "warm_up", json_integer(p->warm));
    bw_json_set(object, "iterations", bw_json_count(p->iterations));
    bw_json_set(object, "rounds_checked", json_integer(p->rounds_checked));
}

static void set_figures(json_t *object, const struct bw_shmem_result *shmem,
                        const struct bw_shmem_point *p)
{
    const struct bw_shmem_figures *f = &p->figures;

    bw_json_set(object, "payload_bytes", bw_json_count(f->payload_bytes));
    bw_json_set(object, "payload_basis", bw_json_text(bw_shmem_formula(p->row->op)->basis));
    bw_json_set(object, "e2e_us", bw_json_real(f->e2e_us));
    bw_json_set(object, "kernel_us", bw_json_real(f->kernel_us));
    bw_json_set(object, "algo_bandwidth_GBps", bw_json_real(f->algo_gb_per_s));
    bw_json_set(object, "kernel_algo_bandwidth_GBps", bw_json_real(f->kernel_algo_gb_per_s));
    bw_json_set(object, "e2e_bus_bandwidth_GBps", bw_json_real(f->e2e_bus_gb_per_s));
    bw_json_set(object, "kernel_bus_bandwidth_GBps", bw_json_real(f->kernel_bus_gb_per_s));
    bw_json_set(object, "bandwidth_utilization_pct", bw_json_real(f->utilization_pct));
    bw_json_set(object, "bus_factor", bw_json_real(f->bus_factor));
    bw_json_set(object, "bus_factor_src", bw_json_text(bw_shmem_formula(p->row->op)->factor));
    bw_json_set(object, "peak_bandwidth_GBps", bw_json_real(f->peak_gb_per_s));
    bw_json_set(object, "peak_kind",
                shmem->peak_kind[0] != '\0' ? bw_json_text(shmem->peak_kind) : json_null());
    bw_json_set(object, "peak_source",
                shmem->peak_source[0] != '\0' ? bw_json_text(shmem->peak_source) : json_null());
    bw_json_set(object, "wire_bytes_sent", bw_json_count(p->bytes.sent));
    bw_json_set(object, "wire_bytes_recv", bw_json_count(p->bytes.received));
    bw_json_set(object, "local_bytes", bw_json_count(p->bytes.local));
    bw_json_set(object, "op_count", bw_json_real(p->operations));
    bw_json_set(object, "op_count_formula", bw_json_text(bw_shmem_operations_formula(p->row->op)));
}

static json_t *bytes_of_ranks(const struct bw_shmem_point *p)
{
    json_t *list = json_array();

    for (int r = 0; r < p->ranks; r++) {
        json_t *bytes = json_object();

        bw_json_set(bytes, "sent", bw_json_count(p->rank_bytes[r].sent));
        bw_json_set(bytes, "received", bw_json_count(p->rank_bytes[r].received));
        bw_json_set(bytes, "local", bw_json_count(p->rank_bytes[r].local));
        bw_json_add(list, bytes);
    }
    return list;
}

/* What makes the same routes again, and what was counted of them. */
static void set_route(json_t *object, const struct bw_shmem_point *p)
{
    json_t *route = json_object();

    bw_json_set(route, "tokens", json_integer(p->route.tokens));
    bw_json_set(route, "hidden", json_integer(p->route.hidden));
    bw_json_set(route, "top_k", json_integer(p->route.top_k));
    bw_json_set(route, "experts_per_rank", json_integer(p->route.experts));
    bw_json_set(route, "skew",
                isinf(p->route.skew) ? bw_json_text("one") : bw_json_real(p->route.skew));
    bw_json_set(route, "seed", bw_json_count(p->route.seed));
    if (p->rank_bytes != NULL) {
        bw_json_set(route, "bus_factor_rank", json_integer(p->busiest));
        bw_json_set(route, "bytes_of_ranks", bytes_of_ranks(p));
    }
    bw_json_set(object, "route", route);
}

static void set_times(json_t *object, const struct bw_shmem_point *p)
{
    bw_json_set(object, "e2e_us_slowest_rank", stats_of(&p->e2e_us));
    bw_json_set(object, "kernel_us_slowest_rank", stats_of(&p->kernel_us));
    bw_json_set(object, "e2e_us_mean_of_ranks", bw_json_real(p->mean_e2e_us));
    bw_json_set(object, "kernel_us_mean_of_ranks", bw_json_real(p->mean_kernel_us));
    bw_json_set(object, "staging_us", bw_json_real(p->staging_us));
    bw_json_set(object, "kernel_us_of_ranks", ranks_of(p->rank_kernel_us, p->ranks));
    bw_json_set(object, "e2e_us_of_ranks",
                ranks_of(p->rank_e2e_us != NULL ? p->rank_e2e_us : p->rank_kernel_us, p->ranks));
}

static json_t *point_of(const struct bw_testcase_result *result, size_t index)
{
    const struct bw_shmem_result *shmem = result->shmem;
    const struct bw_shmem_point *p = &shmem->points[index];
    json_t *object = json_object();

    bw_json_set(object, "case_id", json_integer((json_int_t)index));
    set_case(object, p);
    set_figures(object, shmem, p);
    if (p->route.ranks > 0) {
        set_route(object, p);
    }
    if (p->status == BW_OK && p->rank_kernel_us != NULL) {
        set_times(object, p);
    }
    bw_json_set(object, "pass", bw_json_text(bw_words_pass(p->pass)));
    if (bw_operator_doubt(result, index) != NULL) {
        bw_json_set(object, "doubt", bw_json_text(bw_operator_doubt(result, index)));
    }
    if (shmem->baseline != NULL) {
        bw_json_set(object, "baseline", bw_json_case_baseline(shmem, p));
    }
    bw_json_set(object, "is_best_grid", json_boolean(bw_operator_best(shmem, index) == index));
    if (p->frames != NULL) {
        bw_json_set(object, "frames", bw_json_frames(p));
    }
    bw_json_set(object, "reason", bw_json_text(p->reason));
    return object;
}

json_t *bw_json_operator(const struct bw_testcase_result *result)
{
    json_t *object = json_object();
    json_t *points = json_array();

    for (size_t i = 0; i < result->shmem->count; i++) {
        bw_json_add(points, point_of(result, i));
    }
    bw_json_set(object, "operator",
                bw_json_text(bw_shmem_formula(bw_operator_of(result->tc)->op)->name));
    bw_json_set(object, "cases", points);
    if (result->shmem->baseline != NULL) {
        bw_json_set(object, "baselines",
                    bw_json_baselines(result->shmem->baseline, bw_operator_of(result->tc)->op));
    }
    return object;
}
