/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/host/impl.h"
#include "../../src/host/job.h"
#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* No test here depends on how fast anything is: only on what arrives, and that nothing hangs. */

static const uint64_t long_ns = UINT64_C(60000000000);

static struct bw_topology *this_machine, *four_nodes;

static int open_machines(void **state)
{
    char path[512];

    (void)state;
    bw_log_init(true, false);
    snprintf(path, sizeof path, "%s/xml/four.xml", BWTOOL_TESTS_DIR);
    return bw_topology_open(&this_machine, NULL) != BW_OK ||
           bw_topology_open(&four_nodes, path) != BW_OK;
}

static int close_machines(void **state)
{
    (void)state;
    bw_topology_close(four_nodes);
    bw_topology_close(this_machine);
    bw_log_fini();
    return 0;
}

static int fresh_log(void **state)
{
    (void)state;
    bw_log_fini();
    bw_log_init(true, false);
    return 0;
}

static struct bw_cpu_job *open_job(const struct bw_topology *topology, enum bw_cpu_op op,
                                   size_t bytes)
{
    const int last = bw_topology_node_count(topology) - 1;
    const struct bw_cpu_spec spec = {
        .op = op, .cpu_node = last, .src_node = last / 2, .dst_node = 0, .bytes = bytes};
    struct bw_cpu_job *job = NULL;

    assert_int_equal(bw_cpu_job_open(&job, topology, &spec), BW_OK);
    assert_non_null(job);
    return job;
}

static void run_job(struct bw_cpu_job *job, uint64_t copies, size_t samples)
{
    double ns[8];

    assert_true(samples <= 8);
    for (size_t i = 0; i < 8; i++) {
        ns[i] = -1;
    }
    assert_int_equal(bw_cpu_job_start(job, copies, samples), BW_OK);
    bw_cpu_job_release(job);
    assert_int_equal(bw_cpu_job_wait(job, bw_clock_ns() + long_ns, ns), BW_OK);
    for (size_t i = 0; i < samples; i++) {
        assert_true(ns[i] > 0 && ns[i] < 1e11);
    }
}

static enum bw_status check_job(struct bw_cpu_job *job, uint64_t seed, struct bw_cpu_check *check)
{
    memset(check, 0xff, sizeof *check);
    return bw_cpu_job_check(job, seed, check);
}

/* What every pass must do, written plainly. */
static void test_passes_do_every_byte(void **state)
{
    enum { ROOM = 4096 };
    static _Alignas(64) unsigned char src[ROOM], dst[ROOM + 64], expected[ROOM];
    const struct bw_pass *pass = NULL;

    (void)state;
    for (size_t p = 0; (pass = bw_pass_at(p)) != NULL; p++) {
        print_message("%s\n", pass->name);
        for (size_t bytes = 0; bytes <= ROOM; bytes += bytes < 1100 ? 1 : 97) {
            uint64_t sum = 0;

            for (size_t i = 0; i < bytes; i++) {
                const uint64_t word = 77 + i / 8 * BW_PATTERN_STEP;

                src[i] = (unsigned char)(i * 31 + i / 256);
                expected[i] = (unsigned char)(word >> (8 * (i % 8)));
                sum += (uint64_t)src[i] << (8 * (i % 8));
            }
            memset(dst, 0xee, sizeof dst);
            pass->copy(dst, src, bytes);
            pass->fence();
            assert_memory_equal(dst, src, bytes);
            assert_int_equal(dst[bytes], 0xee);
            assert_true(pass->read(src, bytes) == sum);
            memset(dst, 0xee, sizeof dst);
            pass->write(dst, bytes, 77, BW_PATTERN_STEP);
            pass->fence();
            assert_memory_equal(dst, expected, bytes);
            assert_int_equal(dst[bytes], 0xee);
        }
    }
    assert_true(bw_pass_at(1) != NULL || bw_pass_at(0) == &bw_pass_portable);
}

static void test_pattern_sum(void **state)
{
    uint64_t sum = 0;

    (void)state;
    assert_true(bw_pattern_sum(5, 3, 3) == 0);
    for (uint64_t i = 0; i < 100; i++) {
        sum += bw_pattern_first(9) + i * BW_PATTERN_STEP;
        assert_true(bw_pattern_sum(bw_pattern_first(9), 0, i + 1) == sum);
    }
    sum = 0;
    for (uint64_t i = 0; i < 7; i++) {
        const uint64_t at = (UINT64_C(1) << 62) + i;

        sum += 1 + at * BW_PATTERN_STEP;
    }
    assert_true(bw_pattern_sum(1, UINT64_C(1) << 62, (UINT64_C(1) << 62) + 7) == sum);
    assert_true(bw_pattern_first(1) != bw_pattern_first(2));
}

