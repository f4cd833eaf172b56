/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of drivers that are missing, old, broken or have no GPU. */
#include "stub.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

static char *folder;
static char output[8192];

static const char *const required[] = {
#define R(f) STRING(cu##f),
#define O(f)
    CU_API(R, O)
#undef R
#undef O
};

/* A driver in C: what it answers is in its environment. `without`: lacks this. */
static void write_driver_with(const char *without, const char *more)
{
    static const char special[] = "#include <stdlib.h>\n"
                                  "static int n(const char *e, int d)\n"
                                  "{ const char *v = getenv(e); return v ? atoi(v) : d; }\n"
                                  "int cuInit(int f) { return n(\"STUB_INIT\", 0); }\n"
                                  "int cuDriverGetVersion(int *v)\n"
                                  "{ *v = n(\"STUB_VERSION\", 13000); return 0; }\n"
                                  "int cuDeviceGetCount(int *c)\n"
                                  "{ *c = n(\"STUB_COUNT\", 0); return 0; }\n"
                                  "int cuGetErrorName(int r, const char **t)\n"
                                  "{ *t = \"CUDA_ERROR_PLAYED\"; return 0; }\n"
                                  "int cuGetErrorString(int r, const char **t)\n"
                                  "{ *t = \"as it was told\"; return 0; }\n";
    char *text = bw_text_format("%s%s", special, more);

    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        char *definition = bw_text_format("int %s(", required[i]);
        const bool is_special = strstr(special, definition) != NULL;
        char *longer = NULL;

        free(definition);
        if (is_special || strcmp(required[i], without) == 0) {
            continue;
        }
        longer = bw_text_format("%sint %s(void) { return 1; }\n", text, required[i]);
        free(text);
        text = longer;
    }
    stub_write(folder, "stub.c", text);
    stub_build(folder, "libcuda.so.1");
    free(text);
}

static void write_driver(const char *without)
{
    write_driver_with(without, "");
}

static int open_with(const char *env)
{
    return stub_run(folder, env, "open", output, sizeof(output));
}

static void missing_driver(void **state)
{
    (void)state;
    stub_write(folder, "libcuda.so.1", "");
    assert_int_equal(open_with(""), BW_ERR_NO_GPU);
    assert_says(output, "no NVIDIA driver");
    assert_int_equal(stub_lines(output), 1);
}

static void driver_of_cuda_11(void **state)
{
    (void)state;
    write_driver("cuLibraryLoadData");
    assert_int_equal(open_with("STUB_VERSION=11040"), BW_ERR_NO_GPU);
    assert_says(output, "too old: it is for CUDA 11.4");
    assert_says(output, "needs one for CUDA 1");
    assert_int_equal(stub_lines(output), 1);
}

static void driver_that_lacks_something(void **state)
{
    (void)state;
    write_driver("cuKernelGetFunction");
    assert_int_equal(open_with("STUB_VERSION=12010"), BW_ERR_NO_GPU);
    assert_says(output, "too old: it is for CUDA 12.1 and has no cuKernelGetFunction");
    assert_int_equal(open_with("STUB_VERSION=0"), BW_ERR_NO_GPU);
    assert_says(output, "no usable NVIDIA driver: it has no cuKernelGetFunction");
}

/* cuEventElapsedTime_v2 and its like are newer than what they do. */
static void plain_name_will_do(void **state)
{
    (void)state;
    write_driver_with(STRING(cuEventElapsedTime), "int cuEventElapsedTime(void) { return 1; }\n");
    assert_int_equal(open_with("STUB_INIT=100"), BW_ERR_NO_GPU);
    assert_says(output, "the driver finds no device");
}

static void no_device(void **state)
{
    (void)state;
    write_driver("");
    assert_int_equal(open_with("STUB_INIT=100"), BW_ERR_NO_GPU);
    assert_says(output, "the driver finds no device");
    assert_int_equal(stub_lines(output), 1);
    assert_int_equal(open_with("STUB_COUNT=0"), BW_ERR_NO_GPU);
    assert_says(output, "the driver finds no device");
    assert_int_equal(open_with("STUB_INIT=100 CUDA_VISIBLE_DEVICES="), BW_ERR_NO_GPU);
    assert_says(output, "CUDA_VISIBLE_DEVICES is set, but empty");
    assert_int_equal(open_with("STUB_INIT=100 CUDA_VISIBLE_DEVICES=9"), BW_ERR_NO_GPU);
    assert_says(output, "none is named by CUDA_VISIBLE_DEVICES='9'");
}

static void broken_driver(void **state)
{
    static const struct {
        const char *env, *words;
    } rows[] = {
        {"STUB_INIT=34", "the CUDA Toolkit's stub, not a driver"},
        {"STUB_INIT=101", "CUDA_VISIBLE_DEVICES must not name a GPU twice"},
        {"STUB_INIT=803", "different driver versions"},
        {"STUB_INIT=804", "forward-compatibility"},
        {"STUB_INIT=802", "nvidia-fabricmanager"},
        {"STUB_INIT=999", "kernel module does not answer"},
        {"STUB_INIT=304", "rights on /dev/nvidia"},
        {"STUB_INIT=46", "exclusive use"},
    };

    (void)state;
    write_driver("");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(open_with(rows[i].env), BW_ERR_NO_GPU);
        assert_says(output, "no usable GPU: [CUDA_ERROR_PLAYED] as it was told in cuInit");
        assert_says(output, rows[i].words);
        assert_int_equal(stub_lines(output), 1);
    }
}

/* Only a driver that says "no device" leaves a machine without a trace. */
static void whether_gpus_are_expected(void **state)
{
    const bool is_traced = bw_gpu_is_traced("");

    (void)state;
    write_driver("");
    assert_int_equal(stub_run(folder, "STUB_INIT=999", "expect", output, sizeof(output)), 1);
    assert_int_equal(stub_run(folder, "STUB_INIT=0", "expect", output, sizeof(output)), 1);
    assert_int_equal(stub_run(folder, "STUB_INIT=100", "expect", output, sizeof(output)),
                     is_traced);
    assert_int_equal(strlen(output), 0);
    stub_write(folder, "libcuda.so.1", "");
    assert_int_equal(stub_run(folder, "", "expect", output, sizeof(output)), is_traced);
    assert_int_equal(strlen(output), 0);
}

static int play(const char *mode)
{
    struct bw_gpus gpus;
    int status = 0;

    bw_log_init(false, false);
    if (strcmp(mode, "expect") == 0) {
        status = bw_gpu_is_expected("");
    } else {
        status = (int)bw_gpus_open(&gpus);
        bw_gpus_close(&gpus);
        bw_gpus_close(&gpus); /* closing twice is harmless */
    }
    bw_log_fini();
    return status;
}

static int begin(void **state)
{
    (void)state;
    folder = stub_folder();
    return 0;
}

static int end(void **state)
{
    (void)state;
    stub_remove(folder);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_driver),
        cmocka_unit_test(driver_of_cuda_11),
        cmocka_unit_test(driver_that_lacks_something),
        cmocka_unit_test(plain_name_will_do),
        cmocka_unit_test(no_device),
        cmocka_unit_test(broken_driver),
        cmocka_unit_test(whether_gpus_are_expected),
    };

    if (argc == 2) {
        return play(argv[1]);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    return cmocka_run_group_tests(tests, begin, end);
}
