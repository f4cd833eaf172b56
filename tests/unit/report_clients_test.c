/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How programs that are out there read the output, retold: what they accept
 * today they must accept tomorrow. Each check names the kind of client.
 */
#include "report_fixture.h"
#include "unit.h"

#include "bwtool/operators.h"

#include <ctype.h>
#include <jansson.h>
#include <regex.h>

enum { METRICS_MAX = 512, NAME_BYTES = 160 };

static bool matches(const char *pattern, const char *text, regmatch_t *groups, size_t count)
{
    regex_t regex;
    bool is_match = false;

    assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE), 0);
    is_match = regexec(&regex, text, count, groups, 0) == 0;
    regfree(&regex);
    return is_match;
}

static void group_text(const char *text, const regmatch_t *group, char out[static NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "%.*s", (int)(group->rm_eo - group->rm_so), text + group->rm_so);
}

/* Call for each line, without its newline, until the text ends. */
static char *cut_line(char **at)
{
    char *line = *at;
    char *end = NULL;

    if (line == NULL || *line == '\0') {
        return NULL;
    }
    end = strchr(line, '\n');
    if (end != NULL) {
        *end = '\0';
        *at = end + 1;
    } else {
        *at = line + strlen(line);
    }
    return line;
}

static char *print(void (*fill)(struct bw_run *), const struct bw_report_ops *ops)
{
    struct bw_run run;
    char *text = NULL;

    fixture_open(&(struct fixture){.fill = fill}, &run);
    text = fixture_print(ops, &run);
    fixture_close(&run);
    return text;
}

/* A benchmark suite: regular expressions over stripped lines, metrics by name. */
struct suite {
    char name[NAME_BYTES], kind[8], row[4], column[4];
    char header[16][NAME_BYTES];
    int header_count;
    struct {
        char name[3 * NAME_BYTES];
        double value;
    } metrics[METRICS_MAX];
    int metric_count;
    int unsupported, executed;
};

static void suite_add(struct suite *suite, const char *middle, double value)
{
    char name[sizeof suite->metrics[0].name];

    assert_true(suite->metric_count < METRICS_MAX);
    snprintf(name, sizeof name, "%s_%s_%s", suite->name, middle, suite->kind);
    memcpy(suite->metrics[suite->metric_count].name, name, sizeof name);
    suite->metrics[suite->metric_count++].value = value;
}

static void suite_axis(const char *line, const char *mark, char axis[static 4])
{
    const char *at = strstr(line, mark);

    snprintf(axis, 4, "%.3s", at != NULL && at - line >= 3 ? at - 3 : "");
    for (int i = 0; axis[i] != '\0'; i++) {
        axis[i] = (char)tolower((unsigned char)axis[i]);
    }
}

static void suite_row(struct suite *suite, char *line)
{
    char *save = NULL;
    const char *label = strtok_r(line, " ", &save);
    const char *word = NULL;

    for (int c = 0; (word = strtok_r(NULL, " ", &save)) != NULL; c++) {
        char middle[NAME_BYTES], *end = NULL;
        const double value = strtod(word, &end);

        if (strcmp(word, "N/A") == 0) {
            continue;
        }
        assert_int_equal(*end, '\0');
        assert_true(c < suite->header_count);
        snprintf(middle, sizeof middle, "%s%s_%s%.20s", suite->row, label, suite->column,
                 suite->header[c]);
        suite_add(suite, middle, value);
    }
}

static void suite_header(struct suite *suite, char *line)
{
    char *save = NULL;

    for (const char *word = strtok_r(line, " ", &save); word != NULL;
         word = strtok_r(NULL, " ", &save)) {
        assert_true(suite->header_count < 16);
        snprintf(suite->header[suite->header_count++], NAME_BYTES, "%s", word);
    }
}

