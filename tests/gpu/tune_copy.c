/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tune_copy [MiB [PATH]]: tries many copy kernels on each path of this machine
 * (or on those whose names begin with PATH), the best of them and the product's
 * own in turn several times, and prints what they reach. Which kernel the
 * product uses for a path is chosen from this.
 */
#include "tune.h"

#include "bwtool/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FINALISTS = 12, ROUNDS = 7, SHOWN = 10 };

static int by_rate(const void *a, const void *b)
{
    const double x = ((const struct variant *)a)->gb_per_s,
                 y = ((const struct variant *)b)->gb_per_s;

    return (x < y) - (x > y);
}

static int by_number(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *numbers, size_t n)
{
    qsort(numbers, n, sizeof(*numbers), by_number);
    return n % 2 == 1 ? numbers[n / 2] : (numbers[n / 2 - 1] + numbers[n / 2]) / 2;
}

/* Everything once; then the best and the product's own, in turn; sorts them to the front. */
static enum bw_status try_path(struct tuner *tuner, const struct path *path, size_t *finalists)
{
    static double rates[FINALISTS + PRODUCTS_MAX + 1][ROUNDS];
    enum bw_status st = BW_OK;
    size_t n = 0;

    for (size_t i = 0; i < tuner->count; i++) {
        TRY(tune_measure(tuner, path, &tuner->variants[i], &tuner->variants[i].gb_per_s));
    }
    qsort(tuner->variants, tuner->count, sizeof(tuner->variants[0]), by_rate);
    for (size_t i = 0; i < tuner->count; i++) {
        const struct variant v = tuner->variants[i];

        if (n < FINALISTS || v.is_product) {
            memmove(&tuner->variants[n + 1], &tuner->variants[n], (i - n) * sizeof(v));
            tuner->variants[n++] = v;
        }
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < n; i++) {
            TRY(tune_measure(tuner, path, &tuner->variants[i], &rates[i][round]));
        }
    }
    for (size_t i = 0; i < n; i++) {
        tuner->variants[i].gb_per_s = median(rates[i], ROUNDS);
        TRY(tune_verify(tuner, path, &tuner->variants[i]));
    }
    qsort(tuner->variants, n, sizeof(tuner->variants[0]), by_rate);
    *finalists = n;
out:
    return st;
}

static void print_path(const struct tuner *tuner, const struct path *path, size_t n)
{
    const double best = tuner->variants[0].is_engine && n > 1 ? tuner->variants[1].gb_per_s
                                                              : tuner->variants[0].gb_per_s;

    printf("\n%s, %.0f MiB: GB/s (median of %d), of the best kernel's\n", path->name,
           (double)tuner->bytes / (1 << 20), ROUNDS);
    for (size_t i = 0; i < n; i++) {
        const struct variant *v = &tuner->variants[i];

        if (i < SHOWN || v->is_product) {
            printf("  %9.2f  %6.4f  %-24s grid %5u x %4u%s\n", v->gb_per_s, v->gb_per_s / best,
                   v->name, v->grid, v->block, v->is_product ? "  <- bwtool" : "");
        }
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const size_t mib = argc > 1 ? strtoul(argv[1], NULL, 10) : 256;
    const char *only = argc > 2 ? argv[2] : "";
    struct tuner tuner = {0};
    struct path paths[TUNE_PATHS_MAX];
    enum bw_status st = BW_OK;
    size_t path_count = 0, n = 0;

    bw_log_init(false, false);
    if (mib < 1 || mib > 65536) {
        bw_error("'%s' is no number of MiB from 1 to 65536", argv[1]);
        return 2;
    }
    TRY(tune_open(&tuner, mib << 20));
    path_count = tune_paths(&tuner, paths);
    printf("%s, driver for CUDA %d, %zu variants\n", tuner.gpus.gpus[0].name,
           tuner.gpus.driver_version, tuner.count);
    for (size_t i = 0; i < path_count; i++) {
        if (strncmp(paths[i].name, only, strlen(only)) != 0) {
            continue;
        }
        TRY(try_path(&tuner, &paths[i], &n));
        print_path(&tuner, &paths[i], n);
    }
out:
    tune_close(&tuner);
    bw_log_fini();
    printf("%u copies verified, %u failed\n", tuner.verified, tuner.wrong);
    return st == BW_OK && tuner.wrong == 0 ? 0 : 1;
}
