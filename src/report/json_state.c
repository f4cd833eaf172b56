/* SPDX-License-Identifier: Apache-2.0 */
#include "json_state.h"

#include "json_value.h"
#include "words.h"

#include "bwtool/state.h"

#include <math.h>
#include <stdlib.h>

static const char *const names[] = {
#define V(name) [NVML_##name] = #name,
    BW_NVML_LEVELS(V) BW_NVML_COUNTERS(V)
#undef V
};

void bw_json_set_peak(json_t *object, const struct bw_cell *cell)
{
    const struct bw_peak *peak = &cell->peak;

    if (peak->link == LINK_NONE && !isnan(peak->nominal_gb_per_s)) {
        return; /* never filled in */
    }
    bw_json_set(object, "link", bw_json_text_or_null(bw_link_name(peak->link)));
    bw_json_set(object, "nominal_gb_per_s", bw_json_real(peak->nominal_gb_per_s));
    bw_json_set(object, "bound_gb_per_s", bw_json_real(peak->bound_gb_per_s));
    bw_json_set(object, "percent_of_nominal",
                bw_json_real(100 * cell->value / peak->nominal_gb_per_s));
    bw_json_set(object, "percent_of_bound", bw_json_real(100 * cell->value / peak->bound_gb_per_s));
    bw_json_set(object, "peak_source", bw_json_text_or_null(peak->source));
    if (bw_peak_is_exceeded(peak, cell->value)) {
        bw_json_set(object, "above_bound", json_true());
    }
}

static json_t *values_of(const struct bw_nvml_values *values, int end)
{
    json_t *object = json_object();

    for (int i = BW_NVML_FIRST_LEVEL; i < end; i++) {
        bw_json_set(object, names[i],
                    values->of[i] < 0 ? json_null() : json_integer(values->of[i]));
    }
    return object;
}

/* Names of the bits that were set at some time; null if nobody could tell. */
static json_t *throttles_of(int64_t bits)
{
    json_t *list = NULL;

    if (bits < 0) {
        return json_null();
    }
    list = json_array();
    for (int i = 0; bw_state_throttle_name(i) != NULL; i++) {
        if ((bits >> i & 1) != 0) {
            bw_json_add(list, bw_json_text(bw_state_throttle_name(i)));
        }
    }
    return list;
}

static json_t *record_of(const struct bw_gpu_record *record, int gpu)
{
    json_t *object = json_object();

    bw_json_set(object, "gpu", json_integer(gpu));
    bw_json_set(object, "looks", json_integer(record->looks));
    bw_json_set(object, "other_processes",
                record->other_processes < 0 ? json_null() : json_integer(record->other_processes));
    bw_json_set(object, "throttled_by", throttles_of(record->high.of[NVML_throttle]));
    bw_json_set(object, "before", values_of(&record->before, BW_NVML_FIRST_TRAIT));
    bw_json_set(object, "after", values_of(&record->after, BW_NVML_FIRST_TRAIT));
    bw_json_set(object, "min", values_of(&record->low, BW_NVML_FIRST_COUNTER));
    bw_json_set(object, "max", values_of(&record->high, BW_NVML_FIRST_COUNTER));
    return object;
}

json_t *bw_json_state(const struct bw_testcase_result *result)
{
    json_t *list = NULL;

    if (result->records == NULL) {
        return json_null();
    }
    list = json_array();
    for (int i = 0; i < result->record_count; i++) {
        bw_json_add(list, record_of(&result->records[i], i));
    }
    return list;
}

json_t *bw_json_outliers(const struct bw_testcase_result *result, const struct bw_matrix *matrix)
{
    static const char *const kinds[] = {
        [OUTLIER_END] = "end",   [OUTLIER_ROW] = "row",   [OUTLIER_COL] = "column",
        [OUTLIER_PAIR] = "pair", [OUTLIER_CELL] = "cell",
    };
    json_t *list = json_array();

    for (size_t i = 0; i < matrix->outlier_count; i++) {
        const struct bw_outlier *outlier = &matrix->outliers[i];
        json_t *object = json_object();
        char *text = bw_words_outlier(result, matrix, outlier);

        bw_json_set(object, "kind", bw_json_text(kinds[outlier->kind]));
        bw_json_set(object, "row", outlier->row < 0 ? json_null() : json_integer(outlier->row));
        bw_json_set(object, "column", outlier->col < 0 ? json_null() : json_integer(outlier->col));
        bw_json_set(object, "median", bw_json_real(outlier->value));
        bw_json_set(object, "others", bw_json_real(outlier->others));
        bw_json_set(object, "text", bw_json_made(text));
        bw_json_add(list, object);
        free(text);
    }
    return list;
}