static void test_chain_is_one_cycle(void **state)
{
    static const size_t counts[] = {1, 2, 3, 17, 64, 1000, 4097};

    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        const size_t count = counts[c];
        struct bw_chain chain;
        char *data = aligned_alloc(64, count * BW_CHAIN_LINE);
        const void *at = data;
        size_t line = 0;
        size_t fixed = 0;

        assert_non_null(data);
        assert_int_equal(bw_chain_build(&chain, count), BW_OK);
        bw_chain_write(&chain, data, 3, bw_pass_at(0));
        for (size_t i = 0; i < count; i++) {
            assert_true(i == 0 || line != 0); /* back at the start after all, not before */
            fixed += chain.next[line] == line + 1;
            line = chain.next[line];
            at = bw_chain_follow(at, 1);
            assert_ptr_equal(at, data + line * BW_CHAIN_LINE);
            assert_true(bw_chain_line_after(&chain, i + 1) == line);
        }
        assert_int_equal(line, 0);
        assert_true(count < 64 || fixed < count / 8); /* in no order that can be foreseen */
        assert_ptr_equal(bw_chain_follow(data, 3 * count + 5), bw_chain_follow(data, 5));
        bw_chain_free(&chain);
        free(data);
    }
    assert_int_not_equal(bw_chain_build(&(struct bw_chain){0}, 0), BW_OK);
    assert_int_not_equal(bw_chain_build(&(struct bw_chain){0}, (size_t)1 << 32), BW_OK);
}

static const enum bw_cpu_op ops[] = {CPU_COPY, CPU_READ, CPU_WRITE, CPU_CHASE};
static const size_t sizes[] = {1024, 1025, 1087, 4099, 65536, 100003, (3 << 20) + 5, 9 << 20};

/* Every operation and size, here and on a machine with more nodes and threads than there are. */
static void test_every_byte_arrives(void **state)
{
    const struct bw_topology *machines[] = {this_machine, four_nodes};

    (void)state;
    for (size_t i = 0; i < 2 * 4 * sizeof sizes / sizeof sizes[0]; i++) {
        const size_t bytes = sizes[i / 8];
        struct bw_cpu_job *job = open_job(machines[i / 4 % 2], ops[i % 4], bytes);
        struct bw_cpu_check check;

        assert_int_equal(bw_cpu_job_fill(job, i), BW_OK);
        run_job(job, 1, 1);
        assert_int_equal(bw_cpu_job_poison(job, i), BW_OK);
        run_job(job, 2, 3);
        run_job(job, 1, 8);
        assert_int_equal(check_job(job, i, &check), BW_OK);
        assert_true(check.wrong_bytes == 0);
        bw_cpu_job_close(job);
    }
    assert_int_equal(bw_log_error_count(), 0);
}

static void test_sizes_and_threads(void **state)
{
    struct bw_cpu_job *job = open_job(four_nodes, CPU_COPY, 1024);

    (void)state;
    assert_int_equal(bw_cpu_job_threads(job), 1); /* more would bring nothing */
    assert_int_equal(bw_cpu_job_bytes(job), 1024);
    assert_int_equal(bw_cpu_job_unit(job), 1024);
    assert_string_equal(bw_cpu_job_kernel(job), bw_pass_at(0)->name);
    bw_cpu_job_close(job);
    job = open_job(four_nodes, CPU_READ, (1 << 20) + 1);
    assert_int_equal(bw_cpu_job_threads(job), 4);
    assert_int_equal(job->slices[3].end, (1 << 20) + 1);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(job->slices[i].end, job->slices[i + 1].begin);
    }
    bw_cpu_job_close(job);
    job = open_job(four_nodes, CPU_CHASE, 0);
    assert_int_equal(bw_cpu_job_threads(job), 1);
    assert_int_equal(bw_cpu_job_bytes(job), 128 << 20); /* four times 32 MiB */
    assert_int_equal(bw_cpu_job_unit(job), 65536);
    bw_cpu_job_close(job);
    job = open_job(four_nodes, CPU_CHASE, 4095);
    assert_int_equal(bw_cpu_job_bytes(job), 4032);
    assert_int_equal(bw_cpu_job_unit(job), 63); /* once around */
    bw_cpu_job_close(job);
}

