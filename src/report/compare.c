/* SPDX-License-Identifier: Apache-2.0 */
/* Operators in one JSON file against the baseline in another. What is read was written by hand,
 * for all that is known. */
#include "bwtool/compare.h"

#include "comparison.h"
#include "json_value.h"
#include "operator.h"

#include "bwtool/baseline_json.h"
#include "bwtool/log.h"

#include <stdlib.h>
#include <string.h>

struct file {
    const char *name;
    json_t *document;
    const json_t *root;          /* its "bwtool" */
    struct bw_baseline baseline; /* of all its operators */
    size_t cases;                /* of operators that ran */
    size_t left_out;             /* and those that did not */
    size_t failed;               /* testcases of operators that failed, or could not be run */
};

/* Calls `take` for each member of each testcase's list of that name. */
typedef enum bw_status take_member(void *to, const json_t *member);
static enum bw_status for_each(const struct file *file, const char *list, take_member *take,
                               void *to)
{
    const json_t *testcases = json_object_get(file->root, "testcases");
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < json_array_size(testcases); i++) {
        const json_t *members =
            json_object_get(json_object_get(json_array_get(testcases, i), "operator"), list);

        for (size_t k = 0; k < json_array_size(members); k++) {
            TRY(take(to, json_array_get(members, k)));
        }
    }
out:
    return st;
}

static enum bw_status take_point(void *to, const json_t *member)
{
    struct file *file = to;
    struct bw_baseline_point *point = bw_baseline_add(&file->baseline);

    if (point == NULL) {
        return BW_ERR_MEMORY;
    }
    if (!bw_baseline_point_parse(member, point)) {
        bw_error("--compare: %s: entry %zu of its baselines is not of the form that bwtool writes",
                 file->name, file->baseline.count);
        return BW_ERR_USAGE;
    }
    return BW_OK;
}

static bool has_run(const json_t *member)
{
    return json_is_number(json_object_get(member, "kernel_us"));
}

static enum bw_status count_case(void *to, const json_t *member)
{
    struct file *file = to;

    file->cases += has_run(member);
    file->left_out += !has_run(member);
    return BW_OK;
}

static void count_failed(struct file *file)
{
    const json_t *testcases = json_object_get(file->root, "testcases");

    for (size_t i = 0; i < json_array_size(testcases); i++) {
        const json_t *testcase = json_array_get(testcases, i);
        const char *verdict = bw_json_text_of(testcase, "verdict");

        file->failed += bw_operator_find(bw_json_text_of(testcase, "name")) >= 0 &&
                        (strcmp(verdict, "failed") == 0 || strcmp(verdict, "not_run") == 0);
    }
}

static enum bw_status open_file(struct file *file, const char *name)
{
    json_error_t error;
    enum bw_status st = BW_OK;

    file->name = name;
    file->document = json_load_file(name, 0, &error);
    if (file->document == NULL) {
        bw_error("--compare: %s: %s", name, error.text);
        return BW_ERR_USAGE;
    }
    file->root = json_object_get(file->document, "bwtool");
    if (!json_is_object(file->root)) {
        bw_error("--compare: %s has no member 'bwtool': it must be what 'bwtool -j' printed", name);
        return BW_ERR_USAGE;
    }
    TRY(for_each(file, "baselines", take_point, file));
    TRY(for_each(file, "cases", count_case, file));
    count_failed(file);
out:
    return st;
}

static void close_file(struct file *file)
{
    bw_baseline_free(&file->baseline);
    json_decref(file->document);
}

/* The names of the GPUs must be the same, and as many. */
static enum bw_status check_gpus(const struct file *a, const struct file *b)
{
    const json_t *ours = json_object_get(a->root, "devices");
    const json_t *theirs = json_object_get(b->root, "devices");
    const size_t count = json_array_size(ours);

    for (size_t i = 0; i < count && i < json_array_size(theirs); i++) {
        const char *name = bw_json_text_of(json_array_get(ours, i), "name");
        const char *other = bw_json_text_of(json_array_get(theirs, i), "name");

        if (strcmp(name, other) != 0) {
            bw_error("--compare: other GPUs: GPU %zu is '%s' in %s and '%s' in %s", i, name,
                     a->name, other, b->name);
            return BW_ERR_USAGE;
        }
    }
    if (count != json_array_size(theirs) || count == 0) {
        bw_error("--compare: other GPUs: %s has %zu, and %s has %zu", a->name, count, b->name,
                 json_array_size(theirs));
        return BW_ERR_USAGE;
    }
    return BW_OK;
}

struct joining {
    const struct file *operators, *baseline;
    struct bw_comparison *rows;
    size_t count;
    struct bw_compare_result *result;
};

static enum bw_status join_case(void *to, const json_t *member)
{
    struct joining *j = to;
    struct bw_comparison *row = &j->rows[j->count];

