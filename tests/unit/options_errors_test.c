/* SPDX-License-Identifier: Apache-2.0 */
#include "options_command.h"

#define NO_SIZE " is not a size (1K to 64T; a plain number is MiB)"

static void bad_sizes_say_what_is_right(void **state)
{
    static const struct command commands[] = {
        {{"-b", "0"}, "-b: '0'" NO_SIZE},
        {{"-b", "-1"}, "-b: '-1'" NO_SIZE},
        {{"-b", "1.5"}, "-b: '1.5'" NO_SIZE},
        {{"-b", "0x40"}, "-b: '0x40'" NO_SIZE},
        {{"-b=64"}, "-b: '=64'" NO_SIZE},
        {{"-b", ""}, "-b: ''" NO_SIZE},
        {{"--bufferSize", "huge"}, "--bufferSize: 'huge'" NO_SIZE},
        {{"--buff=65T"}, "--bufferSize: '65T'" NO_SIZE},
        {{"-b", "99999999999999999999999"}, "-b: '99999999999999999999999'" NO_SIZE},
        {{"-b", "1\n2"}, "-b: '1 2'" NO_SIZE},
        {{"-b", "64kB"}, "-b: '64kB' may count in 1000 or in 1024: write '64KiB' for 1024"},
        {{"-b", "1MB"}, "-b: '1MB' may count in 1000 or in 1024: write '1MiB' for 1024"},
        {{"-b"}, "-b: must be followed by a size (1K to 64T; a plain number is MiB)"},
        {{"-b", "-v"}, "-b: must be followed by a size (1K to 64T; a plain number is MiB)"},
        {{"--bufferSize"},
         "--bufferSize: must be followed by a size (1K to 64T; a plain number is MiB)"},
        {{"-b", "1", "-b", "1"}, "-b: given more than once"},
        {{"-b", "1", "--bufferSize", "2"}, "--bufferSize: given more than once"},
    };

    (void)state;
    check_bad(commands, COUNT(commands));
}

static void bad_numbers_say_what_is_right(void **state)
{
    static const struct command commands[] = {
        {{"-i", "0"}, "-i: '0' is not a whole number from 1 to 1000000"},
        {{"-i", "-1"}, "-i: '-1' is not a whole number from 1 to 1000000"},
        {{"-i", "1000001"}, "-i: '1000001' is not a whole number from 1 to 1000000"},
        {{"-i", "3x"}, "-i: '3x' is not a whole number from 1 to 1000000"},
        {{"-i", " 3"}, "-i: ' 3' is not a whole number from 1 to 1000000"},
        {{"-i", "18446744073709551617"},
         "-i: '18446744073709551617' is not a whole number from 1 to 1000000"},
        {{"--loopCount", "0"}, "--loopCount: '0' is not a whole number from 1 to 1000000000"},
        {{"--loopCount", "1000000001"},
         "--loopCount: '1000000001' is not a whole number from 1 to 1000000000"},
        {{"--dry-run=0"}, "--dry-run: '0' is not a whole number from 1 to 576"},
        {{"--dry-run=577"}, "--dry-run: '577' is not a whole number from 1 to 576"},
        {{"--dry-run="}, "--dry-run: '' is not a whole number from 1 to 576"},
        {{"--dry-run", "4"}, "'4' belongs to no option (write --dry-run=4)"},
        {{"--peak", "nvlink"},
         "--peak: 'nvlink' is not LINK=GBps[,WHY] (LINK: pcie, nvlink, c2c, hbm or host)"},
        {{"--peak", "nvlink=0"},
         "--peak: 'nvlink=0' is not LINK=GBps[,WHY] (LINK: pcie, nvlink, c2c, hbm or host)"},
        {{"--explain"},
         "--explain: must be followed by a testcase (a name or an index; -l lists them)"},
        {{"--corrupt-word", "17592186044416"},
         "--corrupt-word: '17592186044416' is not a whole number from 0 to 17592186044415"},
        {{"--algorithm", "nvls"},
         "--algorithm: 'nvls' is not an algorithm (auto, push, pull, tma, ce, tiles, two_shot, ll, "
         "poison, poison4 or multicast)"},
        {{"--ctas", "1", "2", "3", "4", "5", "6", "7", "8", "--ctas", "9", "10", "11", "12", "13",
          "14", "15", "16", "17"},
         "--ctas: takes up to 16 grids, and there are 17"},
        {{"-i", "1", "-i", "2"}, "-i: given more than once"},
        {{"-v", "-v"}, "-v: given more than once"},
        {{"-vv"}, "-v: given more than once"},
        {{"-v", "--verb"}, "--verbose: given more than once"},
    };

    (void)state;
    check_bad(commands, COUNT(commands));
}

