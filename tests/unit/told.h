/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_TOLD_H
#define BW_TOLD_H

#include "unit.h"

#include "bwtool/gpu.h"
#include "bwtool/log.h"

/* What an error is told with where there is no driver: around each test, or all of them. */

static inline CUresult CUDAAPI told_name(CUresult res, const char **name)
{
    *name = res == CUDA_ERROR_INVALID_VALUE ? "CUDA_ERROR_INVALID_VALUE" : NULL;
    return *name != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static inline CUresult CUDAAPI told_text(CUresult res, const char **text)
{
    (void)res;
    *text = "invalid argument";
    return CUDA_SUCCESS;
}

static inline int told_begin(void **state)
{
    (void)state;
    bw_log_init(true, false);
    cu.GetErrorName = told_name;
    cu.GetErrorString = told_text;
    return 0;
}

static inline int told_end(void **state)
{
    (void)state;
    bw_cu_close();
    bw_log_fini();
    return 0;
}

#endif
