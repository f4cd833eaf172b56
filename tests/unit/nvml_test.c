/* SPDX-License-Identifier: Apache-2.0 */
/* NVML is optional in whole and in part. */
#include "stub.h"

#include "bwtool/log.h"
#include "bwtool/nvml.h"

static char *folder;
static char output[4096];

#define INIT     "int nvmlInit_v2(void) { return 0; }\nint nvmlShutdown(void) { return 0; }\n"
#define BAD_INIT "int nvmlInit_v2(void) { return 9; }\nint nvmlShutdown(void) { return 0; }\n"
#define TEXTS \
    "const char *nvmlErrorString(int r) { return r == 9 ? \"no driver loaded\" : \"?\"; }\n"
#define REST                                                                                       \
    "#include <string.h>\n"                                                                        \
    "static int devices[2];\n"                                                                     \
    "int nvmlSystemGetDriverVersion(char *t, unsigned n) { strncpy(t, \"580.1.2\", n); return 0; " \
    "}\n"                                                                                          \
    "int nvmlDeviceGetHandleByUUID(const char *u, void **d)\n"                                     \
    "{ if (strcmp(u, \"GPU-a\") && strcmp(u, \"GPU-b\")) return 6;\n"                              \
    "  *d = &devices[u[4] == 'b']; return 0; }\n"                                                  \
    "int nvmlDeviceGetP2PStatus(void *a, void *b, int what, int *s)\n"                             \
    "{ *s = a == b ? 0 : 1; return 0; }\n"                                                         \
    "int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *then)\n"                           \
    "{ *now = *then = d == &devices[1]; return 0; }\n"

static void play_library(const char *text)
{
    stub_write(folder, "stub.c", text);
    stub_build(folder, "libnvidia-ml.so.1");
    stub_run(folder, "", "play", output, sizeof(output));
}

static void without_it(void **state)
{
    (void)state;
    stub_write(folder, "libnvidia-ml.so.1", "");
    stub_run(folder, "", "play", output, sizeof(output));
    assert_says(output, "no NVML (");
    assert_says(output, "open 0 0 version '' a 0 x 0 reason - mig 0 0 1\n");
    assert_int_equal(stub_lines(output), 2); /* said once */
}

static void one_that_does_not_start(void **state)
{
    (void)state;
    play_library(BAD_INIT TEXTS REST);
    assert_says(output, "NVML is of no use: no driver loaded in nvmlInit_v2");
    assert_says(output, "open 0 0 version '' a 0 x 0 reason - mig 0 0 1\n");
    play_library(TEXTS);
    assert_says(output, "NVML is of no use: it has no nvmlInit_v2");
}

static void one_that_has_little(void **state)
{
    (void)state;
    play_library(INIT);
    assert_string_equal(output, "open 1 1 version '' a 0 x 0 reason - mig 0 0 1\n");
}

static void one_that_has_all(void **state)
{
    (void)state;
    play_library(INIT TEXTS REST);
    assert_string_equal(
        output, "open 1 1 version '580.1.2' a 1 x 0 reason chipset not supported mig 0 1 1\n");
}

static int play(void)
{
    const char *reason = NULL;
    bool first = false;

    bw_log_init(false, false);
    first = bw_nvml_open();
    printf("open %d %d ", first, bw_nvml_open());
    reason = bw_nvml_p2p_reason("GPU-a", "GPU-b");
    printf("version '%s' a %d x %d reason %s mig %d %d %d\n", bw_nvml_driver_version(),
           bw_nvml_device("GPU-a") != NULL, bw_nvml_device("GPU-x") != NULL,
           reason != NULL ? reason : "-", bw_nvml_is_mig("GPU-a"), bw_nvml_is_mig("GPU-b"),
           bw_nvml_is_mig("MIG-c"));
    bw_nvml_close();
    bw_nvml_close();
    bw_log_fini();
    return 0;
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
        cmocka_unit_test(without_it),
        cmocka_unit_test(one_that_does_not_start),
        cmocka_unit_test(one_that_has_little),
        cmocka_unit_test(one_that_has_all),
    };

    (void)argv;
    return argc == 2 ? play() : cmocka_run_group_tests(tests, begin, end);
}
