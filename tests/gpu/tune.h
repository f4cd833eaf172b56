/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUNE_H
#define TUNE_H

#include "bwtool/gpu.h"
#include "bwtool/memory.h"

#include <stdbool.h>
#include <stddef.h>

/* A kernel, or the copy engine, launched in one way. */
struct variant {
    char name[40];
    CUfunction function; /* NULL: the copy engine */
    unsigned grid, block, shared_bytes;
    bool is_product, is_engine;
    bool has_blocks_a_pass; /* the grid is that of one pass */
    double gb_per_s;        /* 0: cannot be launched so */
};

enum { VARIANTS_MAX = 1024, PRODUCTS_MAX = 8, TUNE_PATHS_MAX = 5 };

struct path {
    const char *name;
    CUdeviceptr dst, src;
};

struct tuner {
    struct bw_gpus gpus;
    CUlibrary library;
    CUstream stream;
    CUevent begin, end;
    struct bw_buffer own[2], peer, host, result;
    size_t bytes;
    struct variant variants[VARIANTS_MAX];
    size_t count;
    unsigned verified, wrong;
};

enum bw_status tune_open(struct tuner *tuner, size_t bytes);
void tune_close(struct tuner *tuner);

/* All variants for the first GPU. */
enum bw_status tune_list(struct tuner *tuner);

/* The paths of this machine from and to the first GPU. */
size_t tune_paths(const struct tuner *tuner, struct path *paths);

/* One launch of as many passes as take some 8 ms. A variant that does not fit has rate 0. */
enum bw_status tune_measure(struct tuner *tuner, const struct path *path, const struct variant *v,
                            double *gb_per_s);

/* Copies a new pattern, compares, counts. */
enum bw_status tune_verify(struct tuner *tuner, const struct path *path, const struct variant *v);

#endif
