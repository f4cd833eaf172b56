/* SPDX-License-Identifier: Apache-2.0 */
#include "options_command.h"

static void flags_are_read(void **state)
{
    static const struct command commands[] = {
        {{NULL}, ""},
        {{"-l"}, " list"},
        {{"--list"}, " list"},
        {{"-h"}, " help"},
        {{"--help"}, " help"},
        {{"--version"}, " version"},
        {{"-v", "-s", "-d", "-m", "-j"}, " verbose skip unbound mean json"},
        {{"-vsdmj"}, " verbose skip unbound mean json"},
        {{"--verbose", "--skipVerification", "--disableAffinity", "--useMean", "--json"},
         " verbose skip unbound mean json"},
        {{"--perfFormatter"}, " perf"},
        {{"--"}, ""},
        {{"-l", "--"}, " list"},
    };

    (void)state;
    check_good(commands, COUNT(commands));
}

static void testcases_come_in_all_of_v08s_forms(void **state)
{
    static const struct command commands[] = {
        {{"-t", "a", "b", "c"}, " t=a|b|c"},
        {{"-t", "a", "-t", "b"}, " t=a|b"},
        {{"-t", "a", "b", "-v", "-t", "c", "a"}, " t=a|b|c|a verbose"},
        {{"--testcase", "a", "b", "--testcase=c", "d"}, " t=a|b|c|d"},
        {{"-t0"}, " t=0"},
        {{"-t0", "1"}, " t=0|1"},
        {{"--testcase=0"}, " t=0"},
        {{"-vjt", "0"}, " t=0 verbose json"},
        {{"-vjt0"}, " t=0 verbose json"},
        {{"-t", "-1", "-2", "-v"}, " t=-1|-2 verbose"},
        {{"-t=-1"}, " t==-1"},
        {{"-t", "-"}, " t=-"},
        {{"--testcase=-x"}, " t=-x"},
        {{"-p", "host", "device", "-p", "all"}, " p=host|device|all"},
        {{"--testcasePrefixes", "host", "device"}, " p=host|device"},
        {{"--testcaseP", "x"}, " p=x"},
    };

    (void)state;
    check_good(commands, COUNT(commands));
}

static void values_are_read(void **state)
{
    static const struct command commands[] = {
        {{"-b", "64"}, " bytes=67108864"},
        {{"-b64"}, " bytes=67108864"},
        {{"-b", "+64"}, " bytes=67108864"},
        {{"-b", "64K"}, " bytes=65536"},
        {{"--bufferSize", "4MiB"}, " bytes=4194304"},
        {{"--bufferSize=64T"}, " bytes=70368744177664"},
        {{"--buffer", "1"}, " bytes=1048576"},
        {{"-i", "1"}, " samples=1"},
        {{"-i", "+3"}, " samples=3"},
        {{"-i1000000"}, " samples=1000000"},
        {{"--testSamples", "10"}, " samples=10"},
        {{"--loop", "1"}, " loops=1"},
        {{"--loopCount", "16"}, " loops=16"},
        {{"--loopCount=1000000000"}, " loops=1000000000"},
        {{"--dry-run"}, " dry=0"},
        {{"--dry-run=8", "-t", "4"}, " t=4 dry=8"},
        {{"--dry=576"}, " dry=576"},
        {{"--explain", "4", "device_local_copy", "-v"}, " explain=4|device_local_copy verbose"},
        {{"--peak", "nvlink=300,a bridge", "--peak=pcie=25.2"}, " nvlink=300 why pcie=25.2"},
        {{"--corrupt-word", "0"}, " corrupt=0"},
        {{"--corrupt-word=17592186044415"}, " corrupt=17592186044415"},
    };

    (void)state;
    check_good(commands, COUNT(commands));
}

static void formats_agree(void **state)
{
    static const struct command good[] = {
        {{"-F", "text"}, " format=text"},
        {{"-F", "json"}, " json format=json"},
        {{"-Fperf"}, " perf format=perf"},
        {{"--format=json", "-j"}, " json format=json"},
        {{"--perfFormatter", "-F", "perf"}, " perf format=perf"},
        {{"--perfFormatter", "-j"}, " json perf"},
    };
    static const struct command bad[] = {
        {{"-j", "-F", "text"}, "-j: contradicts '-F text' (-j is -F json: give one of the two)"},
        {{"-F", "perf", "-j"}, "-j: contradicts '-F perf' (-j is -F json: give one of the two)"},
        {{"-F", "text", "--perfFormatter"},
         "--perfFormatter: contradicts '-F text' (it is -F perf: give one of the two)"},
        {{"-F", "xml"}, "-F: 'xml' is not a format (text, json or perf)"},
        {{"-F", "csv"}, "-F: 'csv' is not a format (text, json or perf)"},
        {{"--format="}, "--format: '' is not a format (text, json or perf)"},
        {{"-F", "JSON"}, "-F: 'JSON' is not a format (text, json or perf)"},
        {{"-F", "json", "-F", "json"}, "-F: given more than once"},
    };

    (void)state;
    check_good(good, COUNT(good));
    check_bad(bad, COUNT(bad));
}

static void no_words_at_all_are_the_defaults(void **state)
{
    char *argv[] = {NULL};
    char text[1024];
    struct bw_options options;

    (void)state;
    assert_int_equal(bw_options_parse(&options, 0, argv), BW_OK);
    describe(&options, text);
    assert_string_equal(text, "");
    bw_options_free(&options);
    bw_options_free(&options);
}

static void help_shows_what_is_not_hidden(void **state)
{
    static const char *const shown[] = {
        "  -b, --bufferSize SIZE",  "(default: 512)",
        "  -i, --testSamples N",    "(default: 3)",
        "  -t, --testcase NAME...", "      --dry-run[=N]",
        "      --version",          "  -F, --format FORMAT",
    };
    static const char *const hidden[] = {"loopCount", "perfFormatter", "corrupt"};
    static char text[16384];
    FILE *file = fmemopen(text, sizeof text, "w");

    (void)state;
    assert_non_null(file);
    bw_options_help(file);
    fclose(file);
    assert_memory_equal(text, "bwtool Version: v", 17);
    assert_true(text[17] >= '0' && text[17] <= '9' && text[18] == '.');
    for (size_t i = 0; i < COUNT(shown); i++) {
        assert_non_null(strstr(text, shown[i]));
    }
    for (size_t i = 0; i < COUNT(hidden); i++) {
        assert_null(strstr(text, hidden[i]));
    }
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_true(strlen(line) <= 96);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_are_read),
        cmocka_unit_test(testcases_come_in_all_of_v08s_forms),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(formats_agree),
        cmocka_unit_test(no_words_at_all_are_the_defaults),
        cmocka_unit_test(help_shows_what_is_not_hidden),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);

    bw_log_fini();
    return failed;
}
