/* SPDX-License-Identifier: Apache-2.0 */
/* How an error of the driver becomes a status and a line. */
#include "told.h"
#include "unit.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"

#include <string.h>

static CUresult CUDAAPI set_current(CUcontext ctx)
{
    (void)ctx;
    return CUDA_SUCCESS;
}

static int begin(void **state)
{
    cu.CtxSetCurrent = set_current;
    return told_begin(state);
}

static const char *last_line(void)
{
    return bw_log_text_at(bw_log_count() - 1);
}

static void success_is_silent(void **state)
{
    const size_t before = bw_log_count();

    (void)state;
    assert_int_equal(CU(CUDA_SUCCESS), BW_OK);
    assert_int_equal(bw_log_count(), before);
}

static void a_line_names_all(void **state)
{
    (void)state;
    assert_int_equal(bw_gpu_current(), -1);
    assert_int_equal(bw_cu(CUDA_ERROR_INVALID_VALUE, "cu.X(1)", "/a/b/c.c", 12), BW_ERR_CUDA);
    assert_non_null(
        strstr(last_line(), "[CUDA_ERROR_INVALID_VALUE] invalid argument in cu.X(1) (c.c:12)"));
}

static void the_gpu_last_used_is_named(void **state)
{
    const struct bw_gpu gpu = {.ordinal = 3};

    (void)state;
    assert_int_equal(bw_gpu_use(&gpu), BW_OK);
    assert_int_equal(bw_gpu_current(), 3);
    assert_int_equal(bw_cu(CUDA_ERROR_INVALID_VALUE, "cu.X(1)", "c.c", 12), BW_ERR_CUDA);
    assert_non_null(strstr(last_line(), "in cu.X(1) (c.c:12, gpu 3)"));
}

static void an_unknown_error_has_its_number(void **state)
{
    (void)state;
    assert_string_equal(bw_cu_error_name((CUresult)4711), "error 4711");
    assert_int_equal(bw_cu((CUresult)4711, "cu.X", "c.c", 1), BW_ERR_CUDA);
    assert_non_null(strstr(last_line(), "[error 4711] "));
}

static void out_of_memory_is_told_apart(void **state)
{
    (void)state;
    assert_int_equal(CU(CUDA_ERROR_OUT_OF_MEMORY), BW_ERR_MEMORY);
    assert_false(bw_cu_context_lost());
}

/* The last test: from here on the context is gone. */
static void a_lost_context_is_remembered(void **state)
{
    size_t before = 0;

    (void)state;
    CU_WARN(CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(bw_log_level_at(bw_log_count() - 1), LOG_WARNING);
    assert_int_equal(CU(CUDA_ERROR_ILLEGAL_ADDRESS), BW_ERR_LOST);
    assert_true(bw_cu_context_lost());
    before = bw_log_count();
    CU_WARN(CUDA_ERROR_INVALID_VALUE); /* quiet: all calls fail now */
    assert_int_equal(bw_log_count(), before);
    /* Whoever asks next gets the same answer, and it was said. */
    assert_int_equal(CU(CUDA_ERROR_ILLEGAL_ADDRESS), BW_ERR_LOST);
    assert_int_equal(bw_log_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(success_is_silent),
        cmocka_unit_test(a_line_names_all),
        cmocka_unit_test(the_gpu_last_used_is_named),
        cmocka_unit_test(an_unknown_error_has_its_number),
        cmocka_unit_test(out_of_memory_is_told_apart),
        cmocka_unit_test(a_lost_context_is_remembered),
    };

    return cmocka_run_group_tests(tests, begin, told_end);
}
