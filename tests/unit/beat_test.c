/* SPDX-License-Identifier: Apache-2.0 */
/* Hosts that watch each other by datagrams: who was heard and is silent is lost, nobody else. */
#include "unit.h"

#include "../../src/world/beat.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANKS = 4, SILENT_MS = 10000 };
static const uint64_t second = 1000000000;

static const struct bw_beat_note hub_note = {.rank = 0, .host = "one", .phase = "start"};
static const struct bw_beat_note leaf_note = {
    .rank = 2, .host = "two", .gpu = "GPU 0", .phase = "a testcase", .step = "filling"};

/* Datagrams to oneself take no time worth mentioning, but some. */
static bool look(struct bw_beat *beat, uint64_t now_ns, const struct bw_beat_note *mine,
                 struct bw_beat_note *lost)
{
    const struct timespec moment = {.tv_nsec = 2000000};

    nanosleep(&moment, NULL);
    return bw_beat_look(beat, now_ns, SILENT_MS, mine, lost);
}

struct pair {
    struct bw_beat_ticket ticket;
    struct bw_beat *hub, *leaf;
};

static void open_pair(struct pair *pair)
{
    pair->hub = bw_beat_open_hub(&pair->ticket, RANKS);
    assert_non_null(pair->hub);
    assert_true(pair->ticket.count > 0);
    pair->leaf = bw_beat_open(&pair->ticket);
    assert_non_null(pair->leaf);
}

static void close_pair(struct pair *pair)
{
    bw_beat_close(pair->leaf);
    bw_beat_close(pair->hub);
}

/* Both look, from `from` to `to`, twice a second; neither misses the other. */
static void live(struct pair *pair, unsigned from, unsigned to)
{
    struct bw_beat_note lost;

    for (uint64_t now = from * second; now <= to * second; now += second / 2) {
        assert_false(look(pair->leaf, now, &leaf_note, &lost));
        assert_false(look(pair->hub, now, &hub_note, &lost));
    }
}

/* Only one looks, until it misses the other: in which second? 0: never. */
static unsigned wait_alone(struct bw_beat *beat, const struct bw_beat_note *mine, unsigned from,
                           struct bw_beat_note *lost)
{
    for (uint64_t now = from * second; now <= (from + 60) * second; now += second / 2) {
        if (look(beat, now, mine, lost)) {
            return (unsigned)(now / second);
        }
    }
    return 0;
}

static void hub_misses_a_rank(void **state)
{
    struct pair pair;
    struct bw_beat_note lost;
    unsigned at = 0;

    (void)state;
    open_pair(&pair);
    live(&pair, 1, 20);
    at = wait_alone(pair.hub, &hub_note, 20, &lost);
    assert_in_range(at, 29, 32);
    assert_int_equal(lost.rank, 2);
    assert_string_equal(lost.host, "two");
    assert_string_equal(lost.gpu, "GPU 0");
    assert_string_equal(lost.phase, "a testcase");
    assert_string_equal(lost.step, "filling");
    close_pair(&pair);
}

static void rank_misses_the_hub(void **state)
{
    struct pair pair;
    struct bw_beat_note lost;

    (void)state;
    open_pair(&pair);
    live(&pair, 1, 5);
    assert_in_range(wait_alone(pair.leaf, &leaf_note, 5, &lost), 14, 17);
    assert_int_equal(lost.rank, 0);
    assert_string_equal(lost.host, "one");
    close_pair(&pair);
}

/* A firewall may let nothing through: that is no death. */
static void never_heard_is_not_lost(void **state)
{
    struct pair pair;
    struct bw_beat_note lost;

    (void)state;
    open_pair(&pair);
    assert_int_equal(wait_alone(pair.hub, &hub_note, 1, &lost), 0);
    bw_beat_close(pair.hub);
    pair.hub = NULL;
    assert_int_equal(wait_alone(pair.leaf, &leaf_note, 1, &lost), 0);
    close_pair(&pair);
}

static void other_jobs_are_not_heard(void **state)
{
    struct pair pair;
    struct bw_beat_note lost;
    struct bw_beat_ticket wrong;
    struct bw_beat *stranger = NULL;

    (void)state;
    open_pair(&pair);
    wrong = pair.ticket;
    wrong.token[31] ^= 1;
    stranger = bw_beat_open(&wrong);
    assert_non_null(stranger);
    for (unsigned now = 1; now < 5; now++) {
        assert_false(look(stranger, now * second, &leaf_note, &lost));
        assert_false(look(pair.hub, now * second, &hub_note, &lost));
    }
    assert_int_equal(wait_alone(pair.hub, &hub_note, 5, &lost), 0);
    bw_beat_close(stranger);
    close_pair(&pair);
}

/* A rank beyond the job's is rubbish, whoever says so. */
static void no_such_rank(void **state)
{
    const struct bw_beat_note beyond = {.rank = RANKS};
    struct pair pair;
    struct bw_beat_note lost;

    (void)state;
    open_pair(&pair);
    assert_false(look(pair.leaf, second, &beyond, &lost));
    assert_int_equal(wait_alone(pair.hub, &hub_note, 2, &lost), 0);
    close_pair(&pair);
}

/* Who was stopped himself has not listened. */
static void own_pause_is_nobodys_silence(void **state)
{
    struct pair pair;
    struct bw_beat_note lost;

    (void)state;
    open_pair(&pair);
    live(&pair, 1, 5);
    assert_false(look(pair.hub, 100 * second, &hub_note, &lost));
    live(&pair, 101, 105);
    close_pair(&pair);
}

static void nowhere_to_say_it(void **state)
{
    const struct bw_beat_ticket none = {.count = 0};

    (void)state;
    assert_null(bw_beat_open(&none));
    bw_beat_close(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hub_misses_a_rank),
        cmocka_unit_test(rank_misses_the_hub),
        cmocka_unit_test(never_heard_is_not_lost),
        cmocka_unit_test(other_jobs_are_not_heard),
        cmocka_unit_test(no_such_rank),
        cmocka_unit_test(own_pause_is_nobodys_silence),
        cmocka_unit_test(nowhere_to_say_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
