/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a stream: whoever is told of its end may give back what its work reads. */
#include "told.h"
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

static int begin(void **state)
{
    cu.StreamQuery = query;
    asked = 0;
    return told_begin(state);
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
        cmocka_unit_test_setup_teardown(its_end_is_waited_for, begin, told_end),
        cmocka_unit_test_setup_teardown(a_question_that_fails_is_no_end, begin, told_end),
        cmocka_unit_test_setup_teardown(nobody_asks_for_ever, begin, told_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
