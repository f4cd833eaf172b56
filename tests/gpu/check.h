/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CHECK_H
#define CHECK_H

/*
 * Launches every kernel on a real GPU, without a gate (under compute-sanitizer
 * a held stream and forced blocking launches would wait for each other), and
 * compares what it did with what the host computes.
 */

#include "bwtool/gpu.h"
#include "bwtool/memory.h"
#include "params.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory that GPU or host may own, with bytes behind it that nobody may touch. */
enum { CANARY_BYTES = 256, CANARY = 0xa5, PLACES_MAX = 3 };

struct place {
    const char *name;
    struct bw_buffer a, b, c, d;
};

struct bench {
    struct bw_gpus gpus;
    const struct bw_gpu *gpu; /* launches all */
    CUstream stream;
    struct bw_buffer report; /* host: what kernels report, and the gate's flag */
    unsigned char *shadow;   /* ordinary memory, bytes_max + CANARY_BYTES */
    size_t bytes_max;
    struct place places[PLACES_MAX]; /* device, host, peer if there is one */
    int place_count;
    bool is_small; /* few sizes, and no look at times: a simulated GPU */
    unsigned long passed, failed;
};

/* Counts; the first failures are printed. */
void check(struct bench *bench, bool is_right, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A launch of the kernel's own shape if `grid` is 0; waits for its end. */
enum bw_status launch(struct bench *bench, enum bw_kernel kernel, uint64_t bytes, unsigned grid,
                      unsigned block, void **args);
enum bw_status fill(struct bench *bench, CUdeviceptr p, uint64_t bytes, uint32_t seed);
enum bw_status poison(struct bench *bench, CUdeviceptr p, uint64_t bytes, uint32_t seed);
/* The canary's value behind `bytes`, and, unless they are filled, before. */
enum bw_status plant_canary(struct bench *bench, CUdeviceptr p, uint64_t bytes);
enum bw_status to_host(struct bench *bench, void *host, CUdeviceptr p, size_t bytes);
enum bw_status to_device(struct bench *bench, CUdeviceptr p, const void *host, size_t bytes);

/* Counts a failure unless p has the pattern (`flip` 0xff: its complement) and an intact canary. */
enum bw_status expect_pattern(struct bench *bench, CUdeviceptr p, uint64_t bytes, uint32_t seed,
                              unsigned flip, const char *what);

/* The parts; each runs for all places. */
enum bw_status check_patterns(struct bench *bench, const struct place *place, uint64_t bytes);
enum bw_status check_copies(struct bench *bench, const struct place *place, uint64_t bytes);
enum bw_status check_one_way(struct bench *bench, const struct place *place, uint64_t bytes);
enum bw_status check_chase(struct bench *bench, const struct place *place, uint32_t nodes,
                           uint32_t stride, uint64_t loads, bool by_tma);
enum bw_status check_gates(struct bench *bench);
enum bw_status check_passes(struct bench *bench);

#endif
