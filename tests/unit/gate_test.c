/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gate on the simulated driver: it holds, lets go, is shut again, and gives
 * up. The program runs itself again for each, as the driver is found by the
 * loader.
 */
#include "stub.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"

#include "../../src/measure/gate.h"

static char output[4096];
static struct bw_gpus gpus;
static struct bw_gate *gate;
static CUstream stream;

/* What a play returns if it went wrong: the line. */
#define MUST(what)                               \
    do {                                         \
        if (!(what)) {                           \
            fprintf(stderr, "not: %s\n", #what); \
            return 1;                            \
        }                                        \
    } while (0)

static int open_gate(void)
{
    MUST(bw_gpus_open(&gpus) == BW_OK && bw_gpus_open_contexts(&gpus) == BW_OK);
    MUST(bw_gpu_use(&gpus.gpus[0]) == BW_OK);
    MUST(cu.StreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    MUST(bw_gate_build(&gate, 1) == BW_OK);
    bw_gate_set_timeout_ns(gate, 5 * 1000 * 1000);
    return 0;
}

static int wait_for_stream(void)
{
    for (int i = 0; i < 1000000 && cu.StreamQuery(stream) == CUDA_ERROR_NOT_READY; i++) {
    }
    MUST(cu.StreamQuery(stream) == CUDA_SUCCESS);
    return 0;
}

/* Held until it is let go, each time anew. */
static int play_open(void)
{
    for (int i = 0; i < 3; i++) {
        bw_gate_shut(gate);
        MUST(bw_gate_hold(gate, &gpus.gpus[0], stream) == BW_OK);
        MUST(bw_gate_await(gate) == BW_OK);
        MUST(cu.StreamQuery(stream) == CUDA_ERROR_NOT_READY);
        bw_gate_release(gate);
        MUST(wait_for_stream() == 0);
        MUST(bw_gate_verdict(gate) == BW_OK);
    }
    return 0;
}

/* Never let go: it ends all the same, that is said, and the next time is a new one. */
static int play_shut(void)
{
    bw_gate_shut(gate);
    MUST(bw_gate_hold(gate, &gpus.gpus[0], stream) == BW_OK);
    MUST(wait_for_stream() == 0);
    MUST(bw_gate_verdict(gate) == BW_ERR_TIMEOUT);
    bw_gate_release(gate);
    return play_open();
}

/* More streams than there is room for are an error, and not held. */
static int play_full(void)
{
    bw_gate_shut(gate);
    MUST(bw_gate_hold(gate, &gpus.gpus[0], stream) == BW_OK);
    MUST(bw_gate_hold(gate, &gpus.gpus[0], stream) == BW_ERR_SYSTEM);
    bw_gate_release(gate);
    return wait_for_stream();
}

static int play(const char *mode)
{
    int status = 0;

    bw_log_init(false, false);
    status = open_gate();
    if (status == 0) {
        status = strcmp(mode, "open") == 0   ? play_open()
                 : strcmp(mode, "shut") == 0 ? play_shut()
                                             : play_full();
    }
    bw_gate_free(gate);
    bw_gpus_close(&gpus);
    bw_log_fini();
    return status;
}

static int run(const char *mode)
{
    char *folder = bw_text_format("%s/sim", BWTOOL_BUILD_DIR);
    char *library = bw_text_format("%s/libcuda.so.1", folder);
    char *env = bw_text_format("SIM_BEGIN='gpus 1' SIM_EXTRA='patience 1 1' "
                               "SIM_MACHINE='%s/sim/machines/h200.txt'",
                               BWTOOL_TESTS_DIR);
    const bool is_there = access(library, R_OK) == 0;
    const int status = is_there ? stub_run(folder, env, mode, output, sizeof(output)) : 0;

    free(folder);
    free(library);
    free(env);
    if (!is_there) {
        skip();
    }
    return status;
}

static void it_opens(void **state)
{
    (void)state;
    if (run("open") != 0) {
        fail_msg("%s", output);
    }
}

static void it_gives_up(void **state)
{
    (void)state;
    if (run("shut") != 0) {
        fail_msg("%s", output);
    }
    assert_says(output, "the gate was not opened within 0 s");
    assert_int_equal(stub_lines(output), 1);
}

static void it_has_so_much_room(void **state)
{
    (void)state;
    if (run("full") != 0) {
        fail_msg("%s", output);
    }
    assert_says(output, "more than 1 streams at one gate");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_opens),
        cmocka_unit_test(it_gives_up),
        cmocka_unit_test(it_has_so_much_room),
    };

    return argc == 2 ? play(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
