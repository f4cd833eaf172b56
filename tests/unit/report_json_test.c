/* SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"
#include "stderr_of.h"
#include "texts.h"
#include "unit.h"

#include "bwtool/operators.h"

#include <jansson.h>

static bool is_update;

static void json_is_as_recorded(void **state)
{
    bool is_same = true;

    (void)state;
    for (int i = 0; i < FIXTURE_COUNT; i++) {
        char name[80];
        struct bw_run run;

        fixture_open(&fixtures[i], &run);
        bw_note("a note");
        bw_warn("a warning");
        snprintf(name, sizeof name, "%s.json", fixtures[i].name);
        is_same = golden_matches(name, fixture_print(&bw_report_json, &run), is_update) && is_same;
        fixture_close(&run);
    }
    assert_true(is_same);
}

/* A second reader, which knows nothing of ours. */
static void python_reads_it(void **state)
{
    (void)state;
    for (int i = 0; i < FIXTURE_COUNT; i++) {
        struct bw_run run;
        char *text = NULL;
        FILE *pipe = NULL;

        fixture_open(&fixtures[i], &run);
        text = fixture_print(&bw_report_json, &run);
        pipe = popen("python3 -m json.tool > /dev/null", "w");
        assert_non_null(pipe);
        fputs(text, pipe);
        assert_int_equal(pclose(pipe), 0);
        free(text);
        fixture_close(&run);
    }
}

static json_t *load(const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (root == NULL) {
        fprintf(stderr, "line %d: %s\n", error.line, error.text);
    }
    assert_non_null(root);
    return root;
}

/* A line that begins with `start`, after `at`; the rest of the text from there. */
static const char *find_line(const char *at, const char *start)
{
    for (; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, start, strlen(start)) == 0) {
            return at;
        }
    }
    return NULL;
}

static const char *next_line(const char *at)
{
    at = strchr(at, '\n');
    assert_non_null(at);
    return at + 1;
}

static void check_word(const char *word, const json_t *value)
{
    char expected[400] = "N/A";

    if (!json_is_null(value)) {
        assert_true(json_is_number(value));
        snprintf(expected, sizeof expected, "%.2f", json_number_value(value));
    }
    if (strcmp(word, expected) != 0) {
        /* 15 digits were kept: the last printed one may be rounded another way. */
        assert_true(fabs(strtod(word, NULL) - json_number_value(value)) <= 0.00501);
    }
}

/* The matrix that starts at its title line; returns what follows. */
static const char *check_matrix(const char *at, const json_t *matrix)
{
    const json_t *cells = json_object_get(matrix, "cells");
    const json_t *summary = json_object_get(matrix, "summary");
    const json_t *row = NULL, *cell = NULL;
    char start[200], word[400];
    size_t r = 0, c = 0;

    at = find_line(at, json_string_value(json_object_get(matrix, "title")));
    assert_non_null(at);
    at = next_line(at);
    assert_int_equal(json_array_size(cells), json_integer_value(json_object_get(matrix, "rows")));
    json_array_foreach(cells, r, row)
    {
        int used = 0;

        at = next_line(at);
        assert_int_equal(sscanf(at, "%399s%n", word, &used), 1); /* the label */
        json_array_foreach(row, c, cell)
        {
            at += used;
            assert_int_equal(sscanf(at, "%399s%n", word, &used), 1);
            check_word(word, json_object_get(cell, "value"));
        }
    }
    if (json_integer_value(json_object_get(summary, "n")) > 0) {
        snprintf(start, sizeof start, "\nSUM %s ",
                 json_string_value(json_object_get(matrix, "key")));
        at = strstr(at, start);
        assert_non_null(at);
        assert_int_equal(sscanf(at + strlen(start), "%399s", word), 1);
        check_word(word, json_object_get(summary, "sum"));
    }
    return at;
}

/* The other root's matrix of strings, and its sum. */
static void check_strings(const json_t *testcase, const json_t *matrix)
{
    const json_t *rows = json_object_get(testcase, "bandwidth_matrix");
    const json_t *cells = json_object_get(matrix, "cells");
    const json_t *sum = json_object_get(testcase, "sum");
    const json_t *row = NULL, *text = NULL;
    size_t r = 0, c = 0;

    assert_string_equal(json_string_value(json_object_get(testcase, "bandwidth_description")),
                        json_string_value(json_object_get(matrix, "title")));
    if (json_array_size(cells) == 0) {
        assert_null(rows); /* an empty one makes clients reject the document */
        return;
    }
    assert_int_equal(json_array_size(rows), json_array_size(cells));
    json_array_foreach(rows, r, row)
    {
        assert_int_equal(json_array_size(row), json_array_size(json_array_get(cells, r)));
        json_array_foreach(row, c, text)
        {
            const json_t *value =
                json_object_get(json_array_get(json_array_get(cells, r), c), "value");

            assert_true(json_is_string(text));
            if (json_is_null(value)) {
                assert_string_equal(json_string_value(text), "N/A");
            } else {
                const double number = json_number_value(value);

                assert_true(fabs(strtod(json_string_value(text), NULL) - number) <=
                            5.1e-6 * fabs(number));
            }
        }
    }
    if (sum != NULL) {
        assert_true(json_real_value(sum) ==
                    json_real_value(json_object_get(json_object_get(matrix, "summary"), "sum")));
    }
}

