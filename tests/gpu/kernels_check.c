/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_check [small] */
#include "check.h"

#include "bwtool/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t sizes[] = {
    1,
    2,
    3,
    4,
    7,
    15,
    16,
    17,
    31,
    100,
    1023,
    1024,
    1025,
    4096,
    5000,
    16383,
    65536 + 13,
    262144 + 1,
    (1 << 20),
    (1 << 20) + 15,
    (3 << 20) + 5,
    (4 << 20) - 9,
};

/* Flips bits at `at` and expects the comparison to find just that. */
static enum bw_status expect_found(struct bench *bench, CUdeviceptr p, uint64_t bytes,
                                   uint32_t seed, uint64_t at, uint64_t count)
{
    struct bw_check_result r = {.first = ~(uint64_t)0};
    void *args[] = {&p, &bytes, &seed, &bench->report.ptr};
    uint32_t expected = 0, got = 0;
    enum bw_status st = BW_OK;

    TRY(to_device(bench, bench->report.ptr, &r, sizeof(r)));
    TRY(launch(bench, KERNEL_check, bytes, 0, 0, args));
    TRY(to_host(bench, &r, bench->report.ptr, sizeof(r)));
    TRY(to_host(bench, bench->shadow, p, bytes));
    check(bench, r.count == count && r.blocks_done == 0, "bw_check: %llu wrong bytes, not %llu",
          (unsigned long long)r.count, (unsigned long long)count);
    if (count == 0) {
        check(bench, r.first == ~(uint64_t)0, "bw_check: a first wrong byte, and none is");
        return BW_OK;
    }
    for (uint64_t i = at / 4 * 4; i < at / 4 * 4 + 4 && i < bytes; i++) {
        expected |= (uint32_t)bw_pattern_byte(i, seed) << (i % 4 * 8);
        got |= (uint32_t)bench->shadow[i] << (i % 4 * 8);
    }
    check(bench, r.first == at && r.expected == expected && r.got == got,
          "bw_check: at %llu %08x instead of %08x; it should say at %llu %08x instead of %08x",
          (unsigned long long)r.first, r.got, r.expected, (unsigned long long)at, got, expected);
out:
    return st;
}

static enum bw_status flip_byte(struct bench *bench, CUdeviceptr p, uint64_t at, uint32_t seed)
{
    const unsigned char wrong = (unsigned char)(bw_pattern_byte(at, seed) ^ (1u << at % 8));

    return to_device(bench, p + at, &wrong, 1);
}

enum bw_status check_patterns(struct bench *bench, const struct place *place, uint64_t bytes)
{
    const uint32_t seed = (uint32_t)bytes;
    CUdeviceptr p = place->a.ptr;
    uint64_t word = bytes / 8;
    void *args[] = {&p, &word};
    enum bw_status st = BW_OK;

    TRY(plant_canary(bench, p, bytes));
    TRY(poison(bench, p, bytes, seed));
    TRY(expect_pattern(bench, p, bytes, seed, 0xff, "bw_poison"));
    TRY(expect_found(bench, p, bytes, seed, 0, bytes)); /* no byte of it is right */
    TRY(fill(bench, p, bytes, seed));
    TRY(expect_pattern(bench, p, bytes, seed, 0, "bw_fill"));
    TRY(expect_found(bench, p, bytes, seed, 0, 0));
    TRY(flip_byte(bench, p, bytes - 1, seed));
    TRY(expect_found(bench, p, bytes, seed, bytes - 1, 1));
    if (bytes > 1) {
        TRY(flip_byte(bench, p, bytes / 3, seed));
        TRY(expect_found(bench, p, bytes, seed, bytes / 3, bytes / 3 == bytes - 1 ? 1 : 2));
    }
    if (bytes >= 8) {
        TRY(fill(bench, p, bytes, seed));
        TRY(launch(bench, KERNEL_corrupt, bytes, 0, 0, args));
        TRY(expect_found(bench, p, bytes, seed, 4 * word, 4));
    }
out:
    return st;
}