    if (!has_run(member)) {
        return BW_OK;
    }
    if (!bw_comparison_read(row, member, &j->baseline->baseline)) {
        bw_error("--compare: %s: a case of its operators is not of the form that bwtool writes",
                 j->operators->name);
        return BW_ERR_USAGE;
    }
    j->count++;
    j->result->refused += row->is_refused;
    j->result->compared += row->has_baseline;
    j->result->unreliable += !row->is_refused && row->doubt[0] != '\0';
    j->result->below += !row->is_refused && row->pass == SHMEM_BELOW;
    return BW_OK;
}

static enum bw_status print_json(const struct joining *j, const char *version, FILE *out)
{
    json_t *document = json_object();
    json_t *list = json_array();

    for (size_t i = 0; i < j->count; i++) {
        const struct bw_comparison *row = &j->rows[i];
        json_t *object = json_object();

        bw_json_set(object, "metric", bw_json_text(row->metric));
        bw_json_set(object, "placement", bw_json_text(bw_placement_name(row->placement)));
        bw_json_set(object, "kernel_bus_bandwidth_GBps",
                    bw_json_real(row->shmem.kernel_bus_gb_per_s));
        bw_json_set(object, "e2e_bus_bandwidth_GBps", bw_json_real(row->shmem.e2e_bus_gb_per_s));
        bw_json_set(object, "e2e_us", bw_json_real(row->shmem.e2e_us));
        bw_json_set(object, "kernel_us", bw_json_real(row->shmem.kernel_us));
        bw_json_set(object, "pass",
                    bw_json_text(row->is_refused ? "refused" : bw_words_pass(row->pass)));
        bw_json_set(object, "baseline", bw_json_comparison(row));
        bw_json_add(list, object);
    }
    bw_json_set(document, "operators", bw_json_text(j->operators->name));
    bw_json_set(document, "baseline", bw_json_text(j->baseline->name));
    bw_json_set(document, "nccl_version", bw_json_text_or_null(version));
    bw_json_set(document, "compared", json_integer(j->result->compared));
    bw_json_set(document, "below", json_integer(j->result->below));
    bw_json_set(document, "unreliable", json_integer(j->result->unreliable));
    bw_json_set(document, "refused", json_integer(j->result->refused));
    bw_json_set(document, "left_out", json_integer((json_int_t)j->operators->left_out));
    bw_json_set(document, "failed_testcases", json_integer(j->result->failed));
    bw_json_set(document, "comparison", list);
    if (!bw_json_print(out, document)) {
        json_decref(document);
        return bw_errno("no memory for the comparison");
    }
    json_decref(document);
    return BW_OK;
}

static enum bw_status join(struct joining *j, bool as_json, FILE *out)
{
    const char *version =
        bw_json_text_of(json_object_get(j->baseline->root, "baseline"), "nccl_version");
    enum bw_status st = BW_OK;

    if (j->baseline->baseline.count == 0) {
        bw_error("--compare: neither file has a baseline: one must be of 'bwtool --baseline "
                 "nccl-only -j' (or nccl)");
        return BW_ERR_USAGE;
    }
    j->result->failed = (unsigned)j->operators->failed;
    if (j->operators->cases == 0 && j->operators->failed == 0) {
        bw_error("--compare: %s has no operator that was measured", j->operators->name);
        return BW_ERR_USAGE;
    }
    TRY(check_gpus(j->operators, j->baseline));
    if (j->operators->failed > 0) {
        bw_error("--compare: %zu testcases of %s failed, or were not run: not all was measured",
                 j->operators->failed, j->operators->name);
    }
    if (j->operators->left_out > 0) {
        bw_warn("--compare: %zu cases of %s have no value: they are left out",
                j->operators->left_out, j->operators->name);
    }
    j->rows = calloc(j->operators->cases + 1, sizeof(*j->rows));
    if (j->rows == NULL) {
        return bw_errno("no memory for %zu cases", j->operators->cases);
    }
    TRY(for_each(j->operators, "cases", join_case, j));
    if (as_json) {
        TRY(print_json(j, version, out));
    } else {
        bw_text_comparison(out, j->rows, j->count, version);
    }
out:
    free(j->rows);
    return st;
}

enum bw_status bw_compare_files(const char *first, const char *second, bool as_json, FILE *out,
                                struct bw_compare_result *result)
{
    struct file files[2] = {{.name = NULL}, {.name = NULL}};
    struct joining j = {.result = result};
    enum bw_status st = BW_OK;

    TRY(open_file(&files[0], first));
    TRY(open_file(&files[1], second));
    /* The first that has one, unless the second has no operators to be held against it. */
    j.baseline =
        files[0].baseline.count > 0 && !(files[1].baseline.count > 0 && files[1].cases == 0)
            ? &files[0]
            : &files[1];
    j.operators = j.baseline == &files[0] ? &files[1] : &files[0];
    TRY(join(&j, as_json, out));
out:
    close_file(&files[0]);
    close_file(&files[1]);
    return st;
}
