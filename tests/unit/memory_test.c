/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory without a driver: what is free, mapping, alignment. */
#include "stub.h"

#include "../../src/gpu/host_map.h"
#include "bwtool/host_free.h"
#include "bwtool/log.h"

static char *folder;

/* The machine that the nodes' memory is asked of is the folder. */
#define bw_host_free_bytes(root) bw_host_free_bytes(folder)
#include "../../src/host/placement.c"
#undef bw_host_free_bytes

static int begin(void **state)
{
    (void)state;
    folder = stub_folder();
    bw_log_init(true, false);
    return 0;
}

static int end(void **state)
{
    (void)state;
    stub_remove(folder);
    bw_log_fini();
    return 0;
}

static void what_the_system_does_not_say_is_no_limit(void **state)
{
    (void)state;
    assert_true(bw_host_free_bytes(folder) == SIZE_MAX);
}

static void the_machines_own_estimate(void **state)
{
    (void)state;
    stub_write_deep(folder, "proc", "meminfo",
                    "MemTotal:       16000000 kB\nMemAvailable:    5000000 kB\n");
    assert_true(bw_host_free_bytes(folder) == (size_t)5000000 * 1024);
}

static void a_group_may_have_less(void **state)
{
    (void)state;
    stub_write_deep(folder, "sys/fs/cgroup", "memory.current", "900000\n");
    stub_write_deep(folder, "sys/fs/cgroup", "memory.stat", "anon 5\ninactive_file 300000\n");
    stub_write_deep(folder, "sys/fs/cgroup", "memory.max", "max\n");
    assert_true(bw_host_free_bytes(folder) == (size_t)5000000 * 1024);
    stub_write_deep(folder, "sys/fs/cgroup", "memory.max", "1000000\n");
    assert_true(bw_host_free_bytes(folder) == 400000);
    stub_write_deep(folder, "sys/fs/cgroup", "memory.max", "500000\n");
    assert_true(bw_host_free_bytes(folder) == 0);
}

static void a_group_of_the_old_kind(void **state)
{
    (void)state;
    stub_write_deep(folder, "sys/fs/cgroup", "memory.max", "");
    stub_write_deep(folder, "sys/fs/cgroup/memory", "memory.limit_in_bytes", "700000\n");
    stub_write_deep(folder, "sys/fs/cgroup/memory", "memory.usage_in_bytes", "500000\n");
    stub_write_deep(folder, "sys/fs/cgroup/memory", "memory.stat", "total_inactive_file 100000\n");
    assert_true(bw_host_free_bytes(folder) == 300000);
}

/* As much as for GPUs' buffers: what the group holds of files gives way to memory asked for. */
static void a_node_of_such_a_group(void **state)
{
    struct bw_topology topology = {.is_real = true};
    struct node node = {0};

    (void)state;
    assert_int_equal(hwloc_topology_init(&topology.hwloc), 0);
    assert_int_equal(hwloc_topology_set_synthetic(topology.hwloc, "numa:1 pu:1"), 0);
    assert_int_equal(hwloc_topology_load(topology.hwloc), 0);
    node.object = hwloc_get_obj_by_type(topology.hwloc, HWLOC_OBJ_NUMANODE, 0);
    topology.nodes = &node;
    topology.node_count = 1;
    assert_true(bw_topology_node_free_bytes(&topology, 0) == 300000);
    hwloc_topology_destroy(topology.hwloc);
}

/* Every byte can be written; huge buffers are aligned so that huge pages fit. */
static void any_size_by_any_threads(void **state)
{
    static const size_t sizes[] = {1, 1024, 4095, 4097, 2097151, 2097152, 2097153, 9 * 2097152 + 5};
    static const unsigned threads[] = {0, 1, 3, 8, 1000};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t k = 0; k < sizeof(threads) / sizeof(threads[0]); k++) {
            struct bw_host_map map;

            assert_int_equal(bw_host_map_open(&map, sizes[i], threads[k]), BW_OK);
            assert_true((uintptr_t)map.data % (sizes[i] >= 2097152 ? 2097152 : 4096) == 0);
            assert_true((char *)map.data + sizes[i] <= (char *)map.map + map.map_bytes);
            memset(map.data, 0x5a, sizes[i]);
            bw_host_map_close(&map);
            bw_host_map_close(&map);
            assert_null(map.map);
        }
    }
}

/* Refused before a page is touched, with the amounts. */
static void too_much(void **state)
{
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4, 0};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *words = bw_text_format("%zu bytes of host memory asked for, ", sizes[i]);
        struct bw_host_map map;

        assert_int_equal(bw_host_map_open(&map, sizes[i], 1), BW_ERR_MEMORY);
        assert_says(bw_log_text_at(bw_log_count() - 1), words);
        assert_says(bw_log_text_at(bw_log_count() - 1), " are free");
        bw_host_map_close(&map);
        free(words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_system_does_not_say_is_no_limit),
        cmocka_unit_test(the_machines_own_estimate),
        cmocka_unit_test(a_group_may_have_less),
        cmocka_unit_test(a_group_of_the_old_kind),
        cmocka_unit_test(a_node_of_such_a_group),
        cmocka_unit_test(any_size_by_any_threads),
        cmocka_unit_test(too_much),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
