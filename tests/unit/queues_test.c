/* SPDX-License-Identifier: Apache-2.0 */
/* The number of hardware queues is asked for before anything calls cuInit, which reads it. */
#include "stub.h"
#include "unit.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static char at_init[16]; /* by cuInit */

static CUresult init_here(unsigned flags)
{
    const char *value = getenv("CUDA_DEVICE_MAX_CONNECTIONS");

    (void)flags;
    (void)snprintf(at_init, sizeof(at_init), "%s", value != NULL ? value : "unset");
    return CUDA_SUCCESS;
}

static void *open_here(const char *name, int flags)
{
    (void)name;
    (void)flags;
    return at_init;
}

static void *symbol_here(void *lib, const char *name)
{
    CUresult (*init)(unsigned) = init_here;
    void *symbol = NULL;

    (void)lib;
    assert_string_equal(name, "cuInit");
    memcpy(&symbol, &init, sizeof(symbol));
    return symbol;
}
#define dlopen open_here
#define dlsym  symbol_here
#include "../../src/gpu/trace.c"

static void also_where_no_trace_is(void **state)
{
    char *root = stub_folder();

    (void)state;
    assert_int_equal(setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1), 0);
    assert_true(bw_gpu_is_expected(root));
    assert_true(strtol(at_init, NULL, 10) >= 8);
    stub_remove(root);
    bw_log_fini();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(also_where_no_trace_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
