/* SPDX-License-Identifier: Apache-2.0 */
#include "golden.h"
#include "stderr_of.h"
#include "texts.h"
#include "unit.h"

#include <sys/stat.h>

static bool is_update;

static void text_is_as_recorded(void **state)
{
    bool is_same = true;

    (void)state;
    for (int i = 0; i < FIXTURE_COUNT; i++) {
        char name[80];
        struct bw_run run;

        fixture_open(&fixtures[i], &run);
        snprintf(name, sizeof name, "%s.text", fixtures[i].name);
        is_same = golden_matches(name, fixture_print(&bw_report_text, &run), is_update) && is_same;
        fixture_close(&run);
    }
    assert_true(is_same);
}

static void perf_is_as_recorded(void **state)
{
    struct bw_run run;

    (void)state;
    fixture_open(&(struct fixture){.fill = fixture_two_verbose}, &run);
    assert_true(
        golden_matches("two_verbose.perf", fixture_print(&bw_report_perf, &run), is_update));
    fixture_close(&run);
}

/* Perf differs from text by its SUM lines and by nothing else. */
static void perf_is_text_with_other_sums(void **state)
{
    (void)state;
    for (int i = 0; i < FIXTURE_COUNT; i++) {
        struct bw_run run;
        char *text = NULL, *perf = NULL, *save_text = NULL, *save_perf = NULL;

        fixture_open(&fixtures[i], &run);
        text = fixture_print(&bw_report_text, &run);
        perf = fixture_print(&bw_report_perf, &run);
        for (char *a = strtok_r(text, "\n", &save_text), *b = strtok_r(perf, "\n", &save_perf);
             a != NULL || b != NULL;
             a = strtok_r(NULL, "\n", &save_text), b = strtok_r(NULL, "\n", &save_perf)) {
            assert_non_null(a);
            assert_non_null(b);
            if (strncmp(a, "SUM ", 4) == 0) {
                const size_t length = strlen(a + 4);

                assert_memory_equal(b, "&&&& PERF ", 10);
                assert_memory_equal(b + 10, a + 4, length);
                assert_true(strcmp(b + 10 + length, " +GB/s") == 0 ||
                            (strstr(a, "latency") != NULL && strcmp(b + 10 + length, " -ns") == 0));
            } else {
                assert_string_equal(a, b);
            }
        }
        free(text);
        free(perf);
        fixture_close(&run);
    }
}

static bool is_summary_line(const char *line)
{
    return strncmp(line, "SUM ", 4) == 0 || strncmp(line, "MIN ", 4) == 0 ||
           strncmp(line, "MAX ", 4) == 0 || strncmp(line, "AVG ", 4) == 0 ||
           strncmp(line, "COEFFICIENT_OF_VARIATION ", 25) == 0;
}

/* Whatever else there is to say is said elsewhere. */
static void nothing_follows_the_last_sums(void **state)
{
    static void (*const fills[])(struct bw_run *) = {fixture_two, fixture_two_verbose,
                                                     fixture_eight, fixture_simulated};

    (void)state;
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        struct bw_run run;
        char *text = NULL, *save = NULL, *last = NULL;
        bool has_note = false;

        fixture_open(&(struct fixture){.fill = fills[i]}, &run);
        text = fixture_print(&bw_report_text, &run);
        for (char *line = strtok_r(text, "\n", &save); line != NULL;
             line = strtok_r(NULL, "\n", &save)) {
            last = line;
            assert_null(strstr(line, "NOTE"));
        }
        assert_non_null(last);
        assert_true(is_summary_line(last));
        for (size_t m = 0; m < bw_log_count(); m++) {
            has_note = has_note || bw_log_level_at(m) == LOG_NOTE;
        }
        assert_true(has_note);
        free(text);
        fixture_close(&run);
    }
}