static void suite_line(struct suite *suite, char *line)
{
    regmatch_t groups[3];

    line += strspn(line, " \t");
    if (matches("^ERROR: Testcase ([^ ]+) not found!", line, groups, 2)) {
        suite->unsupported++;
    } else if (matches("^Running[[:space:]]+(.+)$", line, groups, 2)) {
        group_text(line, &groups[1], suite->name);
        suite->name[strlen(suite->name) - 1] = '\0';
        suite->executed++;
    } else if (suite->name[0] != '\0' && matches("^(memcpy|memory latency)", line, groups, 1)) {
        snprintf(suite->kind, sizeof suite->kind, strstr(line, "bandwidth") != NULL ? "bw" : "lat");
        suite_axis(line, "(row)", suite->row);
        suite_axis(line, "(column)", suite->column);
    } else if (suite->name[0] != '\0' && suite->kind[0] != '\0' && isdigit((unsigned char)*line)) {
        if (suite->header_count == 0) {
            suite_header(suite, line);
        } else {
            suite_row(suite, line);
        }
    } else if (matches("^SUM ([^ ]+) ([0-9]+\\.[0-9]+)", line, groups, 3)) {
        char value[NAME_BYTES];

        group_text(line, &groups[2], value);
        suite_add(suite, "sum", strtod(value, NULL));
        suite->name[0] = suite->kind[0] = '\0';
        suite->header_count = 0;
    }
}

static double suite_value(const struct suite *suite, const char *name)
{
    for (int i = 0; i < suite->metric_count; i++) {
        if (strcmp(suite->metrics[i].name, name) == 0) {
            return suite->metrics[i].value;
        }
    }
    return -1.0;
}

static struct suite *suite_read(void (*fill)(struct bw_run *))
{
    struct suite *suite = calloc(1, sizeof *suite);
    char *text = print(fill, &bw_report_text);
    char *at = text;

    assert_non_null(suite);
    for (char *line = cut_line(&at); line != NULL; line = cut_line(&at)) {
        suite_line(suite, line);
    }
    free(text);
    return suite;
}

static void suite_gets_its_metrics(void **state)
{
    static const struct {
        const char *name;
        double value;
    } expected[] = {
        {"host_to_device_memcpy_ce_cpu0_gpu0_bw", 55.53},
        {"host_to_device_memcpy_ce_cpu0_gpu1_bw", 56.78},
        {"host_to_device_memcpy_ce_sum_bw", 112.31},
        {"device_to_device_memcpy_read_ce_gpu0_gpu1_bw", 397.25},
        {"device_to_device_memcpy_read_ce_gpu1_gpu0_bw", 406.00},
        {"device_to_device_memcpy_read_ce_sum_bw", 803.25},
        {"device_to_device_bidirectional_memcpy_read_ce_gpu0_gpu1_bw", 381.25},
        {"all_to_one_write_sm_sum_bw", 781.25},
        {"device_to_device_latency_sm_gpu0_gpu1_lat", 701.25},
        {"device_to_device_latency_sm_sum_lat", 1411.25},
    };
    struct suite *suite = suite_read(fixture_two);

    (void)state;
    assert_int_equal(suite->executed, 6);
    assert_int_equal(suite->unsupported, 0);
    /* Cells and sums of six first matrices, and the two later sums of the two-way testcase. */
    assert_int_equal(suite->metric_count, 2 + 2 + 2 + 2 + 2 + 2 + 6 + 2);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_true(fabs(suite_value(suite, expected[i].name) - expected[i].value) < 1e-9);
    }
    free(suite);
    suite = suite_read(fixture_unknown);
    assert_int_equal(suite->unsupported, 1);
    assert_int_equal(suite->executed, 1);
    assert_int_equal(suite->metric_count, 2);
    free(suite);
    suite = suite_read(fixture_one); /* what was waived has not run */
    assert_int_equal(suite->executed, 3);
    free(suite);
}

static void suite_finds_names_in_the_list(void **state)
{
    char *text = NULL;
    size_t bytes = 0, count = 0;
    FILE *out = open_memstream(&text, &bytes);
    const char *at = NULL;
    regmatch_t groups[3];

    (void)state;
    bw_report_list(out, false);
    fclose(out);
    at = text;
    while (matches("([0-9]+),[[:space:]]+([A-Za-z0-9_]+):", at, groups, 3)) {
        char name[NAME_BYTES];

        group_text(at, &groups[2], name);
        assert_true(count < bw_all_count());
        assert_string_equal(name, bw_all_at(count)->name);
        count++;
        at += groups[0].rm_eo;
    }
    assert_int_equal(count, bw_all_count());
    assert_int_equal(bw_log_count(), 0); /* its reader wants an empty stderr */
    free(text);
}

