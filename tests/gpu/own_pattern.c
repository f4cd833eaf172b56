/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_pattern [MiB [PASSES]]: the two-way copy between GPU and host in which
 * every thread copies its own 16 bytes again and again, for each GPU alone and
 * for all at once. Prints "pattern alone GPU I X" and "pattern all GPU I X", X
 * being half the sum of both ways in GB/s, and, once the bytes were compared,
 * "pattern verified". What such a pattern reaches explains what a tool shows
 * whose kernel has it.
 */
#include "bwtool/gpu.h"
#include "bwtool/log.h"
#include "bwtool/memory.h"
#include "params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char tune_image[];

enum { ROUNDS = 5, BLOCK = 512 };

/* A GPU with its four buffers: forward is host to device. */
struct side {
    const struct bw_gpu *gpu;
    struct bw_buffer host_src, host_dst, own_src, own_dst, result;
    CUfunction function;
    CUstream stream;
    CUevent begin, end;
    double rates[ROUNDS];
};

struct bench {
    struct bw_gpus gpus;
    CUlibrary library;
    struct side *sides;
    uint64_t bytes, passes;
};

static enum bw_status open_side(struct bench *bench, struct side *side, const struct bw_gpu *gpu,
                                CUkernel kernel)
{
    enum bw_status st = BW_OK;

    side->gpu = gpu;
    TRY(bw_gpu_use(gpu));
    TRY(bw_buffer_open_device(&side->own_src, gpu, bench->bytes));
    TRY(bw_buffer_open_device(&side->own_dst, gpu, bench->bytes));
    TRY(bw_buffer_open_host(&side->host_src, gpu, bench->bytes, 4));
    TRY(bw_buffer_open_host(&side->host_dst, gpu, bench->bytes, 4));
    TRY(bw_buffer_open_host(&side->result, gpu, 4096, 1));
    TRY(CU(cu.StreamCreate(&side->stream, CU_STREAM_NON_BLOCKING)));
    TRY(CU(cu.EventCreate(&side->begin, CU_EVENT_DEFAULT)));
    TRY(CU(cu.EventCreate(&side->end, CU_EVENT_DEFAULT)));
    TRY(CU(cu.KernelGetFunction(&side->function, kernel)));
out:
    return st;
}

static enum bw_status open_bench(struct bench *bench)
{
    CUkernel kernel = NULL;
    enum bw_status st = BW_OK;

    TRY(bw_gpus_open(&bench->gpus));
    TRY(bw_gpus_open_contexts(&bench->gpus));
    bench->sides = calloc((size_t)bench->gpus.count, sizeof(*bench->sides));
    if (bench->sides == NULL) {
        return bw_errno("no memory for %d GPUs", bench->gpus.count);
    }
    TRY(CU(cu.LibraryLoadData(&bench->library, tune_image, NULL, NULL, 0, NULL, NULL, 0)));
    TRY(CU(cu.LibraryGetKernel(&kernel, bench->library, "tune_own_pattern")));
    for (int i = 0; i < bench->gpus.count; i++) {
        TRY(open_side(bench, &bench->sides[i], &bench->gpus.gpus[i], kernel));
    }
out:
    return st;
}

static void close_side(struct bench *bench, struct side *side)
{
    struct bw_buffer *buffers[] = {&side->host_src, &side->host_dst, &side->own_src, &side->own_dst,
                                   &side->result};

    if (side->gpu == NULL || bw_gpu_use(side->gpu) != BW_OK) {
        return;
    }
    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++) {
        bw_buffer_close(buffers[i], &bench->gpus);
    }
    if (side->begin != NULL) {
        CU_WARN(cu.EventDestroy(side->begin));
    }
    if (side->end != NULL) {
        CU_WARN(cu.EventDestroy(side->end));
    }
    if (side->stream != NULL) {
        CU_WARN(cu.StreamDestroy(side->stream));
    }
}

static void close_bench(struct bench *bench)
{
    for (int i = 0; bench->sides != NULL && i < bench->gpus.count; i++) {
        close_side(bench, &bench->sides[i]);
    }
    if (bench->library != NULL) {
        CU_WARN(cu.LibraryUnload(bench->library));
    }
    free(bench->sides);
    bw_gpus_close(&bench->gpus);
}

static enum bw_status run_kernel(const struct side *side, enum bw_kernel kernel, CUdeviceptr at,
                                 uint64_t bytes, uint32_t seed, CUdeviceptr result)
{
    void *args[] = {&at, &bytes, &seed, &result};
    unsigned grid = 0, block = 0;

    bw_kernel_geometry(side->gpu, kernel, bytes, &grid, &block);
    return bw_kernel_launch(side->gpu, kernel, grid, block, side->stream, args);
}