static void what_was_not_run_is_said_on_stderr(void **state)
{
    struct bw_run run;
    char *text = NULL;
    bool has_said = false;

    (void)state;
    fixture_open(&(struct fixture){.fill = fixture_failed}, &run);
    text = fixture_print(&bw_report_text, &run);
    assert_null(strstr(text, "not run"));
    assert_null(strstr(text, "device_local_copy"));
    for (size_t i = 0; i < bw_log_count(); i++) {
        has_said = has_said || strcmp(bw_log_text_at(i),
                                      "device_local_copy: not run: a GPU's context is lost") == 0;
    }
    assert_true(has_said);
    free(text);
    fixture_close(&run);
}

static void small_buffer_is_noted(void **state)
{
    (void)state;
    for (int is_small = 0; is_small < 2; is_small++) {
        struct bw_run run;
        bool has_said = false;

        fixture_open(&(struct fixture){.fill = fixture_one}, &run);
        run.sampling.buffer_bytes = is_small ? (512u << 20) - 1 : 512u << 20;
        free(fixture_print(&bw_report_text, &run));
        for (size_t i = 0; i < bw_log_count(); i++) {
            has_said = has_said || strstr(bw_log_text_at(i), "smaller than 512 MiB") != NULL;
        }
        assert_int_equal(has_said, is_small);
        fixture_close(&run);
    }
}

/* Rows are lines of a label and as many values as there are columns, whatever their size. */
static void cells_never_touch(void **state)
{
    static const double values[] = {0.0, 1.0, 999999.99, 1000000.0, 123456789.125, 1e15, 1e300};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct bw_run run;
        char *text = NULL, *save = NULL;
        int rows = 0;

        fixture_open(&(struct fixture){.fill = fixture_fatal}, &run);
        fixture_testcase(&run, "device_to_device_memcpy_read_ce", 3, values[i]);
        text = fixture_print(&bw_report_text, &run);
        for (char *line = strtok_r(text, "\n", &save); line != NULL;
             line = strtok_r(NULL, "\n", &save)) {
            char *end = NULL, *word = NULL;
            int words = 0;

            (void)strtol(line, &end, 10);
            if (end == line) {
                continue;
            }
            for (char *cursor = line; (word = strtok_r(cursor, " ", &end)) != NULL; cursor = NULL) {
                words++;
            }
            assert_int_equal(words, rows == 0 ? 3 : 4);
            rows++;
        }
        assert_int_equal(rows, 4);
        free(text);
        fixture_close(&run);
    }
}

/* Scripts watch for the line; a full buffer must not keep it back. */
static void running_line_is_out_at_once(void **state)
{
    const char *expected = "Running device_local_copy.\n";
    struct bw_run run;
    struct stat info = {0};
    FILE *file = tmpfile();
    struct bw_report report = {.out = file, .run = &run};

    (void)state;
    assert_non_null(file);
    fixture_open(&(struct fixture){.fill = fixture_fatal}, &run);
    bw_report_text.running(&report, "device_local_copy");
    assert_int_equal(fstat(fileno(file), &info), 0);
    assert_int_equal(info.st_size, strlen(expected));
    fclose(file);
    fixture_close(&run);
}

