/* SPDX-License-Identifier: Apache-2.0 */
#include "pairs.h"

#include "bwtool/log.h"
#include "bwtool/nvml.h"
#include "bwtool/text.h"

#include <stdlib.h>
#include <strings.h>

static bool reach(const bool *peer, int count, int a, int b)
{
    return peer == NULL || peer[a * count + b] || peer[b * count + a];
}

static void take(bool *pairs, const bool *peer, int count, int a, int b)
{
    pairs[a * count + b] = peer == NULL || peer[a * count + b];
    pairs[b * count + a] = peer == NULL || peer[b * count + a];
}

/* Every so many-th of those that reach each other, from the first on. */
static void spread(bool *pairs, const bool *peer, int count, unsigned long long wanted)
{
    unsigned long long all = 0;
    unsigned long long at = 0;

    for (int a = 0; a < count; a++) {
        for (int b = a + 1; b < count; b++) {
            all += reach(peer, count, a, b);
        }
    }
    for (int a = 0; a < count; a++) {
        for (int b = a + 1; b < count; b++) {
            if (!reach(peer, count, a, b)) {
                continue;
            }
            /* It is one of them if a multiple of all / wanted falls on it. */
            if (wanted >= all ||
                (at * wanted + all - 1) / all < ((at + 1) * wanted + all - 1) / all) {
                take(pairs, peer, count, a, b);
            }
            at++;
        }
    }
}

/* -1: there is none */
static int number_of(const struct bw_gpus *gpus, const char *uuid)
{
    for (int i = 0; gpus != NULL && i < gpus->count; i++) {
        if (strcasecmp(gpus->gpus[i].uuid, uuid) == 0) {
            return i;
        }
    }
    return -1;
}

static int find(const struct bw_gpus *gpus, const char *uuid)
{
    const int number = number_of(gpus, uuid);

    if (number < 0) {
        bw_error("--pair: there is no GPU '%.80s' here (nvidia-smi -L lists the UUIDs)", uuid);
    }
    return number;
}

static enum bw_status take_pair(const struct bw_options *options, const struct bw_gpus *gpus,
                                int count, const bool *peer, bool *pairs)
{
    const int a = find(gpus, options->pair.words[0]);
    const int b = a < 0 ? -1 : find(gpus, options->pair.words[1]);

    if (b < 0) {
        return BW_ERR_USAGE;
    }
    if (a == b) {
        bw_error("--pair: '%.80s' twice is no pair", options->pair.words[0]);
        return BW_ERR_USAGE;
    }
    if (!reach(peer, count, a, b)) {
        bw_warn("--pair: GPU %d and GPU %d have no access to each other", a, b);
    }
    take(pairs, peer, count, a, b);
    return BW_OK;
}

enum bw_status bw_pairs_choose(const struct bw_options *options, const struct bw_gpus *gpus,
                               int count, const bool *peer, bool **pairs)
{
    enum bw_status st = BW_OK;

    *pairs = NULL;
    if (options->pair.count == 0 && options->target_pairs == 0) {
        return BW_OK;
    }
    *pairs = calloc((size_t)count * (size_t)count + 1, sizeof(**pairs));
    if (*pairs == NULL) {
        return bw_errno("no memory for the pairs of %d GPUs", count);
    }
    if (options->pair.count != 0) {
        st = take_pair(options, gpus, count, peer, *pairs);
    } else {
        spread(*pairs, peer, count, options->target_pairs);
    }
    if (st != BW_OK) {
        free(*pairs);
        *pairs = NULL;
    }
    return st;
}

char *bw_pairs_waiver(const struct bw_options *options, const struct bw_gpus *gpus,
                      const struct bw_testcase *tc)
{
    const char *reason = NULL;
    int a = -1;
    int b = -1;

    if (options->pair.count == 0 || tc->shape != SHAPE_PAIRS || bw_testcase_is_host(tc) ||
        bw_testcase_is_multinode(tc)) {
        return NULL;
    }
    a = number_of(gpus, options->pair.words[0]);
    b = number_of(gpus, options->pair.words[1]);
    if (a < 0 || b < 0 || reach(gpus->peer, gpus->count, a, b)) {
        return NULL;
    }
    reason = bw_nvml_p2p_reason(gpus->gpus[a].uuid, gpus->gpus[b].uuid);
    return bw_text_reason("GPU %d and GPU %d, the pair of --pair, have no peer access to each "
                          "other%s%s%s (nvidia-smi topo -p2p r shows why)",
                          a, b, reason == NULL ? "" : " (", reason == NULL ? "" : reason,
                          reason == NULL ? "" : ")");
}
