/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rules.h"

/* The kernels at odd sizes; tests/gpu/kernels_check looks closer. */

static const uint64_t sizes[] = {1, 3, 15, 16, 17, 31, 4095, 4096, 65537, MIB + 13};
enum { SIZES = sizeof(sizes) / sizeof(*sizes) };

static void patterns(struct world *w, struct answer *a)
{
    uint64_t first;

    for (int i = 0; i < SIZES && a->verdict == RULE_OK; i++) {
        const uint64_t bytes = sizes[i];

        rules_must(a, rules_fill(w, 0, w->memory[0], bytes, 21), "fill");
        rules_must(a, rules_wrong(w, 0, w->memory[0], bytes, 21, &first) == 0, "%llu bytes differ",
                   (unsigned long long)bytes);
        rules_must(a, rules_wrong(w, 0, w->memory[0], bytes, 22, &first) > 0 && first < 4,
                   "%llu bytes: another seed is not seen", (unsigned long long)bytes);
    }
}

static void poison(struct world *w, struct answer *a)
{
    uint32_t seed = 23;
    uint64_t first;

    for (int i = 0; i < SIZES && a->verdict == RULE_OK; i++) {
        uint64_t bytes = sizes[i];

        rules_launch(w, 0, POISON, 8, 128, w->other[0], (void *[]){&w->memory[0], &bytes, &seed});
        rules_must(a, rules_wrong(w, 0, w->memory[0], bytes, seed, &first) == bytes && first == 0,
                   "%llu bytes: not all differ", (unsigned long long)bytes);
    }
}

static void copies(struct world *w, struct answer *a)
{
    CUdeviceptr dst = w->memory[0] + 2 * MIB;
    uint64_t passes = 2, first;

    for (int i = 0; i < SIZES && a->verdict == RULE_OK; i++) {
        uint64_t bytes = sizes[i];
        unsigned char behind = 0;

        rules_must(a, rules_fill(w, 0, w->memory[0], bytes, 24), "fill");
        GOOD(cu.MemsetD8Async(dst, 0xee, 2 * MIB, w->other[0]));
        rules_launch(w, 0, COPY, 8, 128, w->other[0],
                     (void *[]){&dst, &w->memory[0], &bytes, &passes});
        rules_must(a, rules_wrong(w, 0, dst, bytes, 24, &first) == 0, "%llu bytes differ",
                   (unsigned long long)bytes);
        GOOD(cu.MemcpyDtoH(&behind, dst + bytes, 1));
        rules_must(a, behind == 0xee, "%llu bytes: one more was written",
                   (unsigned long long)bytes);
    }
}

static void corrupt(struct world *w, struct answer *a)
{
    uint64_t word = 1000, first = 0;
    uint64_t wrong;

    rules_must(a, rules_fill(w, 0, w->memory[0], MIB, 25), "fill");
    rules_launch(w, 0, CORRUPT, 1, 1, w->other[0], (void *[]){&w->memory[0], &word});
    wrong = rules_wrong(w, 0, w->memory[0], MIB, 25, &first);
    rules_must(a, wrong == 4 && first == 4000, "%llu wrong bytes, the first at %llu",
               (unsigned long long)wrong, (unsigned long long)first);
}

const struct rule rules_kernels[] = {
    {"kernel: pattern and comparison at odd sizes", patterns, 0, NULL},
    {"kernel: poison has no byte of the pattern", poison, 0, NULL},
    {"kernel: copies of odd sizes end where they should", copies, 0, NULL},
    {"kernel: a wrong word is found", corrupt, 0, NULL},
    {NULL, NULL, 0, NULL},
};