/* A diagnostics framework: cuts the document out by lines, then insists on types. */
static bool is_bracket_line(const char *line, size_t length, char bracket)
{
    size_t i = 0;

    while (i < length && line[i] == '\t') {
        i++;
    }
    return i + 1 == length && line[i] == bracket;
}

static char *cut_document(const char *text)
{
    const char *first = NULL, *last = NULL;

    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        if (first == NULL && is_bracket_line(line, length, '{')) {
            first = line;
        }
        if (is_bracket_line(line, length, '}')) {
            last = line + length;
        }
        line += length + (line[length] == '\n');
    }
    return first != NULL && last != NULL ? strndup(first, (size_t)(last - first)) : NULL;
}

static bool is_known_status(const char *status)
{
    return strcasecmp(status, "error") == 0 || strcasecmp(status, "waived") == 0 ||
           strcasecmp(status, "not found") == 0 || strcasecmp(status, "passed") == 0;
}

static bool accepts_matrix(const json_t *matrix)
{
    const json_t *row = NULL, *cell = NULL;
    size_t r = 0, c = 0;

    if (json_array_size(matrix) == 0) {
        return false;
    }
    json_array_foreach(matrix, r, row)
    {
        if (json_array_size(row) == 0) {
            return false;
        }
        json_array_foreach(row, c, cell)
        {
            const char *text = json_string_value(cell);
            char *end = NULL;

            if (text == NULL || (strcmp(text, "N/A") != 0 && (strtof(text, &end), end == text))) {
                return false;
            }
        }
    }
    return true;
}

static bool accepts_testcase(const json_t *testcase)
{
    const json_t *matrix = json_object_get(testcase, "bandwidth_matrix");
    const char *status = json_string_value(json_object_get(testcase, "status"));

    return json_is_string(json_object_get(testcase, "name")) && status != NULL &&
           is_known_status(status) && (matrix == NULL || accepts_matrix(matrix));
}

static bool accepts_document(const char *text)
{
    char *document = cut_document(text);
    json_t *root = document != NULL ? json_loads(document, 0, NULL) : NULL;
    const json_t *nvbandwidth = json_object_get(root, "nvbandwidth");
    const json_t *testcases = json_object_get(nvbandwidth, "testcases");
    const json_t *testcase = NULL;
    size_t i = 0;
    bool is_fine = json_is_integer(json_object_get(nvbandwidth, "CUDA Runtime Version")) &&
                   json_is_string(json_object_get(nvbandwidth, "Driver Version")) &&
                   json_is_string(json_object_get(nvbandwidth, "git_version")) &&
                   json_is_array(testcases);

    json_array_foreach(testcases, i, testcase)
    {
        is_fine = is_fine && accepts_testcase(testcase);
    }
    json_decref(root);
    free(document);
    return is_fine;
}

static void diagnostics_accept_every_document(void **state)
{
    (void)state;
    for (int i = 0; i < FIXTURE_COUNT; i++) {
        char *text = print(fixtures[i].fill, &bw_report_json);

        assert_int_equal(text[0], '{');
        assert_int_equal(text[1], '\n');
        assert_string_equal(text + strlen(text) - 3, "\n}\n");
        assert_true(accepts_document(text));
        free(text);
    }
    /* The check itself can say no. */
    assert_false(accepts_document("{\"nvbandwidth\": {}}"));
    assert_false(accepts_document("{\n\"nvbandwidth\": {}\n}\n"));
}

static json_t *nvbandwidth_of(void (*fill)(struct bw_run *))
{
    char *text = print(fill, &bw_report_json);
    json_t *root = json_loads(text, 0, NULL);
    json_t *nvbandwidth = json_incref(json_object_get(root, "nvbandwidth"));

    assert_non_null(nvbandwidth);
    json_decref(root);
    free(text);
    return nvbandwidth;
}

/* A failure is at the root, where clients look first, and the status says it. */
static void failures_are_seen(void **state)
{
    static void (*const fills[])(struct bw_run *) = {fixture_failed, fixture_fatal};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        json_t *root = nvbandwidth_of(fills[i]);
        const char *error = json_string_value(json_object_get(root, "error"));
        const json_t *testcase = NULL;
        size_t t = 0;

        assert_non_null(error);
        json_array_foreach(json_object_get(root, "testcases"), t, testcase)
        {
            assert_string_equal(json_string_value(json_object_get(testcase, "status")), "ERROR");
            assert_true(strlen(json_string_value(json_object_get(testcase, "error"))) > 0);
        }
        json_decref(root);
    }
}