/* Nothing written: all bytes are poison, and each differs. */
static void test_poison_is_seen(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct bw_cpu_job *job = open_job(four_nodes, CPU_COPY, sizes[i]);
        struct bw_cpu_check check;

        assert_int_equal(bw_cpu_job_fill(job, 5), BW_OK);
        run_job(job, 1, 1);
        assert_int_equal(check_job(job, 5, &check), BW_OK);
        assert_int_equal(check_job(job, 6, &check), BW_ERR_VERIFY); /* what came before */
        assert_int_equal(bw_cpu_job_poison(job, 5), BW_OK);
        assert_int_equal(check_job(job, 5, &check), BW_ERR_VERIFY);
        assert_true(check.wrong_bytes == sizes[i]);
        assert_true(check.first_offset == 0 && check.got == ~check.expected);
        bw_cpu_job_close(job);
    }
}

static void test_spoiled_words_are_seen(void **state)
{
    static const uint64_t words[] = {0, 1, 2, 16, 17, 255};

    (void)state;
    for (size_t i = 0; i < 4 * sizeof words / sizeof words[0]; i++) {
        struct bw_cpu_job *job = open_job(four_nodes, ops[i % 4], 1024);
        const uint64_t word = words[i / 4];
        struct bw_cpu_check check;

        assert_int_equal(bw_cpu_job_fill(job, 1), BW_OK);
        assert_int_equal(bw_cpu_job_poison(job, 1), BW_OK);
        run_job(job, 1, 2);
        bw_cpu_job_corrupt(job, word + 256); /* modulo the words that there are */
        assert_int_equal(check_job(job, 1, &check), BW_ERR_VERIFY);
        assert_true(check.wrong_bytes == 4 && check.first_offset == 4 * word);
        assert_true((check.expected ^ check.got) ==
                    (word % 2 == 0 ? UINT64_C(0xffffffff) : UINT64_C(0xffffffff) << 32));
        assert_false(check.is_sum);
        bw_cpu_job_corrupt(job, word);
        assert_int_equal(check_job(job, 1, &check), BW_OK);
        bw_cpu_job_close(job);
    }
}

static void drop_last_byte(void *dst, const void *src, size_t bytes)
{
    memcpy(dst, src, bytes - 1);
}

static void drop_tail(void *dst, size_t bytes, uint64_t first, uint64_t step)
{
    bw_pass_portable.write(dst, bytes / 64 * 64, first, step);
}

static uint64_t read_less(const void *src, size_t bytes)
{
    return bw_pass_portable.read(src, bytes - 8);
}

/* A kernel that leaves something out, one of each kind. */
static void test_lost_tails_are_seen(void **state)
{
    const struct bw_pass broken = {.name = "broken",
                                   .copy = drop_last_byte,
                                   .read = read_less,
                                   .write = drop_tail,
                                   .fence = bw_pass_portable.fence};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct bw_cpu_job *job = open_job(four_nodes, ops[i], 1087);
        struct bw_cpu_check check;

        assert_int_equal(bw_cpu_job_fill(job, 2), BW_OK);
        assert_int_equal(bw_cpu_job_poison(job, 2), BW_OK);
        job->pass = &broken;
        run_job(job, 1, 1);
        assert_int_equal(check_job(job, 2, &check), BW_ERR_VERIFY);
        assert_true(check.is_sum == (ops[i] == CPU_READ));
        if (ops[i] == CPU_COPY) { /* in the last word, of 7 bytes */
            assert_true(check.wrong_bytes == 1 && check.first_offset == 1086);
            assert_true(check.expected >> 56 == 0 && check.got >> 56 == 0);
        } else if (ops[i] == CPU_WRITE) {
            assert_true(check.wrong_bytes == 63 && check.first_offset == 1024);
        }
        bw_cpu_job_close(job);
    }
}

