/* SPDX-License-Identifier: Apache-2.0 */
/* What the standard wants a round to cover, and what of it this run has covered. Pure. */
#include "json_value.h"
#include "suite.h"
#include "words.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct bw_shmem_point *bw_suite_point(const struct bw_testcase_result *result)
{
    const struct bw_shmem_result *shmem = result->shmem;

    if (result->suite == NULL || shmem == NULL || shmem->count == 0 ||
        result->verdict == VERDICT_FAILED || shmem->points[0].status != BW_OK ||
        shmem->points[0].rounds_checked == 0) {
        return NULL;
    }
    return &shmem->points[0];
}

int bw_suite_pes(const struct bw_run *run)
{
    return run->rank_count > 1 ? run->rank_count : run->device_count;
}

static void set(struct bw_suite_gate *gate, bool is_must, const char *name)
{
    *gate = (struct bw_suite_gate){.is_must = is_must, .is_met = true};
    (void)snprintf(gate->name, sizeof(gate->name), "%s", name);
}

/* One more thing that keeps it from being met. */
__attribute__((format(printf, 2, 3))) static void miss(struct bw_suite_gate *gate,
                                                       const char *format, ...)
{
    const size_t used = strlen(gate->why);
    va_list args;

    gate->is_met = false;
    if (used + 3 < sizeof(gate->why)) {
        (void)snprintf(gate->why + used, sizeof(gate->why) - used, "%s", used > 0 ? "; " : "");
        va_start(args, format);
        (void)vsnprintf(gate->why + strlen(gate->why), sizeof(gate->why) - strlen(gate->why),
                        format, args);
        va_end(args);
    }
}

static void miss_case(struct bw_suite_gate *gate, const struct bw_testcase_result *result)
{
    char *reason = bw_words_reason(result);

    miss(gate, "%s %s%s%.160s", result->suite->name, bw_words_verdict(result->verdict),
         reason != NULL ? ": " : "", reason != NULL ? reason : "");
    free(reason);
}

/* Cases of a size on all ranks: each has to be there. */
static void need_size(const struct bw_run *run, enum bw_suite_size size, struct bw_suite_gate *gate)
{
    const char *error = bw_run_error(run);
    size_t missing = 0;
    size_t count = 0;

    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];

        if (result->suite == NULL || result->suite->size != size || result->suite->ranks != 0) {
            continue;
        }
        count++;
        if (bw_suite_point(result) == NULL) {
            if (missing++ == 0) {
                miss_case(gate, result);
            }
        }
    }
    if (count == 0) {
        miss(gate, "none of its cases has begun%s%s", error != NULL ? ": " : "",
             error != NULL ? error : "");
    } else if (missing > 1) {
        miss(gate, "and %zu more of its %zu cases", missing - 1, count);
    }
}

static void set_large(const struct bw_run *run, struct bw_suite_gate *gate)
{
    const uint64_t bytes = run->suite_bytes;
    const int pes = bw_suite_pes(run);

    set(gate, true, "L: at least 64 MiB of each PE and 256 MB of all PEs");
    if (bytes < BW_SUITE_L_MIN || bytes * (uint64_t)pes < BW_SUITE_L_TOTAL) {
        miss(gate, "L is %llu bytes of each of %d PEs (-b)", (unsigned long long)bytes, pes);
    }
    need_size(run, SUITE_L, gate);
}

static void set_small(const struct bw_run *run, struct bw_suite_gate *gate)
{
    const struct bw_suite_case any = {.size = SUITE_S};
    const uint64_t bytes = bw_suite_bytes(&any, run->suite_bytes);

    set(gate, true, "S: 64 KiB to 1 MiB of each PE");
    if (bytes < BW_SUITE_S_MIN || bytes > BW_SUITE_S_MAX) {
        miss(gate, "S is %llu bytes, for L is no more (-b)", (unsigned long long)bytes);
    }
    need_size(run, SUITE_S, gate);
}

/* Both of the gates before it, on so many. */
static void set_eight(const struct bw_run *run, const struct bw_suite_gate *large,
                      const struct bw_suite_gate *small, struct bw_suite_gate *gate)
{
    const int pes = bw_suite_pes(run);

    set(gate, true, "S and L on 8 PEs");
    if (pes != 8) {
        miss(gate, "there are %d PEs%s", pes,
             pes > 8 ? " (choose 8 by CUDA_VISIBLE_DEVICES, or start 8 ranks)" : "");
    } else if (!large->is_met || !small->is_met) {
        miss(gate, "the gate of %s is not", large->is_met ? "S" : "L");
    }
}

static void set_pes(const struct bw_run *run, int pes, bool is_must, struct bw_suite_gate *gate)
{
    const struct bw_testcase_result *asked = NULL;
    char name[40];

    (void)snprintf(name, sizeof(name), "%d PEs", pes);
    set(gate, is_must, name);
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];
        const struct bw_shmem_point *point = bw_suite_point(result);

        if (point != NULL && point->ranks == pes) {
            return;
        }
        if (asked == NULL && result->suite != NULL && result->suite->ranks == pes) {
            asked = result;
        }
    }
    if (asked != NULL) {
        miss_case(gate, asked);
    } else {
        miss(gate, "no such case has begun");
    }
}

