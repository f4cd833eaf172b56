/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of GPUs, launch shapes, and, with the simulated driver, all of opening and closing. */
#include "stub.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"
#include "bwtool/memory.h"

static char output[65536];

static void a_trace_is_a_display_of_nvidia(void **state)
{
    static const struct {
        const char *vendor, *class_;
        bool found;
    } rows[] = {
        {"0x10de\n", "0x030200\n", true},  {"0x10de\n", "0x030000\n", true},
        {"0x10de\n", "0x040300\n", false}, /* its sound device */
        {"0x10de\n", "0x068000\n", false}, /* its NVSwitch */
        {"0x8086\n", "0x030000\n", false}, {"", "", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *root = stub_folder();

        assert_false(bw_gpu_is_traced(root));
        stub_write_deep(root, "sys/bus/pci/devices/0000:00:1f.0", "vendor", "0x8086\n");
        stub_write_deep(root, "sys/bus/pci/devices/0000:00:1f.0", "class", "0x060100\n");
        assert_false(bw_gpu_is_traced(root));
        stub_write_deep(root, "sys/bus/pci/devices/0000:0f:00.0", "vendor", rows[i].vendor);
        stub_write_deep(root, "sys/bus/pci/devices/0000:0f:00.0", "class", rows[i].class_);
        assert_int_equal(bw_gpu_is_traced(root), rows[i].found);
        stub_remove(root);
    }
}

static void gpus_are_counted_by_their_files(void **state)
{
    static const char *const others[] = {"nvidiactl", "nvidia-uvm", "nvidia", "nvidia1x", "nvme0"};
    static const char *const gpus[] = {"nvidia0", "nvidia1", "nvidia15"};
    char *root = stub_folder();

    (void)state;
    assert_int_equal(bw_gpu_count_traced(root), 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        stub_write_deep(root, "dev", others[i], "");
        assert_int_equal(bw_gpu_count_traced(root), 0);
    }
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        stub_write_deep(root, "dev", gpus[i], "");
        assert_int_equal(bw_gpu_count_traced(root), i + 1);
    }
    stub_remove(root);
}

static void or_the_drivers_device_file(void **state)
{
    char *root = stub_folder();

    (void)state;
    stub_write_deep(root, "dev", "nvidiactl", "");
    assert_true(bw_gpu_is_traced(root));
    stub_remove(root);
}

static void every_kernel_has_a_name_and_a_shape(void **state)
{
    static const uint64_t sizes[] = {0, 1, 1024, 4097, 1 << 20, (uint64_t)1 << 33, UINT64_MAX};
    struct bw_gpu gpu = {.sm_count = 132};

    (void)state;
    for (int k = 0; k < BW_KERNEL_COUNT; k++) {
        assert_memory_equal(bw_kernel_name((enum bw_kernel)k), "bw_", 3);
        if (k >= KERNEL_shmem_push_all_gather) {
            continue; /* an operator's grid is a parameter of the operator */
        }
        for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned grid = 0, block = 0;

            bw_kernel_geometry(&gpu, (enum bw_kernel)k, sizes[i], &grid, &block);
            assert_in_range(block, 1, 1024);
            /* All blocks are resident at once, but for those that take one run each. */
            assert_in_range(grid, 1, k == KERNEL_copy_runs ? INT32_MAX : 132 * 8);
            assert_true(block == 1 || block % 32 == 0); /* they sum up warp by warp */
        }
    }
}

/* Its odd warps wait for all even ones: all blocks must be on the GPU at once. */
static void the_two_way_copies_fit_on_the_gpu(void **state)
{
    static const enum bw_kernel kernels[] = {KERNEL_copy_split_in, KERNEL_copy_split_out};
    struct bw_gpu gpu = {.sm_count = 7};

    (void)state;
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        unsigned grid = 0, block = 0;

        bw_kernel_geometry(&gpu, kernels[i], UINT64_MAX, &grid, &block);
        assert_int_equal(grid, 7);
        assert_int_equal(block % 64, 0);
        bw_kernel_geometry(&gpu, kernels[i], 1, &grid, &block);
        assert_int_equal(grid, 1);
    }
}

/* The simulated driver, built beside the tool; NULL if it was not built. */
static char *simulator(void)
{
    char *folder = bw_text_format("%.*s/sim", (int)(strrchr(BWTOOL_BINARY, '/') - BWTOOL_BINARY),
                                  BWTOOL_BINARY);
    char *library = bw_text_format("%s/libcuda.so.1", folder);

    if (access(library, R_OK) != 0) {
        free(folder);
        folder = NULL;
    }
    free(library);
    return folder;
}

