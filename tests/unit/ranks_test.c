/* SPDX-License-Identifier: Apache-2.0 */
/* By what memory travels between ranks, from what they say of themselves: on hosts that are not
 * there. */
#include "unit.h"

#include "../../src/measure/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 4 };

/* Two hosts of two ranks each, with all that fabric handles need. */
static void make(struct bw_rank_facts *facts)
{
    memset(facts, 0, RANKS * sizeof(*facts));
    for (int i = 0; i < RANKS; i++) {
        facts[i].rank = i;
        facts[i].host_rank = i / 2 * 2;
        strcpy(facts[i].host, i < 2 ? "one" : "two");
        facts[i].is_fabric_attribute = 1;
        facts[i].has_imex_channel = 1;
        facts[i].fabric.is_known = 1;
        facts[i].fabric.state = 3;
        memset(facts[i].fabric.cluster, 0xc1, sizeof(facts[i].fabric.cluster));
    }
}

/* The kind is that one, and the reason, if any, has these words. */
static void expect(const struct bw_rank_facts *facts, enum bw_share_kind kind, const char *words)
{
    char *reason = NULL;

    assert_int_equal(bw_ranks_choose_kind(facts, RANKS, &reason), kind);
    if (words == NULL) {
        assert_null(reason);
    } else {
        assert_non_null(reason);
        if (strstr(reason, words) == NULL) {
            fail_msg("'%s' lacks '%s'", reason, words);
        }
    }
    free(reason);
}

static void on_one_host(struct bw_rank_facts *facts)
{
    for (int i = 0; i < RANKS; i++) {
        facts[i].host_rank = 0;
    }
}

static void one_clique(void **state)
{
    struct bw_rank_facts facts[RANKS];

    (void)state;
    make(facts);
    expect(facts, SHARE_FABRIC, NULL);
}

static void no_fabric(void **state)
{
    struct bw_rank_facts facts[RANKS];

    (void)state;
    make(facts);
    memset(facts[2].fabric.cluster, 0, sizeof(facts[2].fabric.cluster));
    expect(facts, SHARE_NONE, "rank 2 (two): the GPU's fabric has an all-zero cluster UUID");
    make(facts);
    facts[3].fabric.clique = 7;
    expect(facts, SHARE_NONE, "rank 3 (two) is in clique 7, rank 0 (one) in clique 0");
    make(facts);
    facts[3].fabric.cluster[0] = 1;
    expect(facts, SHARE_NONE, "rank 3 (two) is in another NVLink cluster than rank 0 (one)");
    make(facts);
    facts[1].fabric.state = 2;
    expect(facts, SHARE_NONE, "registration is in progress");
    make(facts);
    facts[1].fabric.status = 999;
    expect(facts, SHARE_NONE, "failed with NVML error 999 (systemctl status nvidia-fabricmanager)");
    make(facts);
    facts[0].fabric_probe = CUDA_ERROR_NOT_PERMITTED;
    facts[0].has_imex_channel = 0;
    expect(facts, SHARE_NONE, "no IMEX channel device in /dev/nvidia-caps-imex-channels");
    facts[0].has_imex_channel = 1;
    expect(facts, SHARE_NONE, "cuMemCreate refuses fabric handles (systemctl status nvidia-imex");
    make(facts);
    facts[1].is_fabric_attribute = 0;
    expect(facts, SHARE_NONE, "rank 1 (one): the GPU or its driver has no fabric handles");
    make(facts);
    facts[1].fabric.is_known = 0;
    expect(facts, SHARE_NONE, "NVML does not say");
}

static void one_host(void **state)
{
    struct bw_rank_facts facts[RANKS];

    (void)state;
    make(facts);
    on_one_host(facts);
    facts[1].fabric_probe = CUDA_ERROR_NOT_PERMITTED;
    expect(facts, SHARE_FD, NULL);
    facts[2].fd_probe = CUDA_ERROR_NOT_SUPPORTED;
    expect(facts, SHARE_NONE, "rank 2 (two): [");
}

static void expect_trouble(const struct bw_rank_facts *facts, const char *words)
{
    char *why = NULL;

    assert_int_equal(bw_ranks_has_trouble(facts, RANKS, &why), words != NULL);
    if (words != NULL && strstr(why, words) == NULL) {
        fail_msg("'%s' lacks '%s'", why, words);
    }
    free(why);
}

/* What a machine lacks is one thing, a driver that fails another; and who cannot use it does not
 * matter. */
static void trouble(void **state)
{
    struct bw_rank_facts facts[RANKS];

    (void)state;
    make(facts);
    on_one_host(facts);
    expect_trouble(facts, NULL);
    facts[1].fabric_probe = CUDA_ERROR_NOT_PERMITTED;
    facts[2].fd_probe = CUDA_ERROR_NOT_SUPPORTED;
    expect_trouble(facts, NULL);
    facts[3].fd_probe = CUDA_ERROR_OUT_OF_MEMORY;
    expect_trouble(facts, "rank 3 (two): [");
    facts[3].host_rank = 3; /* another host: descriptors are of no use */
    expect_trouble(facts, NULL);
    facts[0].fabric_probe = CUDA_ERROR_UNKNOWN;
    expect_trouble(facts, "rank 0 (one): [");
    facts[0].is_fabric_attribute = 0;
    expect_trouble(facts, NULL);
}

/* A fan's hub has a buffer for each of the others; a pair has one to read and one to write. */
static void slots(void **state)
{
    unsigned count[RANKS];
    struct bw_plan plan;

    (void)state;
    assert_int_equal(bw_plan_build(&plan, &bw_testcases[35], RANKS, NULL), BW_OK);
    assert_int_equal(bw_ranks_slots(&plan, RANKS, count), 1);
    assert_int_equal(bw_ranks_multicast_slots(&plan), 0);
    bw_plan_free(&plan);
    assert_int_equal(bw_plan_build(&plan, &bw_testcases[37], RANKS, NULL), BW_OK);
    assert_int_equal(bw_ranks_slots(&plan, RANKS, count), 2);
    bw_plan_free(&plan);
    assert_int_equal(bw_plan_build(&plan, &bw_testcases[43], RANKS, NULL), BW_OK);
    assert_int_equal(bw_ranks_slots(&plan, RANKS, count), RANKS - 1);
    bw_plan_free(&plan);
    assert_int_equal(bw_plan_build(&plan, &bw_testcases[46], RANKS, NULL), BW_OK);
    assert_int_equal(bw_ranks_slots(&plan, RANKS, count), 0);
    assert_int_equal(bw_ranks_multicast_slots(&plan), RANKS);
    bw_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_clique), cmocka_unit_test(no_fabric), cmocka_unit_test(one_host),
        cmocka_unit_test(trouble),    cmocka_unit_test(slots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
