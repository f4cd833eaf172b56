/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/log.h"
#include "bwtool/world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every variable that a launcher sets: this test may itself be run under one. */
static const char *const variables[] = {
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_STEP_NUM_TASKS",
    "PALS_SIZE",
    "FLUX_JOB_SIZE",
    "JSM_NAMESPACE_SIZE",
    "PMIX_RANK",
    "PMI_RANK",
    "PMI_FD",
    "SLURM_NTASKS",
    "SLURM_PROCID",
};

static int forget_launcher(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        unsetenv(variables[i]);
    }
    bw_log_fini();
    bw_log_init(true, false);
    return 0;
}

static void open_world(struct bw_world *world)
{
    int argc = 0;
    char **argv = NULL;

    assert_int_equal(bw_world_open_all(world, &argc, &argv), BW_OK);
}

static void test_by_hand_is_one_process(void **state)
{
    struct bw_world world;

    (void)state;
    open_world(&world);
    assert_string_equal(world.ops->name, "single process");
    assert_int_equal(world.rank, 0);
    assert_int_equal(world.ranks, 1);
    assert_int_equal(world.local_rank, 0);
    assert_int_equal(world.local_ranks, 1);
    assert_string_equal(world.mpi_version, "");
    assert_true(strlen(world.host) > 0);
    assert_true(bw_world_is_root(&world));
    assert_int_equal(bw_log_count(), 0);
    bw_world_close_all(&world);
    assert_null(world.ops);
    bw_world_close_all(&world); /* again, and zeroed */
}

static void test_one_agrees_with_itself(void **state)
{
    struct bw_world world;

    (void)state;
    open_world(&world);
    for (int st = BW_OK; st <= BW_ERR_USAGE; st++) {
        assert_int_equal(bw_world_agree_all(&world, (enum bw_status)st, "test"), st);
    }
    bw_world_close_all(&world);
}

static void test_one_gathers_its_own(void **state)
{
    struct bw_world world;
    const uint64_t mine[2] = {7, UINT64_MAX};
    uint64_t all[3] = {1, 2, 3};

    (void)state;
    open_world(&world);
    assert_int_equal(bw_world_gather_all(&world, mine, all, sizeof mine), BW_OK);
    assert_true(all[0] == 7 && all[1] == UINT64_MAX && all[2] == 3);
    assert_int_equal(bw_world_gather_all(&world, all, all, sizeof all), BW_OK); /* in place */
    assert_true(all[0] == 7 && all[1] == UINT64_MAX && all[2] == 3);
    assert_int_equal(bw_world_gather_all(&world, NULL, NULL, 0), BW_OK);
    bw_world_close_all(&world);
}

#ifndef BWTOOL_WITH_MPI
/* How many warnings, and whether the last names `word`. */
static size_t warnings_with(const char *word)
{
    size_t n = 0;

    for (size_t i = 0; i < bw_log_count(); i++) {
        n += bw_log_level_at(i) == LOG_WARNING && strstr(bw_log_text_at(i), word) != NULL;
    }
    return n;
}

/* Which environments are a job of several processes, and which only look like one. */
static void test_launcher_is_noticed(void **state)
{
    static const struct {
        const char *variable, *value;
        size_t warnings;
    } cases[] = {
        {"OMPI_COMM_WORLD_SIZE", "2", 1},
        {"PMI_SIZE", "64", 1},
        {"SLURM_STEP_NUM_TASKS", "8", 1},
        {"OMPI_COMM_WORLD_SIZE", "1", 0},
        {"SLURM_NTASKS", "8", 0}, /* a batch script's own shell */
        {"PMI_SIZE", "", 0},
        {"PMI_SIZE", "many", 0},
        {"PMI_SIZE", "-4", 0},
        {"PMI_SIZE", "99999999999999999999", 0},
        {"PMI_RANK", "3", 0}, /* of how many is not known */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct bw_world world;

        forget_launcher(state);
        setenv(cases[i].variable, cases[i].value, 1);
        open_world(&world);
        assert_int_equal(world.ranks, 1);
        assert_int_equal(warnings_with(cases[i].variable), cases[i].warnings);
        assert_int_equal(warnings_with("BWTOOL_MPI"), cases[i].warnings);
        bw_world_close_all(&world);
    }
    forget_launcher(state);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_by_hand_is_one_process, forget_launcher),
        cmocka_unit_test_setup(test_one_agrees_with_itself, forget_launcher),
        cmocka_unit_test_setup(test_one_gathers_its_own, forget_launcher),
#ifndef BWTOOL_WITH_MPI
        cmocka_unit_test_setup(test_launcher_is_noticed, forget_launcher),
#endif
    };

    return cmocka_run_group_tests_name("world", tests, NULL, NULL);
}
