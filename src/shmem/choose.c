/* SPDX-License-Identifier: Apache-2.0 */
/* Which way, and how many blocks: docs/MEASUREMENTS.md has what was measured on two H200s. */
#include "shmem.h"

#include <stddef.h>

/* Up to `bytes` of payload, this way; the first row whose placement and dtype fit. */
struct preference {
    enum bw_shmem_op op;
    uint64_t bytes;
    enum bw_algorithm algorithm;
};

#define K(n) ((uint64_t)(n) << 10)
#define M(n) ((uint64_t)(n) << 20)
#define ANY  UINT64_MAX

static const struct preference preferences[] = {
    {SHMEM_ALL_TO_ALL, M(1), ALGORITHM_LL},
    {SHMEM_ALL_TO_ALL, M(32), ALGORITHM_TMA},
    {SHMEM_ALL_TO_ALL, M(128), ALGORITHM_PUSH},
    {SHMEM_ALL_TO_ALL, ANY, ALGORITHM_CE},
    {SHMEM_ALL_TO_ALL, ANY, ALGORITHM_TILES},
    {SHMEM_ALL_TO_ALL, ANY, ALGORITHM_PUSH},
    {SHMEM_ALL_GATHER, M(1), ALGORITHM_LL},
    {SHMEM_ALL_GATHER, M(32), ALGORITHM_TMA},
    {SHMEM_ALL_GATHER, M(128), ALGORITHM_PUSH},
    {SHMEM_ALL_GATHER, ANY, ALGORITHM_CE},
    {SHMEM_ALL_GATHER, ANY, ALGORITHM_TILES},
    {SHMEM_ALL_GATHER, ANY, ALGORITHM_PUSH},
    {SHMEM_REDUCE_SCATTER, M(8), ALGORITHM_POISON},
    {SHMEM_REDUCE_SCATTER, M(1), ALGORITHM_LL},
    {SHMEM_REDUCE_SCATTER, M(128), ALGORITHM_POISON4},
    {SHMEM_REDUCE_SCATTER, ANY, ALGORITHM_TILES},
    {SHMEM_REDUCE_SCATTER, ANY, ALGORITHM_PULL},
    {SHMEM_ALL_REDUCE, K(2), ALGORITHM_LL},
    {SHMEM_ALL_REDUCE, M(8), ALGORITHM_POISON},
    {SHMEM_ALL_REDUCE, K(512), ALGORITHM_LL},
    {SHMEM_ALL_REDUCE, ANY, ALGORITHM_TWO_SHOT},
    {SHMEM_ALL_REDUCE, ANY, ALGORITHM_TILES},
    {SHMEM_BROADCAST, M(1), ALGORITHM_LL},
    {SHMEM_BROADCAST, M(128), ALGORITHM_TILES},
    {SHMEM_BROADCAST, ANY, ALGORITHM_CE},
    {SHMEM_BROADCAST, ANY, ALGORITHM_TILES},
    {SHMEM_BROADCAST, ANY, ALGORITHM_PUSH},
    {SHMEM_DISPATCH, ANY, ALGORITHM_PUSH},
    {SHMEM_DISPATCH, ANY, ALGORITHM_TILES},
    {SHMEM_COMBINE, ANY, ALGORITHM_TILES}, /* stores have less overhead on a link than loads */
    {SHMEM_COMBINE, ANY, ALGORITHM_PULL},
};

const struct bw_operator *bw_operator_way(enum bw_shmem_op op, enum bw_algorithm algorithm)
{
    for (size_t i = 0; i < bw_operator_count; i++) {
        if (bw_operators[i].op == op && bw_operators[i].algorithm == algorithm) {
            return &bw_operators[i];
        }
    }
    return NULL;
}

static bool is_float(enum bw_shmem_dtype dtype)
{
    return dtype == BW_FP16 || dtype == BW_BF16 || dtype == BW_FP32;
}

/* Multicast is for those who ask for it: it was never measured, and where it half works it hangs.
 */
bool bw_operator_fits(const struct bw_operator *row, enum bw_placement placement,
                      enum bw_shmem_dtype dtype, bool has_bulk)
{
    return row->algorithm != ALGORITHM_MULTICAST &&
           (placement == PLACEMENT_AUTO || (row->placements & (unsigned)placement) != 0) &&
           (!row->is_float_only || is_float(dtype)) &&
           (row->algorithm != ALGORITHM_TMA || has_bulk);
}

const struct bw_operator *bw_operator_choose(const struct bw_operator *row, uint64_t payload_bytes,
                                             enum bw_placement placement, enum bw_shmem_dtype dtype,
                                             bool has_bulk)
{
    if (row->algorithm != ALGORITHM_AUTO) {
        return row;
    }
    for (size_t i = 0; i < sizeof(preferences) / sizeof(preferences[0]); i++) {
        const struct preference *p = &preferences[i];
        const struct bw_operator *way = NULL;

        if (p->op != row->op || payload_bytes > p->bytes) {
            continue;
        }
        way = bw_operator_way(p->op, p->algorithm);
        if (way != NULL && bw_operator_fits(way, placement, dtype, has_bulk)) {
            return way;
        }
    }
    return NULL;
}

static uint64_t blocks_for(uint64_t vectors, uint64_t a_block)
{
    return vectors / a_block + (vectors % a_block != 0);
}

/* A 16-byte vector a thread is the least that a block is worth while for. */
unsigned bw_operator_ctas(const struct bw_operator *row, uint64_t vectors, unsigned sm_count)
{
    const uint64_t most = (uint64_t)row->blocks_a_sm * (sm_count > 0 ? sm_count : 1);
    uint64_t blocks = 1;

    switch (row->algorithm) {
    case ALGORITHM_CE:
    case ALGORITHM_DIRECT:
    case ALGORITHM_AUTO:
    case ALGORITHM_COUNT:
        return 1;
    case ALGORITHM_TMA:
        blocks = blocks_for(vectors, 8192 / 16);
        break;
    case ALGORITHM_PUSH:
    case ALGORITHM_PULL:
    case ALGORITHM_TILES:
    case ALGORITHM_TWO_SHOT:
    case ALGORITHM_LL:
    case ALGORITHM_POISON:
    case ALGORITHM_POISON4:
    case ALGORITHM_MULTICAST:
        blocks = blocks_for(vectors, row->threads);
        break;
    }
    blocks = blocks > most ? most : blocks;
    blocks = blocks > BW_SHMEM_CTAS_MAX ? BW_SHMEM_CTAS_MAX : blocks;
    return blocks < 1 ? 1 : (unsigned)blocks;
}

/* Tiles of at most what a block has under way at once; smaller where that keeps all blocks busy. */
unsigned bw_operator_tile_vectors(uint64_t vectors, unsigned ctas)
{
    const uint64_t most = (uint64_t)BW_SHMEM_THREADS * BW_SHMEM_TILE_VECTORS;
    const uint64_t even =
        blocks_for(blocks_for(vectors, ctas), BW_SHMEM_THREADS) * BW_SHMEM_THREADS;

    return (unsigned)(even > most ? most : even < BW_SHMEM_THREADS ? BW_SHMEM_THREADS : even);
}
