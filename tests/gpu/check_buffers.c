/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 20 };

void check(struct bench *bench, bool is_right, const char *format, ...)
{
    va_list args;

    if (is_right) {
        bench->passed++;
        return;
    }
    bench->failed++;
    if (bench->failed > SHOWN_MAX) {
        return;
    }
    printf("FAILED: ");
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

enum bw_status launch(struct bench *bench, enum bw_kernel kernel, uint64_t bytes, unsigned grid,
                      unsigned block, void **args)
{
    enum bw_status st = BW_OK;

    if (grid == 0) {
        bw_kernel_geometry(bench->gpu, kernel, bytes, &grid, &block);
    }
    TRY(bw_kernel_launch(bench->gpu, kernel, grid, block, bench->stream, args));
    TRY(CU(cu.StreamSynchronize(bench->stream)));
out:
    return st;
}

enum bw_status fill(struct bench *bench, CUdeviceptr p, uint64_t bytes, uint32_t seed)
{
    void *args[] = {&p, &bytes, &seed};

    return launch(bench, KERNEL_fill, bytes, 0, 0, args);
}

enum bw_status poison(struct bench *bench, CUdeviceptr p, uint64_t bytes, uint32_t seed)
{
    void *args[] = {&p, &bytes, &seed};

    return launch(bench, KERNEL_poison, bytes, 0, 0, args);
}

enum bw_status plant_canary(struct bench *bench, CUdeviceptr p, uint64_t bytes)
{
    enum bw_status st = BW_OK;

    TRY(CU(cu.MemsetD8Async(p, CANARY, bytes + CANARY_BYTES, bench->stream)));
    TRY(CU(cu.StreamSynchronize(bench->stream)));
out:
    return st;
}

enum bw_status to_host(struct bench *bench, void *host, CUdeviceptr p, size_t bytes)
{
    enum bw_status st = BW_OK;

    TRY(CU(cu.MemcpyAsync((CUdeviceptr)(uintptr_t)host, p, bytes, bench->stream)));
    TRY(CU(cu.StreamSynchronize(bench->stream)));
out:
    return st;
}

enum bw_status to_device(struct bench *bench, CUdeviceptr p, const void *host, size_t bytes)
{
    enum bw_status st = BW_OK;

    TRY(CU(cu.MemcpyAsync(p, (CUdeviceptr)(uintptr_t)host, bytes, bench->stream)));
    TRY(CU(cu.StreamSynchronize(bench->stream)));
out:
    return st;
}

enum bw_status expect_pattern(struct bench *bench, CUdeviceptr p, uint64_t bytes, uint32_t seed,
                              unsigned flip, const char *what)
{
    const unsigned char *got = bench->shadow;
    enum bw_status st = BW_OK;
    uint64_t wrong = 0, first = 0, touched = 0;

    TRY(to_host(bench, bench->shadow, p, bytes + CANARY_BYTES));
    for (uint64_t i = bytes; i-- > 0;) {
        if (got[i] != (unsigned char)(bw_pattern_byte(i, seed) ^ flip)) {
            wrong++;
            first = i;
        }
    }
    for (uint64_t i = bytes; i < bytes + CANARY_BYTES; i++) {
        touched += got[i] != CANARY;
    }
    check(bench, wrong == 0, "%s, %llu bytes: %llu are wrong, the first at %llu", what,
          (unsigned long long)bytes, (unsigned long long)wrong, (unsigned long long)first);
    check(bench, touched == 0, "%s, %llu bytes: wrote %llu bytes behind the end", what,
          (unsigned long long)bytes, (unsigned long long)touched);
out:
    return st;
}
