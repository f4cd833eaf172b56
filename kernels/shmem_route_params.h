/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What dispatch and combine have beyond the other operators: the parameter of
 * their kernels, and what is sent and expected. C, CUDA C and C++.
 *
 * A row is one token in a receive area, or one partial of it on its way back.
 * Dispatch copies each token into its rows; combine adds the rows of a token,
 * in the order of their ranks, in fp32 (whole numbers: in their own width), and
 * rounds once. What the experts' weights do to a row is done before a combine
 * begins: there is one row for each token and rank.
 */
#ifndef BW_SHMEM_ROUTE_PARAMS_H
#define BW_SHMEM_ROUTE_PARAMS_H

#include "shmem_params.h"

#include <stdbool.h>
#include <string.h>

/*
 * The parameter of every routed kernel. `s.vectors` are those of one token,
 * `s.total` those of all tokens of a rank. Tables are by token, `width`
 * entries each: the ranks that it goes to, in rising order, -1 behind the last;
 * and its row there. Tiles are of `tile_tokens` tokens of the rank that they
 * come from, both ways.
 */
struct bw_route_args {
    struct bw_shmem_args s;
    uint64_t dst, slot;               /* int32_t[tokens * width], of this rank's tokens         */
    uint64_t dst_offset, slot_offset; /* the same in the windows, where peers read them         */
    uint64_t edge; /* uint32_t[ranks * (tiles + 1)]: rows from each rank before each tile      */
    uint32_t tokens, width, tile_tokens, tiles;
    uint32_t base[BW_SHMEM_RANKS_MAX]; /* the row where this rank's begin at each rank          */
    uint32_t from[BW_SHMEM_RANKS_MAX]; /* the row where each rank's begin here                  */
    uint32_t sent[BW_SHMEM_RANKS_MAX], received[BW_SHMEM_RANKS_MAX]; /* rows, to and from each  */
};

/* What filling, spoiling and checking need to know. */
struct bw_route_check {
    uint64_t memory;      /* in, or out */
    uint64_t result;      /* struct bw_check_result; `first` counts from the memory's begin */
    uint64_t row_bytes;   /* that count; the rest of the last vector does not */
    uint64_t pitch_bytes; /* from one row to the next */
    uint64_t rows;        /* that hold something */
    uint64_t room;        /* rows there are: those behind must stay as they are */
    uint64_t origin;      /* dispatch: uint32_t[rows], rank * tokens + token */
    uint64_t dst, slot;   /* combine: the tables of this rank */
    uint32_t tokens, width;
    uint32_t dtype, is_sum, rank, seed;
};

static const uint32_t bw_route_untouched = 0x5aa5c33cu;

BW_PARAMS_FUNCTION float bw_route_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

BW_PARAMS_FUNCTION uint32_t bw_route_bits(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/*
 * Element `element` of row `row` of rank `rank`, on its way back: for floats,
 * of either sign and between 1/16 and 16 with all bits of fraction, so that
 * sums are rounded, and another order gives other bits; for whole numbers any.
 */
BW_PARAMS_FUNCTION uint32_t bw_route_partial(uint32_t dtype, uint32_t rank, uint64_t row,
                                             uint64_t element, uint32_t seed)
{
    const uint32_t width = bw_shmem_element_bits(dtype);
    const uint32_t any =
        bw_pattern_word(element, seed + rank * 0x632be5abu + (uint32_t)row * 0x9e3779b1u);
    const uint32_t sign = any >> 31, exponent = any >> 28 & 7;

    switch (dtype) {
    case BW_FP16:
        return sign << 15 | (11 + exponent) << 10 | (any & 0x3ffu);
    case BW_BF16:
        return sign << 15 | (123 + exponent) << 7 | (any & 0x7fu);
    case BW_FP32:
        return sign << 31 | (123 + exponent) << 23 | (any & 0x7fffffu);
    default:
        return width == 8 ? any & 0xffu : any;
    }
}

/* The float of an element; zeros and numbers that no dtype here holds in a short form. */
BW_PARAMS_FUNCTION float bw_route_value(uint32_t dtype, uint32_t bits)
{
    switch (dtype) {
    case BW_FP16:
        return bw_route_float((bits & 0x8000u) << 16 | (((bits & 0x7fffu) << 13) + (112u << 23)));
    case BW_BF16:
        return bw_route_float(bits << 16);
    default:
        return bw_route_float(bits);
    }
}

/* To the nearest, ties to even: zero, or of an amount from 2^-14 to 2^15. */
BW_PARAMS_FUNCTION uint32_t bw_route_round(uint32_t dtype, float value)
{
    const uint32_t bits = bw_route_bits(value);
    uint32_t rest = bits & 0x7fffffffu;

    switch (dtype) {
    case BW_FP16:
        rest = rest == 0 ? 0 : rest - (112u << 23);
        return (bits >> 31) << 15 | (rest + 0xfffu + (rest >> 13 & 1)) >> 13;
    case BW_BF16:
        return (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
    default:
        return bits;
    }
}

/* Element `element` of the sum of token `token` of this rank. */
BW_PARAMS_FUNCTION uint32_t bw_route_sum(const struct bw_route_check *c, uint64_t token,
                                         uint64_t element)
{
    const int32_t *dst = (const int32_t *)(uintptr_t)c->dst + token * c->width;
    const int32_t *slot = (const int32_t *)(uintptr_t)c->slot + token * c->width;
    const bool is_whole = c->dtype == BW_INT32 || c->dtype == BW_INT8;
    uint32_t sum = 0;
    float value = 0;

    for (uint32_t j = 0; j < c->width && dst[j] >= 0; j++) {
        const uint32_t bits =
            bw_route_partial(c->dtype, (uint32_t)dst[j], (uint64_t)slot[j], element, c->seed);

        sum += bits;
        value = is_whole ? 0
                : j == 0 ? bw_route_value(c->dtype, bits)
                         : value + bw_route_value(c->dtype, bits);
    }
    return !is_whole ? bw_route_round(c->dtype, value) : c->dtype == BW_INT8 ? sum & 0xffu : sum;
}

/* Word `word` of row `row` of this rank's input. */
BW_PARAMS_FUNCTION uint32_t bw_route_input_word(const struct bw_route_check *c, uint64_t row,
                                                uint64_t word)
{
    const uint32_t width = bw_shmem_element_bits(c->dtype);
    uint32_t bits = 0;

    if (!c->is_sum) {
        return bw_shmem_transport_word(c->rank, row * (c->pitch_bytes / 4) + word, c->seed);
    }
    for (uint32_t at = 0; at < 32; at += width) {
        bits |= bw_route_partial(c->dtype, c->rank, row, (word * 32 + at) / width, c->seed) << at;
    }
    return bits;
}

/* Word `word` of row `row` of this rank's output. */
BW_PARAMS_FUNCTION uint32_t bw_route_output_word(const struct bw_route_check *c, uint64_t row,
                                                 uint64_t word)
{
    const uint32_t width = bw_shmem_element_bits(c->dtype);
    uint32_t bits = 0;

    if (row >= c->rows) {
        return bw_route_untouched;
    }
    if (!c->is_sum) {
        const uint32_t origin = ((const uint32_t *)(uintptr_t)c->origin)[row];

        return bw_shmem_transport_word(origin / c->tokens,
                                       origin % c->tokens * (c->pitch_bytes / 4) + word, c->seed);
    }
    for (uint32_t at = 0; at < 32; at += width) {
        bits |= bw_route_sum(c, row, (word * 32 + at) / width) << at;
    }
    return bits;
}

#endif