static void test_wrong_way_through_the_cycle_is_seen(void **state)
{
    struct bw_cpu_job *job = open_job(four_nodes, CPU_CHASE, 4096);
    struct bw_cpu_check check;

    (void)state;
    assert_int_equal(bw_cpu_job_fill(job, 2), BW_OK);
    run_job(job, 3, 2);
    job->slices[0].at = bw_chain_follow(job->slices[0].at, 1);
    assert_int_equal(check_job(job, 2, &check), BW_ERR_VERIFY);
    assert_true(check.is_sum && check.wrong_bytes > 0 && check.expected != check.got);
    assert_int_equal(bw_cpu_job_fill(job, 2), BW_OK); /* begins anew */
    run_job(job, 1, 1);
    assert_int_equal(check_job(job, 2, &check), BW_OK);
    bw_cpu_job_close(job);
}

static void test_deadlines_end_what_does_not(void **state)
{
    double ns[1];

    (void)state;
    for (size_t i = 0; i < 2 * 4; i++) {
        struct bw_cpu_job *job = open_job(four_nodes, ops[i % 4], 1 << 20);
        struct bw_cpu_check check;

        assert_int_equal(bw_cpu_job_fill(job, 1), BW_OK);
        assert_int_equal(bw_cpu_job_start(job, UINT64_MAX, 1), BW_OK);
        if (i >= 4) { /* else nobody lets them go */
            bw_cpu_job_release(job);
        }
        assert_int_equal(bw_cpu_job_wait(job, bw_clock_ns() + 20000000, ns), BW_ERR_TIMEOUT);
        assert_int_equal(bw_cpu_job_wait(job, bw_clock_ns() + 20000000, ns), BW_ERR_TIMEOUT);
        assert_int_equal(bw_cpu_job_start(job, 1, 1), BW_ERR_TIMEOUT);
        assert_int_equal(bw_cpu_job_fill(job, 1), BW_ERR_TIMEOUT);
        assert_int_equal(bw_cpu_job_poison(job, 1), BW_ERR_TIMEOUT);
        assert_int_equal(check_job(job, 1, &check), BW_ERR_TIMEOUT);
        bw_cpu_job_close(job);
    }
    bw_cpu_job_close(NULL);
}

static void test_closing_a_job_that_runs(void **state)
{
    struct bw_cpu_job *job = open_job(four_nodes, CPU_WRITE, 1 << 20);

    (void)state;
    assert_int_equal(bw_cpu_job_start(job, UINT64_MAX, 2), BW_OK);
    bw_cpu_job_close(job);
    assert_int_equal(bw_log_count(), 0);
}

static atomic_bool may_end, has_ended;

static void hang(void *dst, const void *src, size_t bytes)
{
    while (!atomic_load(&may_end)) {
        bw_clock_sleep_us(1000);
    }
    memcpy(dst, src, bytes); /* must still be there */
    atomic_store(&has_ended, true);
}

/* Stuck in the kernel, say: neither the wait nor closing may hang, and nothing is freed under it.
 */
static void test_a_thread_that_never_comes_back(void **state)
{
    const struct bw_pass stuck = {.name = "stuck",
                                  .copy = hang,
                                  .read = bw_pass_portable.read,
                                  .write = bw_pass_portable.write,
                                  .fence = bw_pass_portable.fence};
    struct bw_cpu_job *job = open_job(four_nodes, CPU_COPY, 1024);
    double ns[1];

    (void)state;
    assert_int_equal(bw_cpu_job_fill(job, 1), BW_OK);
    job->pass = &stuck;
    job->grace_ns = 20000000;
    assert_int_equal(bw_cpu_job_start(job, 1, 1), BW_OK);
    bw_cpu_job_release(job);
    assert_int_equal(bw_cpu_job_wait(job, bw_clock_ns() + 20000000, ns), BW_ERR_TIMEOUT);
    bw_cpu_job_close(job);
    assert_int_equal(bw_log_count(), 2); /* the deadline, and the thread left alone */
    assert_int_equal(bw_log_level_at(1), LOG_WARNING);
    atomic_store(&may_end, true);
    for (int i = 0; i < 60000 && !atomic_load(&has_ended); i++) {
        bw_clock_sleep_us(1000);
    }
    assert_true(atomic_load(&has_ended));
    job->grace_ns = JOB_GRACE_NS;
    bw_cpu_job_close(job); /* now it can be freed */
}