static enum bw_status fill(const struct bench *bench, const struct side *side, uint32_t seed)
{
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(side->gpu));
    TRY(run_kernel(side, KERNEL_fill, side->host_src.ptr, bench->bytes, seed, 0));
    TRY(run_kernel(side, KERNEL_fill, side->own_src.ptr, bench->bytes, seed + 1, 0));
    TRY(run_kernel(side, KERNEL_poison, side->own_dst.ptr, bench->bytes, seed, 0));
    TRY(run_kernel(side, KERNEL_poison, side->host_dst.ptr, bench->bytes, seed + 1, 0));
    TRY(CU(cu.StreamSynchronize(side->stream)));
out:
    return st;
}

static enum bw_status start(const struct bench *bench, const struct side *side)
{
    uint64_t vectors = bench->bytes / 16, passes = bench->passes;
    CUdeviceptr in = side->own_dst.ptr, from = side->host_src.ptr;
    CUdeviceptr out_ptr = side->host_dst.ptr, own = side->own_src.ptr;
    void *args[] = {&in, &from, &out_ptr, &own, &vectors, &passes};
    const unsigned grid = (unsigned)((2 * vectors + BLOCK - 1) / BLOCK);
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(side->gpu));
    TRY(CU(cu.EventRecord(side->begin, side->stream)));
    TRY(CU(cu.LaunchKernel(side->function, grid, 1, 1, BLOCK, 1, 1, 0, side->stream, args, NULL)));
    TRY(CU(cu.EventRecord(side->end, side->stream)));
out:
    return st;
}

static enum bw_status finish(const struct bench *bench, const struct side *side, double *rate)
{
    enum bw_status st = BW_OK;
    float ms = 0;

    TRY(bw_gpu_use(side->gpu));
    TRY(CU(cu.StreamSynchronize(side->stream)));
    TRY(CU(cu.EventElapsedTime(&ms, side->begin, side->end)));
    /* Both ways move so much: half of their sum is one way's. */
    *rate = (double)bench->bytes * (double)bench->passes / ((double)ms * 1e6);
out:
    return st;
}

static enum bw_status compare(const struct bench *bench, const struct side *side, CUdeviceptr at,
                              uint32_t seed)
{
    struct bw_check_result *result = (void *)(uintptr_t)side->result.ptr;
    enum bw_status st = BW_OK;

    *result = (struct bw_check_result){.first = ~(uint64_t)0};
    TRY(run_kernel(side, KERNEL_check, at, bench->bytes, seed, side->result.ptr));
    TRY(CU(cu.StreamSynchronize(side->stream)));
    if (result->count != 0) {
        bw_error("GPU %d: %llu bytes are wrong, the first at %llu", side->gpu->ordinal,
                 (unsigned long long)result->count, (unsigned long long)result->first);
        st = BW_ERR_VERIFY;
    }
out:
    return st;
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* GPUs `first` to `end` - 1 at once, several times; the median of each. */
static enum bw_status run_some(struct bench *bench, int first, int end, const char *word)
{
    const uint32_t seed = (uint32_t)(first + 7 * end);
    enum bw_status st = BW_OK;

    for (int i = first; i < end; i++) {
        TRY(fill(bench, &bench->sides[i], seed + 2 * (uint32_t)i));
    }
    for (int round = -1; round < ROUNDS; round++) { /* the first warms up */
        for (int i = first; i < end; i++) {
            TRY(start(bench, &bench->sides[i]));
        }
        for (int i = first; i < end; i++) {
            TRY(finish(bench, &bench->sides[i], &bench->sides[i].rates[round < 0 ? 0 : round]));
        }
    }
    for (int i = first; i < end; i++) {
        struct side *side = &bench->sides[i];

        TRY(bw_gpu_use(side->gpu));
        TRY(compare(bench, side, side->own_dst.ptr, seed + 2 * (uint32_t)i));
        TRY(compare(bench, side, side->host_dst.ptr, seed + 2 * (uint32_t)i + 1));
        qsort(side->rates, ROUNDS, sizeof(side->rates[0]), by_number);
        printf("pattern %s GPU %d %.2f\n", word, i, side->rates[ROUNDS / 2]);
    }
    fflush(stdout);
out:
    return st;
}

int main(int argc, char **argv)
{
    struct bench bench = {0};
    enum bw_status st = BW_OK;

    bench.bytes = (argc > 1 ? strtoull(argv[1], NULL, 10) : 512) << 20;
    bench.passes = argc > 2 ? strtoull(argv[2], NULL, 10) : 16;
    bw_log_init(false, false);
    if (bench.bytes < 1 << 20 || bench.bytes > (uint64_t)16 << 30 || bench.passes < 1) {
        bw_error("own_pattern [MiB [PASSES]]: from 1 to 16384 MiB, at least one pass");
        return 2;
    }
    TRY(open_bench(&bench));
    for (int i = 0; i < bench.gpus.count; i++) {
        TRY(run_some(&bench, i, i + 1, "alone"));
    }
    TRY(run_some(&bench, 0, bench.gpus.count, "all"));
    printf("pattern verified\n");
out:
    close_bench(&bench);
    bw_log_fini();
    return st == BW_OK ? 0 : 1;
}