#define NO_OPTION(word) \
    "'" word "' belongs to no option (there are no other arguments; --help lists all)"

static void words_that_do_not_belong_are_named(void **state)
{
    static const struct command commands[] = {
        {{"positional"}, NO_OPTION("positional")},
        {{"-v", "positional"}, NO_OPTION("positional")},
        {{"-b", "1", "2"}, NO_OPTION("2")},
        {{"-l", "--", "rest"}, NO_OPTION("rest")},
        {{"-t", "a", "--", "b"}, NO_OPTION("b")},
        {{"--", "-v"}, NO_OPTION("-v")},
        {{""}, NO_OPTION("")},
        {{"-"}, NO_OPTION("-")},
        {{"--dry-run", "x"}, NO_OPTION("x")},
        {{"--dry-run=2", "4"}, NO_OPTION("4")},
        {{"-t", ""}, "-t: '' is not a testcase (a name or an index; -l lists them)"},
        {{"-t", "a", ""}, "-t: '' is not a testcase (a name or an index; -l lists them)"},
        {{"--testcase="}, "--testcase: '' is not a testcase (a name or an index; -l lists them)"},
        {{"-t"}, "-t: must be followed by a testcase (a name or an index; -l lists them)"},
        {{"-t", "-v"}, "-t: must be followed by a testcase (a name or an index; -l lists them)"},
        {{"-t", "--"}, "-t: must be followed by a testcase (a name or an index; -l lists them)"},
        {{"-p", ""}, "-p: '' is not the beginning of a testcase's name (-l lists them)"},
        {{"-p"}, "-p: must be followed by the beginning of a testcase's name (-l lists them)"},
        {{"-t", "a", "-p", "b"},
         "-p: cannot be given together with -t (names and indices, or prefixes)"},
    };

    (void)state;
    check_bad(commands, COUNT(commands));
}

static void unknown_options_are_named(void **state)
{
    static const struct command commands[] = {
        {{"-x"}, "there is no option '-x' (--help lists them)"},
        {{"-vx"}, "there is no option '-x' (--help lists them)"},
        {{"-1"}, "there is no option '-1' (--help lists them)"},
        {{"--nope"}, "there is no option '--nope' (--help lists them)"},
        {{"--nope=1"}, "there is no option '--nope=1' (--help lists them)"},
        {{"--=1"}, "there is no option '--=1' (--help lists them)"},
        {{"--pair", "GPU-1"}, "--pair: wants the UUIDs of two GPUs, and there is 1"},
        {{"--pair", "a", "b", "c"}, "--pair: wants the UUIDs of two GPUs, and there are 3"},
        {{"--buffersize", "1"}, "there is no option '--buffersize' (did you mean --bufferSize?)"},
        {{"--loop_count=1"}, "there is no option '--loop_count=1' (did you mean --loopCount?)"},
        {{"--dryRun"}, "there is no option '--dryRun' (did you mean --dry-run?)"},
        {{"--test", "0"},
         "'--test' is ambiguous: --testcase, --testcasePrefixes or --testSamples?"},
        {{"--test=0"}, "'--test=0' is ambiguous: --testcase, --testcasePrefixes or --testSamples?"},
        {{"--ver"}, "'--ver' is ambiguous: --verbose or --version?"},
        {{"--l"}, "'--l' is ambiguous: --list or --loopCount?"},
        {{"--verbose=1"}, "--verbose: takes no value, unlike in '--verbose=1'"},
        {{"--useM=yes"}, "--useMean: takes no value, unlike in '--useM=yes'"},
    };

    (void)state;
    check_bad(commands, COUNT(commands));
}

/* The first fault ends it: nothing is said twice, and no state is left for the next call. */
static void a_fault_leaves_nothing_behind(void **state)
{
    static const struct command bad[] = {
        {{"-vx", "-y", "-b", "0"}, "there is no option '-x' (--help lists them)"},
        {{"-t", "a", "b", "-b", "0", "-t"}, "-b: '0'" NO_SIZE},
    };
    static const struct command good[] = {{{"-t", "c"}, " t=c"}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        check_bad(bad, COUNT(bad));
        check_good(good, COUNT(good));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_sizes_say_what_is_right),
        cmocka_unit_test(bad_numbers_say_what_is_right),
        cmocka_unit_test(words_that_do_not_belong_are_named),
        cmocka_unit_test(unknown_options_are_named),
        cmocka_unit_test(a_fault_leaves_nothing_behind),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);

    bw_log_fini();
    return failed;
}
