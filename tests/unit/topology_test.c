/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/host/impl.h"
#include "bwtool/log.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/mempolicy.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { NODES_MAX = 4, GPUS_MAX = 4 };

/* Machines written down as XML, and what is to be seen of them. */
static const struct machine {
    const char *file;
    int nodes;
    struct {
        int os_index, cpus, cores;
    } node[NODES_MAX];
    struct {
        const char *pci;
        int node;
    } gpus[GPUS_MAX];
} machines[] = {
    {"one.xml", 1, {{0, 4, 4}}, {{"0000:0f:00.0", 0}, {"0000:10:00.0", -1}}},
    {"two.xml",
     2,
     {{0, 4, 2}, {1, 4, 2}},
     {{"0000:0f:00.0", 0}, {"0000:b7:00.0", 1}, {"0000:c0:00.0", -1}, {"nonsense", -1}}},
    {"four.xml",
     4,
     {{0, 4, 4}, {1, 4, 4}, {2, 4, 4}, {3, 4, 4}},
     {{"0000:01:00.0", 0}, {"0000:e1:00.0", 3}, {"0000:e2:00.0", 3}, {"0000:a1:00.0", -1}}},
    /* CPU 0 and 3: of two cores; the other node keeps its memory and the GPU near to it */
    {"two_restricted.xml", 2, {{0, 2, 2}, {1, 0, 0}}, {{"0000:0f:00.0", 0}, {"0000:b7:00.0", 1}}},
    /* the first node is not ours: the second is number 0, and known by its own number */
    {"two_one_allowed.xml", 1, {{1, 4, 2}}, {{"0000:b7:00.0", 0}, {"0000:0f:00.0", -1}}},
    {"two_no_pci.xml", 2, {{0, 4, 2}, {1, 4, 2}}, {{"0000:0f:00.0", -1}}},
    /* memory only: CPUs that hwloc calls near are the ordinary node's */
    {"high_bandwidth.xml", 4, {{0, 2, 2}, {1, 0, 0}, {2, 2, 2}, {3, 0, 0}}, {{"0000:b7:00.0", 2}}},
    {"gpu_memory.xml", 2, {{0, 4, 4}, {1, 0, 0}}, {{"0009:01:00.0", 0}}},
};

static int fresh_log(void **state)
{
    (void)state;
    bw_log_fini();
    bw_log_init(true, false);
    return 0;
}

static struct bw_topology *open_xml(const char *file)
{
    struct bw_topology *topology = NULL;
    char path[512];

    snprintf(path, sizeof path, "%s/xml/%s", BWTOOL_TESTS_DIR, file);
    assert_int_equal(bw_topology_open(&topology, path), BW_OK);
    return topology;
}

static void test_written_machines(void **state)
{
    (void)state;
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        const struct machine *machine = &machines[m];
        struct bw_topology *topology = open_xml(machine->file);

        print_message("%s\n", machine->file);
        assert_int_equal(bw_topology_node_count(topology), machine->nodes);
        for (int i = 0; i < machine->nodes; i++) {
            assert_int_equal(bw_topology_node_os_index(topology, i), machine->node[i].os_index);
            assert_int_equal(bw_topology_node_cpus(topology, i), machine->node[i].cpus);
            assert_int_equal(bw_topology_node_cores(topology, i), machine->node[i].cores);
            assert_true(bw_topology_node_memory_bytes(topology, i) >= (size_t)16 << 30);
        }
        for (int i = 0; i < GPUS_MAX && machine->gpus[i].pci != NULL; i++) {
            assert_int_equal(bw_topology_node_of_pci(topology, machine->gpus[i].pci),
                             machine->gpus[i].node);
        }
        bw_topology_close(topology);
    }
}