/* A strict gate: exact status, no error anywhere, N x N, all rates above zero. */
static void gate_passes_what_passed(void **state)
{
    json_t *root = nvbandwidth_of(fixture_eight);
    const json_t *testcase = json_array_get(json_object_get(root, "testcases"), 0);
    const json_t *matrix = json_object_get(testcase, "bandwidth_matrix");

    (void)state;
    assert_null(json_object_get(root, "error"));
    assert_null(json_object_get(testcase, "error"));
    assert_string_equal(json_string_value(json_object_get(testcase, "status")), "Passed");
    assert_int_equal(json_array_size(matrix), 8);
    for (size_t r = 0; r < 8; r++) {
        assert_int_equal(json_array_size(json_array_get(matrix, r)), 8);
        for (size_t c = 0; c < 8; c++) {
            const char *cell = json_string_value(json_array_get(json_array_get(matrix, r), c));

            assert_true(r == c ? strcmp(cell, "N/A") == 0 : strtod(cell, NULL) > 0);
        }
    }
    json_decref(root);
}

/* Two-way testcases have N rows, the total's, and its sum. */
static void two_way_testcases_have_the_total(void **state)
{
    json_t *root = nvbandwidth_of(fixture_two);
    const json_t *testcase = json_array_get(json_object_get(root, "testcases"), 2);

    (void)state;
    assert_int_equal(json_array_size(json_object_get(testcase, "bandwidth_matrix")), 2);
    assert_true(json_real_value(json_object_get(testcase, "sum")) == 1543.5);
    assert_non_null(
        strstr(json_string_value(json_object_get(testcase, "bandwidth_description")), "Total"));
    assert_null(json_object_get(testcase, "min"));
    json_decref(root);
    root = nvbandwidth_of(fixture_two_verbose);
    testcase = json_array_get(json_object_get(root, "testcases"), 1);
    assert_true(json_real_value(json_object_get(testcase, "min")) == 397.25);
    assert_true(json_real_value(json_object_get(testcase, "max")) == 406.0);
    assert_true(json_real_value(json_object_get(testcase, "average")) == 401.625);
    json_decref(root);
}

/*
 * A node health check: each line after "Running", but for the first of them
 * and those with "memcpy", is a row; each word but the first is a rate.
 */
static int count_rates(char *text)
{
    char *at = text;
    bool is_in = false;
    int rates = 0, skip = 0;

    for (char *line = cut_line(&at); line != NULL; line = cut_line(&at)) {
        char *save = NULL;

        if (*line == '\0') {
            continue;
        }
        if (strncmp(line, "Running", 7) == 0) {
            is_in = true;
            skip = strstr(line, "memcpy") == NULL ? 2 : 1;
        }
        if (!is_in || strstr(line, "memcpy") != NULL || skip-- > 0) {
            continue;
        }
        strtok_r(line, " ", &save);
        for (const char *word = strtok_r(NULL, " ", &save); word != NULL;
             word = strtok_r(NULL, " ", &save)) {
            char *end = NULL;
            const double rate = strtod(word, &end);

            if (strcmp(word, "N/A") != 0) {
                assert_int_equal(*end, '\0');
                assert_true(rate > 0);
                rates++;
            }
        }
    }
    return rates;
}

static void fill_health(struct bw_run *run)
{
    fixture_run(run, 2);
    fixture_testcase(run, "host_to_device_memcpy_ce", 2, 55.0);
    fixture_testcase(run, "device_to_host_memcpy_ce", 2, 54.0);
    fixture_testcase(run, "device_to_device_memcpy_read_ce", 2, 390.0);
}

static void fill_health_waived(struct bw_run *run)
{
    fixture_run(run, 1);
    fixture_testcase(run, "host_to_device_memcpy_ce", 1, 55.0);
    fixture_testcase(run, "device_to_host_memcpy_ce", 1, 54.0);
    fixture_verdict(run, "device_to_device_memcpy_read_ce", VERDICT_WAIVED, "no pair of GPUs");
}

static void health_check_reads_rates_only(void **state)
{
    char *text = print(fill_health, &bw_report_text);

    (void)state;
    assert_int_equal(count_rates(text), 6);
    free(text);
    text = print(fill_health_waived, &bw_report_text);
    assert_int_equal(count_rates(text), 2);
    free(text);
}

