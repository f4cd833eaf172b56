/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/log.h"
#include "bwtool/operators.h"
#include "bwtool/select.h"
#include "stderr_of.h"
#include "unit.h"

#include <string.h>

/* A selection and what building it said. */
struct selected {
    struct bw_options options;
    struct bw_selection selection;
    enum bw_status status;
    char said[4096];
};

static void split(struct bw_words *words, const char *line)
{
    char *copy = strdup(line);

    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        words->words = realloc(words->words, (words->count + 1) * sizeof *words->words);
        words->words[words->count++] = strdup(word);
    }
    free(copy);
}

static void select_words(struct selected *selected, const char *testcases, const char *prefixes,
                         int ranks, bool host_only, bool dry_run)
{
    struct stderr_of of = {0};

    *selected = (struct selected){.options.dry_run = dry_run};
    split(&selected->options.testcases, testcases);
    split(&selected->options.prefixes, prefixes);
    of = stderr_begin();
    selected->status =
        bw_selection_build(&selected->selection, &selected->options, ranks, host_only);
    stderr_end(&of, selected->said, sizeof selected->said);
}

static void selected_free(struct selected *selected)
{
    bw_selection_free(&selected->selection);
    bw_options_free(&selected->options);
    bw_log_fini();
}

/* The whole of a selection as "0 4 -1 ". */
static const char *indices(const struct bw_selection *selection)
{
    static char text[4096];
    size_t length = 0;

    text[0] = '\0';
    for (size_t i = 0; i < selection->count && length < sizeof text; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%d ",
                                   selection->choices[i].index);
    }
    return text;
}

static void check_named(const char *testcases, const char *wanted, size_t unknown)
{
    struct selected s;

    select_words(&s, testcases, "", 1, false, false);
    assert_int_equal(s.status, BW_OK);
    assert_string_equal(indices(&s.selection), wanted);
    assert_int_equal(s.selection.unknown_count, unknown);
    assert_int_equal(bw_log_error_count(), unknown);
    selected_free(&s);
}

static void names_and_indices_keep_their_order(void **state)
{
    (void)state;
    check_named("4 host_to_device_memcpy_ce 0", "4 0 0 ", 0);
    check_named("device_local_copy +34 34", "34 34 34 ", 0);
    check_named("multinode_bisect_write_ce 47", "47 47 ", 0);
    check_named("0 999 1 -1 nothing_like_it 2", "0 -1 1 -1 -1 2 ", 3);
    check_named("999", "-1 ", 1);
    check_named("99999999999999999999 -99999999999999999999", "-1 -1 ", 2);
    check_named("4294967296 18446744073709551616", "-1 -1 ", 2); /* not 0 */
    check_named("0x1 1.0 1e0 Device_Local_Copy device_local", "-1 -1 -1 -1 -1 ", 5);
}

static void every_row_is_found_by_name_and_index(void **state)
{
    (void)state;
    for (size_t i = 0; i < bw_testcase_count; i++) {
        char words[256];
        char wanted[64];

        snprintf(words, sizeof words, "%s %zu", bw_testcases[i].name, i);
        snprintf(wanted, sizeof wanted, "%zu %zu ", i, i);
        check_named(words, wanted, 0);
    }
}

static void unknown_choices_say_what_was_asked(void **state)
{
    struct selected s;

    (void)state;
    select_words(&s, "999 -3 nothing 7", "", 1, false, false);
    assert_true(s.selection.choices[0].is_number);
    assert_int_equal(s.selection.choices[0].number, 999);
    assert_string_equal(s.selection.choices[0].word, "999");
    assert_true(s.selection.choices[1].is_number);
    assert_int_equal(s.selection.choices[1].number, -3);
    assert_false(s.selection.choices[2].is_number);
    assert_string_equal(s.selection.choices[2].word, "nothing");
    assert_string_equal(s.selection.choices[3].word, "7");
    selected_free(&s);
}