static void test_caches(void **state)
{
    struct bw_topology *topology = open_xml("four.xml");

    (void)state;
    assert_int_equal(bw_topology_cache_bytes(topology, 2), 32 << 20);
    assert_int_equal(bw_topology_caches_bytes(topology, 2), 64 << 20);
    bw_topology_close(topology);
    topology = open_xml("two_restricted.xml");
    assert_int_equal(bw_topology_caches_bytes(topology, 0), 32 << 20); /* shared: once */
    assert_int_equal(bw_topology_cache_bytes(topology, 1), 0);         /* no CPU, no cache */
    bw_topology_close(topology);
}

/* Threads 0 .. cores-1 shall not share cores. */
static void test_cores_come_before_siblings(void **state)
{
    struct bw_topology *topology = open_xml("two.xml");
    const unsigned expected[] = {4, 6, 5, 7};

    (void)state;
    assert_memory_equal(topology->nodes[1].order, expected, sizeof expected);
    bw_topology_close(topology);
}

/* numactl --cpunodebind, --membind and taskset, as the open call finds them. */
static void test_callers_restriction(void **state)
{
    struct bw_topology *topology = open_xml("two.xml");
    hwloc_bitmap_t set = hwloc_bitmap_alloc();

    (void)state;
    assert_non_null(set);
    hwloc_bitmap_set_range(set, 4, 6);
    assert_int_equal(bw_topology_find_nodes(topology, set, NULL), BW_OK);
    assert_int_equal(bw_topology_node_count(topology), 2);
    assert_int_equal(bw_topology_node_cpus(topology, 0), 0);
    assert_int_equal(bw_topology_node_cpus(topology, 1), 3);
    assert_int_equal(bw_topology_node_cores(topology, 1), 2);
    hwloc_bitmap_only(set, 1); /* memory of node 1 only: the GPU of node 0 has no node then */
    assert_int_equal(bw_topology_find_nodes(topology, topology->home_cpus, set), BW_OK);
    assert_int_equal(bw_topology_node_count(topology), 1);
    assert_int_equal(bw_topology_node_os_index(topology, 0), 1);
    assert_int_equal(bw_topology_node_of_pci(topology, "0000:0f:00.0"), -1);
    assert_int_equal(bw_topology_node_of_pci(topology, "0000:b7:00.0"), 0);
    hwloc_bitmap_only(set, 7); /* no such node */
    assert_int_equal(bw_topology_find_nodes(topology, topology->home_cpus, set), BW_ERR_SYSTEM);
    hwloc_bitmap_free(set);
    bw_topology_close(topology);
}

static void test_launchers_core_is_widened_and_a_wish_is_not(void **state)
{
    struct bw_topology *topology = open_xml("two.xml");

    (void)state;
    hwloc_bitmap_only(topology->home_cpus, 2); /* a hardware thread; then its whole core */
    for (int i = 0; i < 2; i++) {
        hwloc_bitmap_copy(topology->usable, topology->home_cpus);
        assert_int_equal(bw_topology_find_nodes(topology, topology->usable, NULL), BW_OK);
        assert_int_equal(bw_topology_node_cpus(topology, 0), i + 1);
        assert_int_equal(bw_topology_widen(topology), BW_OK);
        assert_int_equal(bw_topology_node_cpus(topology, 0), 4);
        assert_int_equal(bw_topology_node_cpus(topology, 1), 4);
        hwloc_bitmap_set(topology->home_cpus, 3);
    }
    hwloc_bitmap_set(topology->home_cpus, 4);
    hwloc_bitmap_copy(topology->usable, topology->home_cpus);
    assert_int_equal(bw_topology_find_nodes(topology, topology->usable, NULL), BW_OK);
    assert_int_equal(bw_topology_widen(topology), BW_OK);
    assert_int_equal(bw_topology_node_cpus(topology, 0), 2);
    assert_int_equal(bw_topology_node_cpus(topology, 1), 1);
    bw_topology_close(topology);
}

