/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a stream: whoever is told of its end may give back what its work reads. */
#include "unit.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"

#include <stddef.h>

#include "../../src/measure/session.h"

static const CUresult *answers;
static int asked;

static CUresult CUDAAPI query(CUstream stream)
{
    (void)stream;
    return answers[asked++];
}

static CUresult CUDAAPI text_of(CUresult res, const char **text)
{
    (void)res;
    *text = "a text";
    return CUDA_SUCCESS;
}

static int begin(void **state)
{
    (void)state;
    bw_log_init(true, false);
    cu.GetErrorName = text_of;
    cu.GetErrorString = text_of;
    cu.StreamQuery = query;
    asked = 0;
    return 0;
}

static int end(void **state)
{
    (void)state;
    bw_cu_close();
    bw_log_fini();
    return 0;
}

static enum bw_status wait_for(const CUresult *results)
{
    answers = results;
    return bw_stream_wait(NULL, 1000ULL * 1000 * 1000, "some work");
}

static void its_end_is_waited_for(void **state)
{
    const CUresult results[] = {CUDA_ERROR_NOT_READY, CUDA_ERROR_NOT_READY, CUDA_SUCCESS};

    (void)state;
    assert_int_equal(wait_for(results), BW_OK);
    assert_int_equal(asked, 3);
}

static void a_question_that_fails_is_no_end(void **state)
{
    const CUresult results[] = {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NOT_READY, CUDA_SUCCESS};
    const size_t before = bw_log_count();

    (void)state;
    assert_int_not_equal(wait_for(results), BW_OK);
    assert_int_equal(asked, 3);
    assert_int_equal(bw_log_count(), before + 1);
}

static void nobody_asks_for_ever(void **state)
{
    const CUresult results[] = {CUDA_ERROR_UNKNOWN, CUDA_ERROR_NOT_READY, CUDA_ERROR_UNKNOWN};

    (void)state;
    assert_int_not_equal(wait_for(results), BW_OK);
    assert_int_equal(asked, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(its_end_is_waited_for, begin, end),
        cmocka_unit_test_setup_teardown(a_question_that_fails_is_no_end, begin, end),
        cmocka_unit_test_setup_teardown(nobody_asks_for_ever, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