static void a_near_name_is_suggested(void **state)
{
    char wanted[160];
    struct selected s;

    (void)state;
    select_words(&s, "device_local_cpy", "", 1, false, false);
    assert_string_equal(s.said, "bwtool: error: there is no testcase 'device_local_cpy': did you "
                                "mean 'device_local_copy'?\n");
    selected_free(&s);
    select_words(&s, "qqqq", "", 1, false, false);
    assert_string_equal(s.said, "bwtool: error: there is no testcase 'qqqq' (-l lists them)\n");
    selected_free(&s);
    select_words(&s, "1000", "", 1, false, false);
    snprintf(wanted, sizeof wanted,
             "bwtool: error: there is no testcase 1000: indices go from 0 to %zu (-l lists them)\n",
             bw_all_count() - 1);
    assert_string_equal(s.said, wanted);
    selected_free(&s);
}

static void prefixes_select_in_table_order(void **state)
{
    struct selected s;

    (void)state;
    select_words(&s, "", "one_to_all all_to_one all_to_one_write", 1, false, false);
    assert_int_equal(s.status, BW_OK);
    assert_string_equal(indices(&s.selection), "12 13 14 15 28 29 30 31 ");
    assert_string_equal(s.selection.choices[0].word, "all_to_one");
    assert_string_equal(s.selection.choices[2].word, "one_to_all");
    selected_free(&s);
    select_words(&s, "", "device_local_copy", 1, true, false);
    assert_int_equal(s.selection.choices[0].index, 34);
    selected_free(&s);
}

static void a_prefix_without_match_is_an_error(void **state)
{
    struct selected s;

    (void)state;
    select_words(&s, "", "one_to_all zzz", 1, false, false);
    assert_int_equal(s.status, BW_ERR_USAGE);
    assert_string_equal(s.said,
                        "bwtool: error: -p: no testcase starts with 'zzz' (-l lists them)\n");
    assert_int_equal(s.selection.count, 0);
    selected_free(&s);
    select_words(&s, "", "device_local_cpy", 1, false, false);
    assert_int_equal(s.status, BW_ERR_USAGE);
    assert_non_null(strstr(s.said, "did you mean 'device_local_copy'?"));
    selected_free(&s);
}

static void check_unasked(int ranks, bool host_only, bool dry_run, size_t count)
{
    struct selected s;

    select_words(&s, "", "", ranks, host_only, dry_run);
    assert_int_equal(s.status, BW_OK);
    assert_int_equal(s.selection.count, count);
    assert_int_equal(s.selection.unknown_count, 0);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(s.selection.choices[i].index, i);
        assert_null(s.selection.choices[i].word);
    }
    selected_free(&s);
}

static void without_words_the_rows_of_v08_run(void **state)
{
    (void)state;
    check_unasked(1, false, false, 35);
    check_unasked(2, false, false, 48);
    check_unasked(1, false, true, 48);
    check_unasked(1, true, true, 48);
}

static void without_a_gpu_the_host_testcases_run(void **state)
{
    struct selected s;

    (void)state;
    select_words(&s, "", "", 1, true, false);
    assert_true(s.selection.count >= 4);
    for (size_t i = 0; i < s.selection.count; i++) {
        assert_true(s.selection.choices[i].index >= BW_TESTCASE_V08_ALL);
        assert_true(bw_testcase_is_host(&bw_testcases[s.selection.choices[i].index]));
    }
    selected_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_indices_keep_their_order),
        cmocka_unit_test(every_row_is_found_by_name_and_index),
        cmocka_unit_test(unknown_choices_say_what_was_asked),
        cmocka_unit_test(a_near_name_is_suggested),
        cmocka_unit_test(prefixes_select_in_table_order),
        cmocka_unit_test(a_prefix_without_match_is_an_error),
        cmocka_unit_test(without_words_the_rows_of_v08_run),
        cmocka_unit_test(without_a_gpu_the_host_testcases_run),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