/* The first sample lines with 3 GPUs, as nvbandwidth prints them. */
static void sample_lines_name_the_copies_ends(void **state)
{
    static const char *const expected[][3] = {
        {"host_to_device_memcpy_ce", "Host -> Device 0", "Host -> Device 1"},
        {"device_to_host_memcpy_ce", "Device 0 -> Host", "Device 1 -> Host"},
        {"device_to_device_memcpy_read_ce", "Device 1 -> Device 0", "Device 2 -> Device 0"},
        {"device_to_device_memcpy_write_ce", "Device 0 -> Device 1", "Device 0 -> Device 2"},
        {"device_to_device_bidirectional_memcpy_read_ce", "Device 1 -> Device 0",
         "Device 0 -> Device 1"},
        {"all_to_one_write_ce", "Total Bandwidth ", "Total Bandwidth "},
        {"device_to_host_bidirectional_memcpy_sm", "Device 0 -> Host", "Device 1 -> Host"},
        {"device_local_copy", "Device 0 -> Device 0", "Device 1 -> Device 1"},
        {"multinode_device_to_device_memcpy_read_ce", "Multinode node 1 -> Multinode node 0",
         "Multinode node 2 -> Multinode node 0"},
        {"multinode_bisect_write_ce", "Multinode node 0 -> Multinode node 1",
         "Multinode node 1 -> Multinode node 2"},
        {"cpu_write", "Node 0 -> Node 0", "Node 0 -> Node 1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        struct bw_run run;
        char *text = NULL;
        const char *at = NULL;

        fixture_open(&(struct fixture){.fill = fixture_fatal}, &run);
        run.verbose = true;
        fixture_testcase(&run, expected[i][0], 3, 100.0);
        text = fixture_print(&bw_report_text, &run);
        at = text;
        for (int k = 1; k < 3; k++) {
            for (int s = 0; s < FIXTURE_SAMPLES; s++) {
                char start[120];

                snprintf(start, sizeof start, "\n\tSample %d: %s: ", s, expected[i][k]);
                at = strstr(at, "\n\tSample");
                assert_non_null(at);
                assert_memory_equal(at, start, strlen(start));
                at++;
            }
        }
        free(text);
        fixture_close(&run);
    }
}

static void latencies_have_no_sample_lines(void **state)
{
    struct bw_run run;
    char *text = NULL;

    (void)state;
    fixture_open(&(struct fixture){.fill = fixture_fatal}, &run);
    run.verbose = true;
    fixture_testcase(&run, "device_to_device_latency_sm", 3, 700.0);
    text = fixture_print(&bw_report_text, &run);
    assert_null(strstr(text, "Sample"));
    free(text);
    fixture_close(&run);
}

static void writers_are_found_by_name(void **state)
{
    (void)state;
    assert_ptr_equal(bw_report_find("text"), &bw_report_text);
    assert_ptr_equal(bw_report_find("json"), &bw_report_json);
    assert_ptr_equal(bw_report_find("perf"), &bw_report_perf);
    assert_null(bw_report_find("xml"));
    assert_null(bw_report_find(""));
}

/* A line that is missing is no report of a run that passed. */
static void a_sum_without_memory_is_missed(void **state)
{
    const struct bw_report_ops *const writers[] = {&bw_report_text, &bw_report_perf};

    (void)state;
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        struct bw_report report = {.out = tmpfile()};
        struct stderr_of said;
        char words[200];
        struct bw_run run;

        fixture_open(&(struct fixture){.fill = fixture_one}, &run);
        report.run = &run;
        assert_non_null(report.out);
        writers[i]->testcase(&report, &run.testcases[0]);
        assert_false(report.is_incomplete);
        said = stderr_begin();
        failing_text = 1;
        writers[i]->testcase(&report, &run.testcases[0]);
        stderr_end(&said, words, sizeof words);
        assert_int_equal(failing_text, 0);
        assert_non_null(strstr(words, "not enough host memory to print its sum"));
        writers[i]->testcase(&report, &run.testcases[0]);
        assert_true(report.is_incomplete);
        fclose(report.out);
        fixture_close(&run);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_as_recorded),
        cmocka_unit_test(perf_is_as_recorded),
        cmocka_unit_test(perf_is_text_with_other_sums),
        cmocka_unit_test(nothing_follows_the_last_sums),
        cmocka_unit_test(what_was_not_run_is_said_on_stderr),
        cmocka_unit_test(small_buffer_is_noted),
        cmocka_unit_test(cells_never_touch),
        cmocka_unit_test(running_line_is_out_at_once),
        cmocka_unit_test(sample_lines_name_the_copies_ends),
        cmocka_unit_test(latencies_have_no_sample_lines),
        cmocka_unit_test(a_sum_without_memory_is_missed),
        cmocka_unit_test(writers_are_found_by_name),
    };

    is_update = golden_is_update();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