/* A machine that is only written down is never bound to. */
static void test_xml_binds_nothing(void **state)
{
    struct bw_topology *topology = open_xml("four.xml");
    cpu_set_t before, after;
    char bytes[64] = {0};

    (void)state;
    sched_getaffinity(0, sizeof before, &before);
    assert_int_equal(bw_topology_bind(topology, 3), BW_OK);
    assert_int_equal(bw_topology_bind_cpu(topology, 2, 1), BW_OK);
    assert_int_equal(bw_topology_bind_memory(topology, 1, bytes, sizeof bytes), BW_OK);
    assert_int_equal(bw_topology_where(topology, bytes, sizeof bytes), -2);
    assert_true(bw_topology_node_free_bytes(topology, 0) == SIZE_MAX);
    sched_getaffinity(0, sizeof after, &after);
    assert_true(CPU_EQUAL(&before, &after));
    assert_int_equal(bw_log_count(), 0);
    bw_topology_close(topology);
}

static void test_no_such_file(void **state)
{
    struct bw_topology *topology = (struct bw_topology *)8;

    (void)state;
    assert_int_not_equal(bw_topology_open(&topology, "/nonexistent.xml"), BW_OK);
    assert_null(topology);
    assert_int_equal(bw_log_error_count(), 1);
    bw_topology_close(NULL);
}

/* First CPU of the calling thread, alone. */
static size_t take_one_cpu(cpu_set_t *all)
{
    cpu_set_t one;
    size_t cpu = 0;

    assert_int_equal(sched_getaffinity(0, sizeof *all, all), 0);
    while (!CPU_ISSET(cpu, all)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    return cpu;
}

static void test_this_machine_respects_and_restores(void **state)
{
    struct bw_topology *topology = NULL;
    cpu_set_t all, now;
    const size_t cpu = take_one_cpu(&all);
    int total = 0;

    (void)state;
    assert_int_equal(bw_topology_open(&topology, NULL), BW_OK);
    for (int i = 0; i < bw_topology_node_count(topology); i++) {
        total += bw_topology_node_cpus(topology, i);
        assert_int_equal(bw_topology_bind(topology, i), BW_OK);
        sched_getaffinity(0, sizeof now, &now);
        assert_true(CPU_COUNT(&now) == 1 && CPU_ISSET(cpu, &now));
    }
    assert_int_equal(total, 1);
    /* as a rank of a job: all that the cgroup allows, and back at the end */
    assert_int_equal(bw_topology_widen(topology), BW_OK);
    assert_int_equal(bw_topology_bind(topology, -1), BW_OK);
    sched_getaffinity(0, sizeof now, &now);
    assert_true(CPU_COUNT(&now) >= CPU_COUNT(&all));
    bw_topology_close(topology);
    sched_getaffinity(0, sizeof now, &now);
    assert_true(CPU_COUNT(&now) == 1 && CPU_ISSET(cpu, &now));
    sched_setaffinity(0, sizeof all, &all);
}

static void test_memory_policy_comes_back(void **state)
{
    struct bw_topology *topology = NULL;
    struct mempolicy before, after;
    unsigned long first_node = 1;
    int mode = -1;

    (void)state;
    if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, &first_node, 8 * sizeof first_node) != 0) {
        skip(); /* a container that forbids it */
    }
    bw_mempolicy_save(&before);
    assert_true(before.is_known);
    assert_null(bw_mempolicy_nodes(&before)); /* a preference forbids nothing */
    assert_int_equal(bw_topology_open(&topology, NULL), BW_OK);
    assert_int_equal(syscall(SYS_set_mempolicy, MPOL_BIND, &first_node, 8 * sizeof first_node), 0);
    bw_topology_close(topology);
    bw_mempolicy_save(&after);
    assert_memory_equal(&before, &after, sizeof before);
    assert_int_equal(syscall(SYS_get_mempolicy, &mode, NULL, 0UL, NULL, 0UL), 0);
    assert_int_equal(mode, MPOL_PREFERRED);
    syscall(SYS_set_mempolicy, MPOL_BIND, &first_node, 8 * sizeof first_node);
    bw_mempolicy_save(&after);
    {
        hwloc_bitmap_t nodes = bw_mempolicy_nodes(&after);

        assert_non_null(nodes);
        assert_true(hwloc_bitmap_weight(nodes) == 1 && hwloc_bitmap_first(nodes) == 0);
        hwloc_bitmap_free(nodes);
    }
    syscall(SYS_set_mempolicy, MPOL_DEFAULT, NULL, 0UL);
}