static void check_testcases(const char *text, const json_t *root)
{
    const json_t *ours = json_object_get(json_object_get(root, "bwtool"), "testcases");
    const json_t *theirs = json_object_get(json_object_get(root, "nvbandwidth"), "testcases");
    const json_t *testcase = NULL, *matrix = NULL;
    const char *at = text;
    size_t i = 0, m = 0;

    assert_int_equal(json_array_size(ours), json_array_size(theirs));
    json_array_foreach(ours, i, testcase)
    {
        const json_t *matrices = json_object_get(testcase, "matrices");
        const json_t *their = json_array_get(theirs, i);

        assert_string_equal(json_string_value(json_object_get(testcase, "name")),
                            json_string_value(json_object_get(their, "name")));
        json_array_foreach(matrices, m, matrix)
        {
            at = check_matrix(at, matrix);
        }
        if (m > 0 && json_array_size(matrices) > 0) {
            check_strings(their, json_array_get(matrices, json_array_size(matrices) - 1));
        }
    }
}

static void text_and_json_hold_the_same_numbers(void **state)
{
    (void)state;
    for (int i = 0; i < FIXTURE_COUNT; i++) {
        struct bw_run run;
        char *text = NULL, *document = NULL;
        json_t *root = NULL;

        fixture_open(&fixtures[i], &run);
        text = fixture_print(&bw_report_text, &run);
        document = fixture_print(&bw_report_json, &run);
        root = load(document);
        check_testcases(text, root);
        json_decref(root);
        free(text);
        free(document);
        fixture_close(&run);
    }
}

/* Whatever of it fails, clients find what they need. */
static void check_four_members(const char *text)
{
    json_t *root = load(text);
    const json_t *nvbandwidth = json_object_get(root, "nvbandwidth");

    assert_true(json_is_integer(json_object_get(nvbandwidth, "CUDA Runtime Version")));
    assert_true(json_is_string(json_object_get(nvbandwidth, "Driver Version")));
    assert_true(json_is_string(json_object_get(nvbandwidth, "git_version")));
    assert_true(json_is_array(json_object_get(nvbandwidth, "testcases")));
    json_decref(root);
}

static long allocations_left;

/* Only one fails: all after it would hide what is missing. */
static void *failing_malloc(size_t bytes)
{
    return allocations_left-- == 0 ? NULL : malloc(bytes);
}

/* The document is whole, or the one that says why there is none. */
static void document_survives_lack_of_memory(void **state)
{
    struct bw_run run;
    char *whole = NULL;
    bool is_over = false;
    int failures = 0;

    (void)state;
    fixture_open(&(struct fixture){.fill = fixture_failed}, &run);
    whole = fixture_print(&bw_report_json, &run);
    for (long count = 0; !is_over; count += count < 40 ? 1 : 11) {
        struct stderr_of said = stderr_begin();
        char words[200];
        char *text = NULL;

        bw_log_fini(); /* or the message of one round would be in the next one's document */
        bw_log_init(true, false);
        allocations_left = count;
        json_set_alloc_funcs(failing_malloc, free);
        text = fixture_print(&bw_report_json, &run);
        json_set_alloc_funcs(malloc, free);
        stderr_end(&said, words, sizeof words);
        is_over = allocations_left >= 0;
        check_four_members(text);
        if (words[0] != '\0') {
            failures++;
            assert_non_null(strstr(text, "not enough host memory for the JSON document"));
        } else {
            assert_string_equal(text, whole);
        }
        free(text);
    }
    assert_true(failures > 40);
    free(whole);
    fixture_close(&run);
}

/* A text that could not be made is none that nothing had to be said in. */
static void document_survives_lack_of_texts(void **state)
{
    struct bw_run run;
    bool is_over = false;
    int failures = 0;

    (void)state;
    fixture_open(&(struct fixture){.fill = fixture_one}, &run);
    for (unsigned long number = 1; !is_over; number++) {
        struct stderr_of said = stderr_begin();
        char words[200];
        char *text = NULL;

        bw_log_fini();
        bw_log_init(true, false);
        failing_text = number;
        text = fixture_print(&bw_report_json, &run);
        is_over = failing_text > 0;
        failing_text = 0;
        stderr_end(&said, words, sizeof words);
        failures += !is_over;
        if (!is_over && strstr(text, "not enough host memory for the JSON document") == NULL) {
            fail_msg("without text %lu the document is as if whole", number);
        }
        free(text);
    }
    assert_true(failures > 6);
    fixture_close(&run);
}