static void set_dtypes(const struct bw_run *run, struct bw_suite_gate *gate)
{
    bool has[BW_SHMEM_DTYPES] = {false};

    set(gate, true, "dtypes fp16, bf16, fp32, int32, int8");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_shmem_point *point = bw_suite_point(&run->testcases[i]);

        if (point != NULL) {
            has[point->dtype] = true;
        }
    }
    for (int d = 0; d < BW_SHMEM_DTYPES; d++) {
        if (!has[d]) {
            miss(gate, "no case of %s has valid data", bw_dtype_name((enum bw_shmem_dtype)d));
        }
    }
}

static void set_count(const struct bw_run *run, struct bw_suite_gate *gate)
{
    size_t count = 0;

    set(gate, true, "at least 20 cases");
    for (size_t i = 0; i < run->testcase_count; i++) {
        count += bw_suite_point(&run->testcases[i]) != NULL;
    }
    if (count < BW_SUITE_CASES_MIN) {
        miss(gate, "%zu cases have valid data", count);
    }
}

static void set_boundary(const struct bw_run *run, int boundary, struct bw_suite_gate *gate)
{
    size_t count = 0;
    char name[96] = "";

    for (size_t i = 0; i < bw_suite_shmem_count && name[0] == '\0'; i++) {
        if (bw_suite_boundary(&bw_suite_shmem[i]) == boundary) {
            (void)snprintf(name, sizeof(name), "B%d: %s", boundary, bw_suite_shmem[i].what);
        }
    }
    set(gate, true, name);
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];

        if (result->suite == NULL || bw_suite_boundary(result->suite) != boundary) {
            continue;
        }
        count++;
        if (bw_suite_point(result) == NULL) {
            miss_case(gate, result);
        }
    }
    if (count == 0) {
        miss(gate, "its case has not begun");
    }
}

static void set_correct(const struct bw_run *run, struct bw_suite_gate *gate)
{
    size_t count = 0;

    set(gate, true, "correctness first: every byte of every case that ran is right");
    for (size_t i = 0; i < run->testcase_count; i++) {
        const struct bw_testcase_result *result = &run->testcases[i];
        const bool has_run = result->suite != NULL && result->verdict != VERDICT_NOT_RUN;

        count += bw_suite_point(result) != NULL;
        if (has_run && (result->status == BW_ERR_VERIFY || result->status == BW_ERR_TIMEOUT)) {
            miss(gate, "%s", result->suite->name);
        }
    }
    if (count == 0) {
        miss(gate, "no case has valid data");
    }
}

void bw_suite_gates(const struct bw_run *run, struct bw_suite_gate gates[BW_SUITE_GATES])
{
    set_large(run, &gates[0]);
    set_small(run, &gates[1]);
    set_eight(run, &gates[0], &gates[1], &gates[2]);
    set_pes(run, 2, true, &gates[3]);
    set_pes(run, 4, false, &gates[4]);
    set_pes(run, 8, true, &gates[5]);
    set_dtypes(run, &gates[6]);
    set_count(run, &gates[7]);
    for (int b = 1; b <= BW_SUITE_BOUNDARIES; b++) {
        set_boundary(run, b, &gates[7 + b]);
    }
    set_correct(run, &gates[8 + BW_SUITE_BOUNDARIES]);
}

json_t *bw_json_suite(const struct bw_run *run)
{
    struct bw_suite_gate gates[BW_SUITE_GATES];
    json_t *object = json_object();
    json_t *list = json_array();

    bw_suite_gates(run, gates);
    for (int i = 0; i < BW_SUITE_GATES; i++) {
        json_t *gate = json_object();

        bw_json_set(gate, "gate", bw_json_text(gates[i].name));
        bw_json_set(gate, "required", json_boolean(gates[i].is_must));
        bw_json_set(gate, "met", json_boolean(gates[i].is_met));
        bw_json_set(gate, "reason", bw_json_text_or_null(gates[i].why));
        bw_json_add(list, gate);
    }
    bw_json_set(object, "name", bw_json_text("shmem"));
    bw_json_set(object, "large_bytes", bw_json_count(run->suite_bytes));
    bw_json_set(object, "gates", list);
    return object;
}

json_t *bw_json_suite_case(const struct bw_suite_case *c)
{
    json_t *object = json_object();

    bw_json_set(object, "case_id", bw_json_text(c->name));
    bw_json_set(object, "size", bw_json_text(bw_suite_size_name(c->size)));
    bw_json_set(object, "n_pes", c->ranks > 0 ? json_integer(c->ranks) : json_null());
    bw_json_set(object, "boundary",
                bw_suite_boundary(c) > 0 ? json_integer(bw_suite_boundary(c)) : json_null());
    bw_json_set(object, "what", bw_json_text(c->what));
    return object;
}