static void test_where_memory_is(void **state)
{
    struct bw_topology *topology = NULL;
    const size_t bytes = (size_t)1 << 20;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int where = 0;

    (void)state;
    assert_true(memory != MAP_FAILED);
    assert_int_equal(bw_topology_open(&topology, NULL), BW_OK);
    assert_int_equal(bw_topology_bind_memory(topology, 0, memory, bytes), BW_OK);
    memset(memory, 1, bytes);
    where = bw_topology_where(topology, memory, bytes);
    assert_true(where == 0 || where == -2); /* -2: a container that does not say */
    assert_true(bw_topology_node_free_bytes(topology, 0) > 0);
    bw_topology_close(topology);
    munmap(memory, bytes);
}

/* What a container's seccomp profile does: a system call answers EPERM. */
static void forbid(int call)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {.len = 4, .filter = rules};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(77);
    }
}

static bool is_said_once(void)
{
    return bw_log_count() == 2 && bw_log_level_at(0) == LOG_WARNING &&
           bw_log_level_at(1) == LOG_WARNING &&
           strstr(bw_log_text_at(0), "CPUs (Operation not permitted)") != NULL &&
           strstr(bw_log_text_at(1), "NUMA node (Operation not permitted)") != NULL;
}

/* Runs in a child: the filters stay for good. */
static int bind_while_forbidden(void)
{
    static char bytes[8192];
    struct bw_topology *topology = NULL;
    bool ok = bw_topology_open(&topology, NULL) == BW_OK;

    if (!ok) {
        return 1;
    }
    /* one node or more, as if it had several: memory is not bound where there is no choice */
    topology->node_count++;
    forbid(SYS_sched_setaffinity);
    forbid(SYS_set_mempolicy);
    forbid(SYS_mbind);
    for (int i = 0; i < 3; i++) {
        ok = ok && bw_topology_bind(topology, 0) == BW_OK &&
             bw_topology_bind_cpu(topology, 0, i) == BW_OK &&
             bw_topology_bind_memory(topology, 0, bytes, sizeof bytes) == BW_OK;
    }
    topology->node_count--;
    ok = ok && is_said_once();
    bw_topology_close(topology);
    return ok ? 0 : 1;
}

static void test_refused_binding_is_said_once(void **state)
{
    const pid_t child = fork();
    int status = 0;

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        _exit(bind_while_forbidden());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 77) {
        skip(); /* no seccomp here */
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_written_machines, fresh_log),
        cmocka_unit_test_setup(test_caches, fresh_log),
        cmocka_unit_test_setup(test_cores_come_before_siblings, fresh_log),
        cmocka_unit_test_setup(test_callers_restriction, fresh_log),
        cmocka_unit_test_setup(test_launchers_core_is_widened_and_a_wish_is_not, fresh_log),
        cmocka_unit_test_setup(test_xml_binds_nothing, fresh_log),
        cmocka_unit_test_setup(test_no_such_file, fresh_log),
        cmocka_unit_test_setup(test_this_machine_respects_and_restores, fresh_log),
        cmocka_unit_test_setup(test_memory_policy_comes_back, fresh_log),
        cmocka_unit_test_setup(test_where_memory_is, fresh_log),
        cmocka_unit_test_setup(test_refused_binding_is_said_once, fresh_log),
    };

    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}