static enum bw_status open_place(struct bench *bench, const char *name, const struct bw_gpu *owner)
{
    struct place *place = &bench->places[bench->place_count];
    struct bw_buffer *all[] = {&place->a, &place->b, &place->c, &place->d};
    const size_t bytes = bench->bytes_max + CANARY_BYTES;
    enum bw_status st = BW_OK;

    place->name = name;
    bench->place_count++;
    for (size_t i = 0; i < 4; i++) {
        /* One end of each copy is the launching GPU's own, the other the place's. */
        const bool is_own = i == 0 || i == 3;

        if (is_own || owner != NULL) {
            TRY(bw_buffer_open_device(all[i], is_own ? bench->gpu : owner, bytes));
        } else {
            TRY(bw_buffer_open_host(all[i], bench->gpu, bytes, 1));
        }
    }
    TRY(bw_gpu_use(bench->gpu));
out:
    return st;
}

static enum bw_status open_bench(struct bench *bench, size_t bytes_max)
{
    enum bw_status st = BW_OK;

    bench->bytes_max = bytes_max;
    bench->shadow = malloc(bytes_max + CANARY_BYTES);
    if (bench->shadow == NULL) {
        return bw_errno("%zu bytes", bytes_max);
    }
    TRY(bw_gpus_open(&bench->gpus));
    TRY(bw_gpus_open_contexts(&bench->gpus));
    bench->gpu = &bench->gpus.gpus[0];
    TRY(CU(cu.StreamCreate(&bench->stream, CU_STREAM_NON_BLOCKING)));
    TRY(bw_buffer_open_host(&bench->report, bench->gpu, 4096, 1));
    TRY(open_place(bench, "own memory", bench->gpu));
    TRY(open_place(bench, "host memory", NULL));
    if (bench->gpus.count > 1 && bench->gpus.peer[1]) {
        TRY(open_place(bench, "a peer's memory", &bench->gpus.gpus[1]));
    }
out:
    return st;
}

static void close_bench(struct bench *bench)
{
    for (int i = 0; i < bench->place_count; i++) {
        struct place *place = &bench->places[i];
        struct bw_buffer *all[] = {&place->a, &place->b, &place->c, &place->d};

        for (size_t k = 0; k < 4; k++) {
            bw_buffer_close(all[k], &bench->gpus);
        }
    }
    bw_buffer_close(&bench->report, &bench->gpus);
    if (bench->stream != NULL) {
        CU_WARN(cu.StreamDestroy(bench->stream));
    }
    bw_gpus_close(&bench->gpus);
    free(bench->shadow);
}

static enum bw_status run_all(struct bench *bench)
{
    enum bw_status st = BW_OK;

    printf("%s, %d places\n", bench->gpu->name, bench->place_count);
    for (int i = 0; i < bench->place_count; i++) {
        const struct place *place = &bench->places[i];

        for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
            if (!bench->is_small || sizes[k] < 20000) {
                TRY(check_patterns(bench, place, sizes[k]));
                TRY(check_copies(bench, place, sizes[k]));
                TRY(check_one_way(bench, place, sizes[k]));
            }
        }
        for (int tma = 0; tma <= bw_kernel_has_bulk(bench->gpu); tma++) {
            TRY(check_chase(bench, place, 4, 128, 3, tma));
            TRY(check_chase(bench, place, 1024, tma ? 16 : 8, 1024 + 77, tma));
            TRY(check_chase(bench, place, BW_CHASE_BYTES / BW_CHASE_STRIDE, BW_CHASE_STRIDE, 20000,
                            tma));
        }
    }
    TRY(check_gates(bench));
    if (!bench->is_small) {
        TRY(check_passes(bench));
    }
out:
    return st;
}

int main(int argc, char **argv)
{
    struct bench bench = {.is_small = argc == 2 && strcmp(argv[1], "small") == 0};
    enum bw_status st = BW_OK;

    bw_log_init(false, false);
    TRY(open_bench(&bench, (size_t)4 << 20));
    TRY(run_all(&bench));
out:
    close_bench(&bench);
    bw_log_fini();
    printf("%lu passed, %lu failed\n", bench.passed, bench.failed);
    return st == BW_OK && bench.failed == 0 ? 0 : 1;
}
