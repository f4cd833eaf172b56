/* SPDX-License-Identifier: Apache-2.0 */
#include "tune.h"

#include <stdio.h>
#include <string.h>

static const char *const hints[] = {"plain", "cg", "cgcs", "cs", "none"};

/* What tune.cu instantiates, a row a kernel of each hint. */
static const struct {
    unsigned vectors;
    const char *layout;
    unsigned block_min, block_max;
} kinds[] = {
    {4, "grid", 256, 512}, {8, "grid", 256, 512}, {12, "grid", 256, 512},  {16, "grid", 256, 512},
    {4, "runs", 256, 512}, {8, "runs", 256, 512}, {12, "runs", 256, 512},  {16, "runs", 256, 512},
    {4, "pipe", 256, 512}, {8, "pipe", 256, 512}, {4, "wide", 1024, 1024}, {8, "wide", 1024, 1024},
};

static enum bw_status add(struct tuner *tuner, const char *name, unsigned blocks, unsigned block,
                          unsigned shared_bytes)
{
    struct variant *v = &tuner->variants[tuner->count];
    CUkernel kernel = NULL;
    enum bw_status st = BW_OK;

    if (tuner->count + 1 >= VARIANTS_MAX) {
        return BW_OK;
    }
    snprintf(v->name, sizeof(v->name), "%s", name);
    TRY(CU(cu.LibraryGetKernel(&kernel, tuner->library, name)));
    TRY(CU(cu.KernelGetFunction(&v->function, kernel)));
    if (shared_bytes > 0 && cu.FuncSetAttribute != NULL) {
        TRY(CU(cu.FuncSetAttribute(v->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   (int)shared_bytes)));
    }
    v->grid = blocks * (unsigned)tuner->gpus.gpus[0].sm_count;
    v->block = block;
    v->shared_bytes = shared_bytes;
    tuner->count++;
out:
    return st;
}

static enum bw_status add_loads(struct tuner *tuner)
{
    enum bw_status st = BW_OK;
    char name[40];

    for (size_t h = 0; h < sizeof(hints) / sizeof(hints[0]); h++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
            snprintf(name, sizeof(name), "tune_%s_%u_%s", hints[h], kinds[k].vectors,
                     kinds[k].layout);
            for (unsigned block = kinds[k].block_min; block <= kinds[k].block_max; block *= 2) {
                for (unsigned blocks = 1; blocks * block <= 2048; blocks *= 2) {
                    TRY(add(tuner, name, blocks, block, 0));
                }
                if (strcmp(kinds[k].layout, "runs") == 0) {
                    /* As many blocks as there is work, each with one share of it. */
                    TRY(add(tuner, name, 1, block, 0));
                    tuner->variants[tuner->count - 1].grid =
                        (unsigned)(tuner->bytes / 16 / kinds[k].vectors / block + 1);
                    tuner->variants[tuner->count - 1].has_blocks_a_pass = true;
                }
            }
        }
    }
out:
    return st;
}

static enum bw_status add_bulk(struct tuner *tuner)
{
    const unsigned room = (unsigned)tuner->gpus.gpus[0].shared_bytes_per_block_optin;
    enum bw_status st = BW_OK;
    char name[40];

    for (unsigned chunk = 2048; chunk <= 32768; chunk *= 2) {
        for (unsigned stages = 2; stages <= 8; stages += 2) {
            const unsigned bytes = chunk * stages + 128;

            snprintf(name, sizeof(name), "tune_tma_%u_%u", chunk, stages);
            for (unsigned blocks = 1; blocks <= 8 && blocks * (bytes + 1024) <= room; blocks *= 2) {
                TRY(add(tuner, name, blocks, 32, bytes));
            }
        }
    }
out:
    return st;
}

static void add_product(struct tuner *tuner, enum bw_kernel kernel)
{
    struct variant *v = &tuner->variants[tuner->count];

    snprintf(v->name, sizeof(v->name), "%s", bw_kernel_name(kernel));
    v->function = tuner->gpus.gpus[0].functions[kernel];
    bw_kernel_geometry(&tuner->gpus.gpus[0], kernel, tuner->bytes, &v->grid, &v->block);
    v->is_product = true;
    v->has_blocks_a_pass = kernel == KERNEL_copy_runs;
    tuner->count++;
}

enum bw_status tune_list(struct tuner *tuner)
{
    enum bw_status st = BW_OK;
    struct variant *engine = &tuner->variants[0];

    snprintf(engine->name, sizeof(engine->name), "copy engine");
    engine->is_product = engine->is_engine = true;
    tuner->count = 1;
    add_product(tuner, KERNEL_copy_sweep);
    add_product(tuner, KERNEL_copy_stride);
    add_product(tuner, KERNEL_copy_stride8);
    add_product(tuner, KERNEL_copy_runs);
    if (bw_kernel_has_bulk(&tuner->gpus.gpus[0])) {
        add_product(tuner, KERNEL_copy_tma);
        TRY(add_bulk(tuner));
    }
    TRY(add_loads(tuner));
out:
    return st;
}