#define MACHINE      "SIM_REPORT=1 SIM_MACHINE=" BWTOOL_TESTS_DIR "/sim/machines/four.txt "
#define NOTHING_LEFT "left: 0 ranges, 0 handles, 0 streams, 0 events, 0 contexts"

static void four_gpus_open_and_close(void **state)
{
    char *folder = simulator();

    (void)state;
    if (folder == NULL) {
        skip();
        return;
    }
    assert_int_equal(stub_run(folder, MACHINE, "open", output, sizeof(output)), BW_OK);
    assert_says(output, "gpus 4 peers 16");
    assert_says(output, NOTHING_LEFT);
    free(folder);
}

static void out_of_memory_says_how_much(void **state)
{
    char *folder = simulator();

    (void)state;
    if (folder == NULL) {
        skip();
        return;
    }
    assert_int_equal(stub_run(folder, MACHINE, "greedy", output, sizeof(output)), BW_ERR_MEMORY);
    assert_says(output, "[CUDA_ERROR_OUT_OF_MEMORY] gpu 1: 1152921504606846976 bytes of its "
                        "memory asked for, ");
    assert_says(output, " are free");
    free(folder);
}

/* Each call fails in turn: it is said, the status is kept, nothing stays behind. */
static void every_call_may_fail(void **state)
{
    char *folder = simulator();
    unsigned calls = 0;

    (void)state;
    if (folder == NULL) {
        skip();
        return;
    }
    stub_run(folder, MACHINE, "open", output, sizeof(output));
    assert_int_equal(sscanf(strstr(output, "sim: "), "sim: %u calls", &calls), 1);
    assert_in_range(calls, 50, 5000);
    for (unsigned n = 1; n <= calls; n += n < 40 ? 1 : 7) {
        char *env = bw_text_format(MACHINE "SIM_EXTRA='fail * %u CUDA_ERROR_UNKNOWN'", n);
        const int status = stub_run(folder, env, "open", output, sizeof(output));

        if (status != BW_OK && strstr(output, "CUDA_ERROR_UNKNOWN") == NULL) {
            fail_msg("call %u failed, status %d, and nothing says so: %s", n, status, output);
        }
        assert_true(status == BW_OK || status == BW_ERR_CUDA || status == BW_ERR_NO_GPU);
        free(env);
    }
    free(folder);
}

/* A stream that hangs would hold up whatever frees: nothing is freed then. */
static void given_up_nothing_is_freed(void **state)
{
    char *folder = simulator();

    (void)state;
    if (folder == NULL) {
        skip();
        return;
    }
    assert_int_equal(stub_run(folder, MACHINE, "given-up", output, sizeof(output)), BW_OK);
    assert_says(output, "4 contexts");
    assert_null(strstr(output, "left: 0 ranges"));
    free(folder);
}

static int play(const char *mode)
{
    struct bw_gpus gpus = {0};
    struct bw_buffer buffers[3] = {{0}};
    enum bw_status st = BW_OK;
    int peers = 0;

    bw_log_init(false, false);
    TRY(bw_gpus_open(&gpus));
    TRY(bw_gpus_open_contexts(&gpus));
    for (int i = 0; i < gpus.count * gpus.count; i++) {
        peers += gpus.peer[i];
    }
    printf("gpus %d peers %d\n", gpus.count, peers);
    if (strcmp(mode, "greedy") == 0) {
        TRY(bw_buffer_open_device(&buffers[0], &gpus.gpus[1], (size_t)1 << 60));
    }
    TRY(bw_buffer_open_device(&buffers[0], &gpus.gpus[1], 12345));
    TRY(bw_buffer_open_host(&buffers[1], &gpus.gpus[0], 12345, 2));
    TRY(bw_buffer_open_host(&buffers[2], &gpus.gpus[0], (size_t)5 << 20, 2));
    memset((void *)(uintptr_t)buffers[2].ptr, 1, buffers[2].bytes);
    if (strcmp(mode, "given-up") == 0) {
        bw_cu_give_up();
    }
out:
    for (size_t i = 0; i < 3; i++) {
        bw_buffer_close(&buffers[i], &gpus);
        bw_buffer_close(&buffers[i], &gpus);
    }
    bw_gpus_close(&gpus);
    bw_log_fini();
    return (int)st;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_is_a_display_of_nvidia),
        cmocka_unit_test(gpus_are_counted_by_their_files),
        cmocka_unit_test(or_the_drivers_device_file),
        cmocka_unit_test(every_kernel_has_a_name_and_a_shape),
        cmocka_unit_test(the_two_way_copies_fit_on_the_gpu),
        cmocka_unit_test(four_gpus_open_and_close),
        cmocka_unit_test(out_of_memory_says_how_much),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(given_up_nothing_is_freed),
    };

    return argc == 2 ? play(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