static bool all_finite(const json_t *value)
{
    const char *key = NULL;
    const json_t *inner = NULL;
    size_t i = 0;

    switch (json_typeof(value)) {
    case JSON_OBJECT:
        json_object_foreach((json_t *)(uintptr_t)value, key, inner)
        {
            if (!all_finite(inner)) {
                return false;
            }
        }
        return true;
    case JSON_ARRAY:
        json_array_foreach(value, i, inner)
        {
            if (!all_finite(inner)) {
                return false;
            }
        }
        return true;
    case JSON_REAL:
        return isfinite(json_real_value(value));
    case JSON_STRING:
        return strcmp(json_string_value(value), "N/A") != 0; /* null says it here */
    case JSON_INTEGER:
    case JSON_TRUE:
    case JSON_FALSE:
    case JSON_NULL:
        break;
    }
    return true;
}

static void own_root_has_numbers_or_null(void **state)
{
    (void)state;
    for (int i = 0; i < FIXTURE_COUNT; i++) {
        struct bw_run run;
        char *text = NULL;
        json_t *root = NULL;

        fixture_open(&fixtures[i], &run);
        text = fixture_print(&bw_report_json, &run);
        check_four_members(text);
        root = load(text);
        assert_true(all_finite(json_object_get(root, "bwtool")));
        assert_int_equal(
            json_integer_value(json_object_get(json_object_get(root, "bwtool"), "exit_status")),
            run.exit_status);
        json_decref(root);
        free(text);
        fixture_close(&run);
    }
}

static void samples_come_with_verbose_only(void **state)
{
    (void)state;
    for (int verbose = 0; verbose < 2; verbose++) {
        struct bw_run run;
        char *text = NULL;

        fixture_open(&(struct fixture){.fill = fixture_two}, &run);
        run.verbose = verbose == 1;
        text = fixture_print(&bw_report_json, &run);
        assert_int_equal(strstr(text, "\"samples\": [") != NULL, verbose);
        free(text);
        fixture_close(&run);
    }
}

static char *list(bool as_json)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    assert_non_null(out);
    bw_report_list(out, as_json);
    fclose(out);
    return text;
}

static void list_has_every_testcase(void **state)
{
    char *text = list(false);
    char *document = list(true);
    json_t *root = load(document);
    const char *at = find_line(text, "Index, Name:\n\tDescription\n=======================\n");

    (void)state;
    assert_non_null(at);
    assert_memory_equal(text, "bwtool Version: v", 17);
    assert_int_equal(json_array_size(root), bw_all_count()); /* operators follow */
    for (size_t i = 0; i < bw_testcase_count; i++) {
        const json_t *entry = json_array_get(root, i);
        const struct bw_testcase *tc = &bw_testcases[i];
        char start[120];

        snprintf(start, sizeof start, "%zu, %s:\n\t", i, tc->name);
        at = find_line(at, start);
        assert_non_null(at);
        assert_true(at[strlen(start)] > ' ');
        assert_int_equal(json_integer_value(json_object_get(entry, "index")), i);
        assert_string_equal(json_string_value(json_object_get(entry, "name")), tc->name);
        assert_true(strlen(json_string_value(json_object_get(entry, "description"))) > 10);
        assert_string_equal(json_string_value(json_object_get(entry, "unit")),
                            tc->op == OP_CHASE ? "ns" : "GB/s");
        assert_true(json_is_array(json_object_get(entry, "needs")));
        assert_int_equal(json_array_size(json_object_get(entry, "needs")),
                         __builtin_popcount(bw_testcase_needs(tc)));
    }
    assert_string_equal(text + strlen(text) - 3, "\n\n\n");
    json_decref(root);
    free(text);
    free(document);
}

/* Definitions are derived: two testcases with different traffic must not share one. */
static void definitions_tell_testcases_apart(void **state)
{
    char *document = list(true);
    json_t *root = load(document);

    (void)state;
    for (size_t i = 0; i < bw_testcase_count; i++) {
        const char *mine =
            json_string_value(json_object_get(json_array_get(root, i), "definition"));

        assert_true(strlen(mine) < 600);
        for (size_t j = i + 1; j < bw_testcase_count; j++) {
            const char *other =
                json_string_value(json_object_get(json_array_get(root, j), "definition"));

            if (bw_testcase_is_multinode(&bw_testcases[i]) ==
                bw_testcase_is_multinode(&bw_testcases[j])) {
                if (strcmp(mine, other) == 0) {
                    fprintf(stderr, "%s and %s: %s\n", bw_testcases[i].name, bw_testcases[j].name,
                            mine);
                }
                assert_string_not_equal(mine, other);
            }
        }
    }
    json_decref(root);
    free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_is_as_recorded),
        cmocka_unit_test(python_reads_it),
        cmocka_unit_test(text_and_json_hold_the_same_numbers),
        cmocka_unit_test(document_survives_lack_of_memory),
        cmocka_unit_test(document_survives_lack_of_texts),
        cmocka_unit_test(own_root_has_numbers_or_null),
        cmocka_unit_test(samples_come_with_verbose_only),
        cmocka_unit_test(list_has_every_testcase),
        cmocka_unit_test(definitions_tell_testcases_apart),
    };

    is_update = golden_is_update();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