/* A grapher: from two lines after "Running" up to SUM, rows of as many words as columns, and one.
 */
static void grapher_reads_whole_blocks(void **state)
{
    static void (*const fills[])(struct bw_run *) = {fixture_one, fixture_two, fixture_eight,
                                                     fixture_host_only};

    (void)state;
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        char *text = print(fills[i], &bw_report_text);
        char *at = text;
        int lines = -1, columns = 0, blocks = 0;

        assert_non_null(strstr(cut_line(&at), "nvbandwidth"));
        for (char *line = cut_line(&at); line != NULL; line = cut_line(&at)) {
            char *save = NULL;
            int words = 0;

            if (strncmp(line, "Running ", 8) == 0) {
                lines = 0;
                continue;
            }
            if (lines < 0 || strncmp(line, "SUM ", 4) == 0) {
                blocks += lines >= 0;
                lines = -1;
                continue;
            }
            lines++;
            for (const char *word = strtok_r(line, " ", &save); word != NULL;
                 word = strtok_r(NULL, " ", &save)) {
                words++;
            }
            if (lines == 2) {
                columns = words;
            } else if (lines > 2 && words > 0) {
                assert_int_equal(words, columns + 1);
            }
        }
        assert_true(blocks >= 3);
        free(text);
    }
}

/* Line patterns of scripts. */
static void patterns_of_scripts_match(void **state)
{
    char *two = print(fixture_two_verbose, &bw_report_text);
    char *ranks = print(fixture_ranks, &bw_report_text);
    char *odd = print(fixture_odd, &bw_report_text);
    regmatch_t groups[3];
    char word[NAME_BYTES];

    (void)state;
    assert_true(matches("^.*SUM multinode_device_to_device_memcpy_write_ce [0-9]+\\.[0-9]+.*$",
                        ranks, NULL, 0));
    assert_true(matches("^Running multinode_", ranks, NULL, 0));
    assert_true(matches("^Process +0 \\(node-a\\): device 0: NVIDIA H200 ", ranks, NULL, 0));
    assert_true(matches("^SUM[[:space:]]+([^[:space:]]+_total)[[:space:]]+([0-9]+(\\.[0-9]+)?)$",
                        two, groups, 2));
    assert_true(matches("^Device[[:space:]]+([0-9]+):[[:space:]]+(.+)$", two, groups, 3));
    group_text(two, &groups[2], word);
    assert_string_equal(word, "NVIDIA H200 (00000000:0f:00)");
    assert_true(matches("v[0-9.]+", two, groups, 1));
    group_text(two, &groups[0], word);
    assert_string_equal(word, bw_words_version);
    assert_true(matches("^Waived: cpu_copy: ", odd, NULL, 0));
    assert_false(matches("^7 second", odd, NULL, 0)); /* it would be taken for a row */
    free(two);
    free(ranks);
    free(odd);
}

/* Extra lines that begin with a digit are read as rows by several clients. */
static void only_rows_begin_with_a_digit(void **state)
{
    (void)state;
    for (int i = 0; i < FIXTURE_COUNT; i++) {
        char *text = print(fixtures[i].fill, &bw_report_text);
        char *at = text;

        for (char *line = cut_line(&at); line != NULL; line = cut_line(&at)) {
            assert_null(strchr(line, '\r'));
            if (isdigit((unsigned char)line[strspn(line, " \t")])) {
                assert_true(
                    matches("^ *[0-9]+(->[0-9]+)?( +([0-9]+\\.[0-9]{2}|N/A))+$", line, NULL, 0) ||
                    matches("^ +[0-9]+( +[0-9]+)*$", line, NULL, 0));
            }
        }
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suite_gets_its_metrics),
        cmocka_unit_test(suite_finds_names_in_the_list),
        cmocka_unit_test(diagnostics_accept_every_document),
        cmocka_unit_test(failures_are_seen),
        cmocka_unit_test(gate_passes_what_passed),
        cmocka_unit_test(two_way_testcases_have_the_total),
        cmocka_unit_test(health_check_reads_rates_only),
        cmocka_unit_test(grapher_reads_whole_blocks),
        cmocka_unit_test(patterns_of_scripts_match),
        cmocka_unit_test(only_rows_begin_with_a_digit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
