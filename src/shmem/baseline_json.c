/* SPDX-License-Identifier: Apache-2.0 */
/* A point of the baseline, to JSON and back. What comes in was written by another process. */
#include "bwtool/baseline_json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *ranks_json(const double *values, int ranks)
{
    json_t *list = json_array();

    for (int r = 0; r < ranks && list != NULL; r++) {
        if (json_array_append_new(list, real_or_null(values[r])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *taken_json(const struct bw_baseline_point *point, enum bw_baseline_class kind,
                          enum bw_baseline_mode mode)
{
    const struct bw_baseline_taken *taken = &point->taken[kind][mode];

    if (!taken->is_there) {
        return json_pack("{s:s, s:s, s:n, s:o}", "class", bw_baseline_class_name(kind), "mode",
                         bw_baseline_mode_name(mode), "kernel_us", "reason",
                         text_or_null(taken->reason));
    }
    return json_pack("{s:s, s:s, s:f, s:f, s:f, s:o, s:i, s:I, s:o, s:n}", "class",
                     bw_baseline_class_name(kind), "mode", bw_baseline_mode_name(mode), "kernel_us",
                     taken->us, "min_us", taken->min_us, "max_us", taken->max_us, "cv",
                     real_or_null(taken->cv), "n", (int)taken->samples, "iterations",
                     (json_int_t)taken->iterations, "kernel_us_of_ranks",
                     ranks_json(taken->rank_us, point->ranks), "reason");
}

/* Only what is in doubt has it. */
static json_t *with_doubt(json_t *object, const struct bw_baseline_point *point)
{
    if (object != NULL && point->doubt[0] != '\0' &&
        json_object_set_new(object, "doubt", json_string(point->doubt)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *bw_baseline_point_json(const struct bw_baseline_point *point)
{
    json_t *ways = json_array();

    for (int k = 0; k < BASELINE_CLASSES && ways != NULL; k++) {
        for (int m = 0; m < BASELINE_MODES; m++) {
            if (json_array_append_new(ways, taken_json(point, (enum bw_baseline_class)k,
                                                       (enum bw_baseline_mode)m)) != 0) {
                json_decref(ways);
                return NULL;
            }
        }
    }
    return with_doubt(
        json_pack("{s:s, s:s, s:i, s:I, s:I, s:s, s:o, s:o, s:o, s:b, s:o, s:o}", "operator",
                  bw_shmem_formula(point->op)->name, "dtype", bw_dtype_name(point->dtype), "n_pes",
                  point->ranks, "shape_elements", (json_int_t)point->elements, "payload_bytes",
                  (json_int_t)point->payload_bytes, "api", point->api, "bus_factor",
                  real_or_null(point->bus_factor), "bus_factor_of_ranks",
                  point->is_counted ? ranks_json(point->rank_factor, point->ranks) : json_null(),
                  "route", text_or_null(point->route), "checked", (int)point->is_checked, "ways",
                  ways, "reason", text_or_null(point->reason)),
        point);
}

/* A member's text, cut to the room; false if it is neither a text nor null. */
static bool take_text(const json_t *object, const char *key, char *text, size_t room)
{
    const json_t *member = json_object_get(object, key);

    text[0] = '\0';
    if (json_is_null(member)) {
        return true;
    }
    (void)snprintf(text, room, "%s", json_is_string(member) ? json_string_value(member) : "");
    return json_is_string(member);
}

static bool take_count(const json_t *object, const char *key, json_int_t most, json_int_t *number)
{
    const json_t *member = json_object_get(object, key);

    *number = json_integer_value(member);
    return json_is_integer(member) && *number >= 0 && *number <= most;
}

static double number_of(const json_t *object, const char *key)
{
    const json_t *member = json_object_get(object, key);

    return json_is_number(member) ? json_number_value(member) : (double)NAN;
}

static bool find_op(const char *name, enum bw_shmem_op *op)
{
    for (int i = 0; i < SHMEM_OPS; i++) {
        if (strcmp(bw_shmem_formula((enum bw_shmem_op)i)->name, name) == 0) {
            *op = (enum bw_shmem_op)i;
            return true;
        }
    }
    return false;
}

static bool take_ranks(const json_t *list, int ranks, double *us)
{
    if (!json_is_array(list) || json_array_size(list) != (size_t)ranks) {
        return false;
    }
    for (int r = 0; r < ranks; r++) {
        const json_t *item = json_array_get(list, (size_t)r);

        us[r] = json_is_number(item) ? json_number_value(item) : (double)NAN;
    }
    return true;
}

static struct bw_baseline_taken *way_of(struct bw_baseline_point *point, const json_t *object)
{
    const char *kind = json_string_value(json_object_get(object, "class"));
    const char *mode = json_string_value(json_object_get(object, "mode"));

    for (int k = 0; k < BASELINE_CLASSES && kind != NULL && mode != NULL; k++) {
        for (int m = 0; m < BASELINE_MODES; m++) {
            if (strcmp(kind, bw_baseline_class_name((enum bw_baseline_class)k)) == 0 &&
                strcmp(mode, bw_baseline_mode_name((enum bw_baseline_mode)m)) == 0) {
                return &point->taken[k][m];
            }
        }
    }
    return NULL;
}

static bool take_way(const json_t *object, struct bw_baseline_point *point)
{
    struct bw_baseline_taken *taken = way_of(point, object);
    json_int_t samples = 0;
    json_int_t iterations = 0;

    if (taken == NULL || !take_text(object, "reason", taken->reason, sizeof(taken->reason))) {
        return false;
    }
    taken->us = number_of(object, "kernel_us");
    if (isnan(taken->us)) {
        return json_is_null(json_object_get(object, "kernel_us"));
    }
    taken->min_us = number_of(object, "min_us");
    taken->max_us = number_of(object, "max_us");
    taken->cv = number_of(object, "cv");
    if (!(taken->us > 0) || !take_count(object, "n", INT32_MAX, &samples) ||
        !take_count(object, "iterations", INT64_MAX, &iterations) ||
        !take_ranks(json_object_get(object, "kernel_us_of_ranks"), point->ranks, taken->rank_us)) {
        return false;
    }
    taken->samples = (unsigned)samples;
    taken->iterations = (unsigned long long)iterations;
    taken->is_there = true;
    return true;
}

bool bw_baseline_point_parse(const json_t *object, struct bw_baseline_point *point)
{
    const json_t *ways = json_object_get(object, "ways");
    char op[40], dtype[16];
    json_int_t ranks = 0;
    json_int_t elements = 0;
    json_int_t payload = 0;

    memset(point, 0, sizeof(*point));
    if (!take_text(object, "operator", op, sizeof(op)) || !find_op(op, &point->op) ||
        !take_text(object, "dtype", dtype, sizeof(dtype)) || !bw_dtype_find(dtype, &point->dtype) ||
        !take_count(object, "n_pes", BW_SHMEM_RANKS_MAX, &ranks) ||
        !take_count(object, "shape_elements", INT64_MAX, &elements) ||
        !take_count(object, "payload_bytes", INT64_MAX, &payload) ||
        !take_text(object, "api", point->api, sizeof(point->api)) ||
        !take_text(object, "route", point->route, sizeof(point->route)) ||
        !take_text(object, "reason", point->reason, sizeof(point->reason)) ||
        (json_object_get(object, "doubt") != NULL &&
         !take_text(object, "doubt", point->doubt, sizeof(point->doubt))) ||
        !json_is_array(ways)) {
        return false;
    }
    point->ranks = (int)ranks;
    point->elements = (uint64_t)elements;
    point->payload_bytes = (uint64_t)payload;
    point->bus_factor = number_of(object, "bus_factor");
    point->is_counted = json_is_array(json_object_get(object, "bus_factor_of_ranks"));
    if (point->is_counted && !take_ranks(json_object_get(object, "bus_factor_of_ranks"),
                                         point->ranks, point->rank_factor)) {
        return false;
    }
    point->is_checked = json_is_true(json_object_get(object, "checked"));
    for (size_t i = 0; i < json_array_size(ways); i++) {
        if (!take_way(json_array_get(ways, i), point)) {
            return false;
        }
    }
    return true;
}
