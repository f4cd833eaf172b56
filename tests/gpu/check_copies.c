/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <string.h>

static const enum bw_kernel copy_kernels[] = {
    KERNEL_copy_sweep, KERNEL_copy_stride, KERNEL_copy_stride8, KERNEL_copy_runs, KERNEL_copy_tma};

/* False, and to be left out, where the GPU has no unit for bulk copies. */
static bool can_run(const struct bench *bench, enum bw_kernel kernel)
{
    return kernel != KERNEL_copy_tma || bw_kernel_has_bulk(bench->gpu);
}

/* The kernel's own shape, and odd ones. Blocks of the two-way copy are multiples of 64. */
static const struct {
    unsigned grid, block;
} shapes[] = {{0, 0}, {1, 64}, {3, 128}, {7, 320}};

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static enum bw_status one_copy(struct bench *bench, const struct place *place, uint64_t bytes,
                               enum bw_kernel kernel, unsigned shape)
{
    const uint32_t seed = (uint32_t)bytes * 7 + shape + 100 * (uint32_t)kernel;
    CUdeviceptr dst = place->b.ptr, src = place->a.ptr;
    uint64_t passes = 1 + shape;
    void *args[] = {&dst, &src, &bytes, &passes};
    const unsigned most = kernel == KERNEL_copy_tma ? 32 : 512;
    const unsigned block = shapes[shape].block < most ? shapes[shape].block : most;
    enum bw_status st = BW_OK;
    char what[80];

    snprintf(what, sizeof(what), "%s to %s, grid %u", bw_kernel_name(kernel), place->name,
             shapes[shape].grid);
    TRY(plant_canary(bench, src, bytes));
    TRY(plant_canary(bench, dst, bytes));
    TRY(fill(bench, src, bytes, seed));
    TRY(poison(bench, dst, bytes, seed));
    TRY(launch(bench, kernel, bytes, shapes[shape].grid, block, args));
    TRY(expect_pattern(bench, dst, bytes, seed, 0, what));
    TRY(expect_pattern(bench, src, bytes, seed, 0, what));
out:
    return st;
}

static enum bw_status expect_state(struct bench *bench, uint64_t bytes, unsigned warps,
                                   const char *what)
{
    struct bw_split_state s;
    enum bw_status st = BW_OK;

    TRY(to_host(bench, &s, bench->report.ptr, sizeof(s)));
    check(bench, s.forward_done == warps, "%s: %u of %u forward warps", what, s.forward_done,
          warps);
    check(bench, s.reverse_bytes >= bytes, "%s: %llu bytes back of %llu", what,
          (unsigned long long)s.reverse_bytes, (unsigned long long)bytes);
    check(bench,
          ~s.not_begin_ns <= s.forward_end_ns && ~s.not_begin_ns <= s.reverse_end_ns &&
              s.not_begin_ns != 0,
          "%s: from %llu to %llu and %llu", what, (unsigned long long)~s.not_begin_ns,
          (unsigned long long)s.forward_end_ns, (unsigned long long)s.reverse_end_ns);
out:
    return st;
}

static enum bw_status one_split(struct bench *bench, const struct place *place, uint64_t bytes,
                                enum bw_kernel kernel, unsigned shape)
{
    const uint32_t seed = (uint32_t)bytes * 11 + shape;
    struct bw_split_state zero = {0};
    CUdeviceptr p[4] = {place->b.ptr, place->a.ptr, place->d.ptr, place->c.ptr};
    uint64_t passes = 1 + shape;
    void *args[] = {&p[0], &p[1], &p[2], &p[3], &bytes, &passes, &bench->report.ptr};
    unsigned grid = shapes[shape].grid, block = shapes[shape].block;
    enum bw_status st = BW_OK;
    char what[80];

    if (grid == 0) {
        bw_kernel_geometry(bench->gpu, kernel, bytes, &grid, &block);
    }
    snprintf(what, sizeof(what), "%s with %s, grid %u", bw_kernel_name(kernel), place->name, grid);
    for (int i = 0; i < 4; i++) {
        TRY(plant_canary(bench, p[i], bytes));
    }
    TRY(fill(bench, p[1], bytes, seed));
    TRY(poison(bench, p[0], bytes, seed));
    TRY(fill(bench, p[3], bytes, seed + 1));
    TRY(poison(bench, p[2], bytes, seed + 1));
    TRY(to_device(bench, bench->report.ptr, &zero, sizeof(zero)));
    TRY(launch(bench, kernel, bytes, grid, block, args));
    TRY(expect_pattern(bench, p[0], bytes, seed, 0, what));
    TRY(expect_pattern(bench, p[2], bytes, seed + 1, 0, what));
    TRY(expect_state(bench, bytes, grid * block / 64, what));
out:
    return st;
}

/* The sum of what is read, against the sum of what was written, and what bw_write writes. */
enum bw_status check_one_way(struct bench *bench, const struct place *place, uint64_t bytes)
{
    const CUdeviceptr p = place->b.ptr;
    const uint64_t zero[2] = {0, 0};
    CUdeviceptr sums = bench->report.ptr, other = sums + 8, buffer = p;
    uint32_t seed = (uint32_t)bytes + 5;
    uint64_t passes = 3, got[2] = {0, 0}, expected = 0;
    void *read[] = {&buffer, &bytes, &passes, &sums};
    void *sum[] = {&bytes, &seed, &other};
    void *write[] = {&buffer, &bytes, &passes, &seed};
    enum bw_status st = BW_OK;