static void test_memory_that_is_not_there(void **state)
{
    const struct bw_cpu_spec spec = {.op = CPU_COPY, .bytes = (size_t)1 << 50};
    struct bw_cpu_job *job = (struct bw_cpu_job *)8;

    (void)state;
    assert_int_equal(bw_cpu_job_open(&job, this_machine, &spec), BW_ERR_MEMORY);
    assert_null(job);
    assert_int_equal(bw_log_error_count(), 1);
    assert_non_null(strstr(bw_log_text_at(0), "1073741824 MiB asked for"));
    assert_non_null(strstr(bw_log_text_at(0), "MiB free"));
}

/* A second node that is not there: what was asked for on it comes from the first. */
static void test_memory_of_another_node_is_refused(void **state)
{
    const struct bw_cpu_spec spec = {.op = CPU_READ, .src_node = 1, .bytes = 1 << 20};
    struct bw_topology *topology = NULL;
    struct bw_cpu_job *job = NULL;
    struct node *real = NULL;
    struct node nodes[2];

    (void)state;
    assert_int_equal(bw_topology_open(&topology, NULL), BW_OK);
    if (topology->node_count > 1 || bw_topology_where(topology, nodes, sizeof nodes) != 0) {
        bw_topology_close(topology);
        skip(); /* there is one, or the system does not say where memory is */
    }
    real = topology->nodes;
    nodes[0] = real[0];
    nodes[1] = real[0];
    nodes[1].object = four_nodes->nodes[1].object;
    topology->nodes = nodes;
    topology->node_count = 2;
    assert_int_equal(bw_cpu_job_open(&job, topology, &spec), BW_ERR_MEMORY);
    assert_null(job);
    assert_int_equal(bw_log_error_count(), 1);
    assert_non_null(strstr(bw_log_reason(), "1 MiB were asked for on NUMA node 1"));
    topology->nodes = real;
    topology->node_count = 1;
    bw_topology_close(topology);
}

static void test_too_small(void **state)
{
    const struct bw_cpu_spec spec = {.op = CPU_READ, .bytes = 1023};
    struct bw_cpu_job *job = NULL;

    (void)state;
    assert_int_equal(bw_cpu_job_open(&job, this_machine, &spec), BW_ERR_USAGE);
    assert_null(job);
}

static void test_node_without_cpus_is_waived(void **state)
{
    const struct bw_cpu_spec spec = {.op = CPU_READ, .cpu_node = 1, .bytes = 4096};
    struct bw_topology *topology = NULL;
    struct bw_cpu_job *job = NULL;
    char path[512];
    char *waiver = NULL;

    (void)state;
    snprintf(path, sizeof path, "%s/xml/two_restricted.xml", BWTOOL_TESTS_DIR);
    assert_int_equal(bw_topology_open(&topology, path), BW_OK);
    waiver = bw_cpu_waiver(topology, &spec);
    assert_string_equal(waiver, "NUMA node 1 has no CPU that this process may use");
    free(waiver);
    assert_int_equal(bw_cpu_job_open(&job, topology, &spec), BW_WAIVED);
    assert_null(job);
    assert_int_equal(bw_log_error_count(), 0);
    /* its memory can be used by others */
    assert_int_equal(
        bw_cpu_job_open(&job, topology,
                        &(struct bw_cpu_spec){.op = CPU_READ, .src_node = 1, .bytes = 4096}),
        BW_OK);
    bw_cpu_job_close(job);
    assert_null(bw_cpu_waiver(topology, &(struct bw_cpu_spec){.op = CPU_READ, .src_node = 1}));
    bw_topology_close(topology);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, fresh_log)
    const struct CMUnitTest tests[] = {
        TEST(test_passes_do_every_byte),
        TEST(test_pattern_sum),
        TEST(test_chain_is_one_cycle),
        TEST(test_every_byte_arrives),
        TEST(test_sizes_and_threads),
        TEST(test_poison_is_seen),
        TEST(test_spoiled_words_are_seen),
        TEST(test_lost_tails_are_seen),
        TEST(test_wrong_way_through_the_cycle_is_seen),
        TEST(test_deadlines_end_what_does_not),
        TEST(test_closing_a_job_that_runs),
        TEST(test_a_thread_that_never_comes_back),
        TEST(test_memory_that_is_not_there),
        TEST(test_memory_of_another_node_is_refused),
        TEST(test_too_small),
        TEST(test_node_without_cpus_is_waived),
    };
#undef TEST

    return cmocka_run_group_tests_name("cpu", tests, open_machines, close_machines);
}