    TRY(plant_canary(bench, p, bytes));
    TRY(poison(bench, p, bytes, seed));
    TRY(launch(bench, KERNEL_write, bytes, 0, 0, write));
    TRY(expect_pattern(bench, p, bytes, seed, 0, "bw_write"));
    for (unsigned shape = 0; shape < SHAPES; shape++) {
        TRY(to_device(bench, sums, zero, sizeof(zero)));
        TRY(launch(bench, KERNEL_read, bytes, shapes[shape].grid, shapes[shape].block, read));
        TRY(launch(bench, KERNEL_read_sum, bytes, shapes[shape].grid, shapes[shape].block, sum));
        TRY(to_host(bench, got, sums, sizeof(got)));
        expected = 0;
        for (uint64_t i = 0; i < bytes; i++) {
            expected += (uint64_t)bw_pattern_byte(i, seed) << (i % 4 * 8);
        }
        check(bench, got[0] == passes * expected && got[1] == expected,
              "bw_read from %s, %llu bytes: %llu and %llu, not %llu", place->name,
              (unsigned long long)bytes, (unsigned long long)got[0], (unsigned long long)got[1],
              (unsigned long long)expected);
    }
out:
    return st;
}

enum bw_status check_copies(struct bench *bench, const struct place *place, uint64_t bytes)
{
    enum bw_status st = BW_OK;

    for (unsigned shape = 0; shape < SHAPES; shape++) {
        for (size_t k = 0; k < sizeof(copy_kernels) / sizeof(copy_kernels[0]); k++) {
            if (can_run(bench, copy_kernels[k])) {
                TRY(one_copy(bench, place, bytes, copy_kernels[k], shape));
            }
        }
        TRY(one_split(bench, place, bytes, KERNEL_copy_split_in, shape));
        TRY(one_split(bench, place, bytes, KERNEL_copy_split_out, shape));
    }
out:
    return st;
}

/* ms of a launch, the better of three. */
static enum bw_status time_copy(struct bench *bench, CUdeviceptr dst, CUdeviceptr src,
                                enum bw_kernel kernel, uint64_t bytes, uint64_t passes, float *ms)
{
    void *args[] = {&dst, &src, &bytes, &passes};
    CUevent begin = NULL, end = NULL;
    enum bw_status st = BW_OK;
    float best = 0;

    TRY(CU(cu.EventCreate(&begin, CU_EVENT_DEFAULT)));
    TRY(CU(cu.EventCreate(&end, CU_EVENT_DEFAULT)));
    for (int i = 0; i < 3; i++) {
        float now = 0;

        TRY(CU(cu.EventRecord(begin, bench->stream)));
        if (kernel == BW_KERNEL_COUNT) {
            TRY(CU(cu.MemcpyAsync(dst, src, bytes, bench->stream)));
        } else {
            TRY(launch(bench, kernel, bytes, 0, 0, args));
        }
        TRY(CU(cu.EventRecord(end, bench->stream)));
        TRY(CU(cu.StreamSynchronize(bench->stream)));
        TRY(CU(cu.EventElapsedTime(&now, begin, end)));
        best = i == 0 || now < best ? now : best;
    }
    *ms = best;
out:
    if (begin != NULL) {
        CU_WARN(cu.EventDestroy(begin));
    }
    if (end != NULL) {
        CU_WARN(cu.EventDestroy(end));
    }
    return st;
}

/*
 * Every pass does its work: 64 take much longer than one, and a buffer that
 * would fit into the L1 caches comes over the link no faster than the copy
 * engine brings it.
 */
enum bw_status check_passes(struct bench *bench)
{
    /* A place's own memory is its b; its a is always the launching GPU's. */
    const struct place *device = &bench->places[0], *host = &bench->places[1];
    const uint64_t bytes = (uint64_t)1 << 20;
    enum bw_status st = BW_OK;
    float one = 0, many = 0, engine = 0, link = 0;

    TRY(time_copy(bench, device->a.ptr, host->b.ptr, BW_KERNEL_COUNT, bench->bytes_max, 1,
                  &engine));
    for (size_t k = 0; k < sizeof(copy_kernels) / sizeof(copy_kernels[0]); k++) {
        const enum bw_kernel kernel = copy_kernels[k];
        double rate = 0, engine_rate = (double)bench->bytes_max / engine;

        if (!can_run(bench, kernel)) {
            continue;
        }
        TRY(time_copy(bench, device->b.ptr, device->a.ptr, kernel, bytes, 16, &one));
        TRY(time_copy(bench, device->b.ptr, device->a.ptr, kernel, bytes, 1024, &many));
        check(bench, many > 8 * one, "%s: 16 passes take %f ms, 1024 %f ms", bw_kernel_name(kernel),
              (double)one, (double)many);
        if (kernel == KERNEL_copy_stride8 || kernel == KERNEL_copy_runs) {
            continue; /* for buffers that no L1 cache holds: their loads may stay there */
        }
        TRY(time_copy(bench, device->b.ptr, host->b.ptr, kernel, bytes, 128, &link));
        rate = 128 * (double)bytes / link;
        printf("%s: 1 MiB from host memory at %.1f GB/s, the copy engine %.1f\n",
               bw_kernel_name(kernel), rate / 1e6, engine_rate / 1e6);
        check(bench, rate < 1.3 * engine_rate, "%s: faster than the link", bw_kernel_name(kernel));
    }
out:
    return st;
}
