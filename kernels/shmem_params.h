/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the operators' kernels and the host agree on: where signals lie, the
 * one parameter of every kernel, and the patterns that are sent and expected.
 * C, CUDA C and C++.
 */
#ifndef BW_SHMEM_PARAMS_H
#define BW_SHMEM_PARAMS_H

#include "frame_params.h"
#include "params.h"

enum { BW_SHMEM_RANKS_MAX = 72, BW_SHMEM_CTAS_MAX = 512, BW_SHMEM_SIGNAL_BYTES = 128 };

/* Threads of a block, and 16-byte vectors that one of them has under way at once. */
enum {
    BW_SHMEM_THREADS = 512,
    BW_SHMEM_TMA_THREADS = 32,
    BW_SHMEM_COPY_VECTORS = 8,
    BW_SHMEM_TILE_VECTORS = 4,
};

/*
 * A signal is one word with one writer, alone in its 128 bytes, in the memory
 * of the rank that waits for it. It only grows; waits are for "at least", so
 * nothing is reset between launches.
 */
enum bw_shmem_signal {
    BW_SIGNAL_ENTRY, /* epoch: my launch of this epoch has begun                              */
    BW_SIGNAL_DATA,  /* epoch: all I wrote to you is there, and I read nothing of yours now   */
    BW_SIGNAL_TILE,  /* tick: that many tiles of mine are in your scratch                     */
    BW_SIGNAL_KINDS
};

enum bw_shmem_dtype { BW_FP16, BW_BF16, BW_FP32, BW_INT32, BW_INT8, BW_SHMEM_DTYPES };

/* How messages lie: who sends what, and where it is expected. */
enum bw_shmem_layout {
    BW_LAYOUT_ALL_GATHER,     /* out of every rank: a message of each rank                    */
    BW_LAYOUT_ALL_TO_ALL,     /* in: a message for each rank; out: a message of each rank     */
    BW_LAYOUT_REDUCE_SCATTER, /* in: a message for each rank; out: the sum of those for me    */
    BW_LAYOUT_ALL_REDUCE,     /* in, out: one message; out: the sum of all                    */
    BW_LAYOUT_BROADCAST,      /* in of the root; out of every rank                            */
    BW_LAYOUT_PUT,            /* in of the root goes to out of the next rank                  */
};

/*
 * The parameter of every operator kernel. Lengths are in vectors of 16 bytes;
 * messages begin on a vector. `window` is where each rank's symmetric memory
 * is in this rank's addresses; offsets are the same for all.
 */
struct bw_shmem_args {
    uint32_t rank, ranks, root;
    uint32_t epoch;      /* one more each launch, the same on all ranks                     */
    uint32_t tick;       /* where this launch's tile counters begin                         */
    uint32_t slot;       /* of the scratch, of this epoch                                   */
    uint32_t slot_clear; /* poison: the slot of the epoch before, to be poisoned again      */
    uint32_t slot_vectors;
    uint32_t vectors; /* of one message; where ranks add a part each: of one part         */
    uint32_t total;   /* of all parts together; else ranks * vectors                     */
    uint32_t tile_vectors;
    uint32_t dtype;                 /* enum bw_shmem_dtype */
    uint32_t kind;                  /* bw_shmem_sync: which signal */
    uint32_t rounds;                /* bw_shmem_pingpong, bw_shmem_barrier */
    uint64_t in, out;               /* this rank's */
    uint64_t in_offset, out_offset; /* the same in the windows, or areas, of all ranks       */
    uint64_t scratch_offset, signal_offset;
    uint64_t multicast, area; /* where all in and out are one, and this rank's part of it; else 0 */
    uint64_t timed_out;       /* uint32_t of this rank: some wait gave up */
    uint64_t timeout_ns;
    uint64_t window[BW_SHMEM_RANKS_MAX];
    struct bw_frame_args frames; /* of twins only */
};

/* What bw_shmem_fill and bw_shmem_check need to know. */
struct bw_shmem_check {
    uint64_t memory;        /* in, or out */
    uint64_t result;        /* struct bw_check_result; `first` counts from the memory's begin */
    uint64_t message_bytes; /* that count; the rest of the last vector does not */
    uint64_t pitch_bytes;   /* from one message to the next */
    uint32_t layout, dtype, is_reduced;
    uint32_t rank, ranks, root, seed;
    uint32_t flip; /* all ones: what is nowhere expected */
};

static const uint32_t bw_shmem_poison = 0xffffffffu;

/* Bits that every rank's whole numbers may have, so that no sum of theirs is rounded. */
BW_PARAMS_FUNCTION uint32_t bw_shmem_value_bits(uint32_t dtype, uint32_t ranks)
{
    const uint32_t exact = dtype == BW_FP32   ? 24
                           : dtype == BW_FP16 ? 11
                           : dtype == BW_BF16 ? 8
                                              : 32;
    uint32_t bits = exact;

    while (exact < 32 && ((uint64_t)ranks << bits) > ((uint64_t)1 << exact)) {
        bits--;
    }
    return bits;
}

/* A whole number below 2^24 as the bits of a float. */
BW_PARAMS_FUNCTION uint32_t bw_shmem_float_bits(uint32_t number)
{
    uint32_t exponent = 23;

    if (number == 0) {
        return 0;
    }
    if (number == 1u << 24) {
        return (127u + 24u) << 23;
    }
    while ((number & 1u << 23) == 0) {
        number <<= 1;
        exponent--;
    }
    return ((127 + exponent) << 23) | (number & 0x7fffffu);
}

BW_PARAMS_FUNCTION uint32_t bw_shmem_element_bits(uint32_t dtype)
{
    return dtype == BW_INT8 ? 8 : dtype == BW_FP16 || dtype == BW_BF16 ? 16 : 32;
}

/* A number that its dtype holds exactly, as bits. */
BW_PARAMS_FUNCTION uint32_t bw_shmem_encode(uint32_t dtype, uint32_t number)
{
    const uint32_t bits = bw_shmem_float_bits(number & 0x1ffffffu);

    switch (dtype) {
    case BW_FP16: /* another bias, and 13 bits less of fraction */
        return number == 0 ? 0 : ((bits >> 13) - ((127u - 15u) << 10)) & 0xffffu;
    case BW_BF16:
        return bits >> 16;
    case BW_FP32:
        return bits;
    case BW_INT8:
        return number & 0xffu;
    default:
        return number;
    }
}

/* What is to be transported: any bits, NaNs and all. */
BW_PARAMS_FUNCTION uint32_t bw_shmem_transport_word(uint32_t rank, uint64_t word, uint32_t seed)
{
    return bw_pattern_word(word, seed + rank * 0x632be5abu);
}

/* What rank `rank` adds to element `element`: of so few bits that sums stay exact. */
BW_PARAMS_FUNCTION uint32_t bw_shmem_number(uint32_t dtype, uint32_t ranks, uint32_t rank,
                                            uint64_t element, uint32_t seed)
{
    const uint32_t bits = bw_shmem_value_bits(dtype, ranks);
    const uint32_t number = bw_pattern_word(element, seed + rank * 0x632be5abu);

    return bits >= 32 ? number : number & ((1u << bits) - 1);
}

/* Word `word` of rank `rank`'s input. */
BW_PARAMS_FUNCTION uint32_t bw_shmem_input_word(const struct bw_shmem_check *c, uint32_t rank,
                                                uint64_t word)
{
    const uint32_t width = bw_shmem_element_bits(c->dtype);
    const uint32_t each = 32 / width;
    uint32_t bits = 0;

    if (!c->is_reduced) {
        return bw_shmem_transport_word(rank, word, c->seed);
    }
    for (uint32_t i = 0; i < each; i++) {
        bits |= bw_shmem_encode(c->dtype,
                                bw_shmem_number(c->dtype, c->ranks, rank, word * each + i, c->seed))
                << (i * width);
    }
    return bits;
}

/* Word `word` of the sum of all ranks' inputs. */
BW_PARAMS_FUNCTION uint32_t bw_shmem_sum_word(const struct bw_shmem_check *c, uint64_t word)
{
    const uint32_t width = bw_shmem_element_bits(c->dtype);
    const uint32_t each = 32 / width;
    uint32_t bits = 0;

    for (uint32_t i = 0; i < each; i++) {
        uint32_t sum = 0;

        for (uint32_t rank = 0; rank < c->ranks; rank++) {
            sum += bw_shmem_number(c->dtype, c->ranks, rank, word * each + i, c->seed);
        }
        bits |= bw_shmem_encode(c->dtype, sum) << (i * width);
    }
    return bits;
}

/* Word `word` of message `message` of rank c->rank's output. */
BW_PARAMS_FUNCTION uint32_t bw_shmem_output_word(const struct bw_shmem_check *c, uint32_t message,
                                                 uint64_t word)
{
    const uint64_t mine = c->rank * (c->pitch_bytes / 4) + word;

    switch (c->layout) {
    case BW_LAYOUT_ALL_GATHER:
        return bw_shmem_input_word(c, message, word);
    case BW_LAYOUT_ALL_TO_ALL:
        return bw_shmem_input_word(c, message, mine);
    case BW_LAYOUT_REDUCE_SCATTER:
        return bw_shmem_sum_word(c, mine);
    case BW_LAYOUT_ALL_REDUCE:
        return bw_shmem_sum_word(c, word);
    default:
        return bw_shmem_input_word(c, c->root, word);
    }
}

/* Messages of a rank's input, and of its output. */
BW_PARAMS_FUNCTION uint32_t bw_shmem_inputs(uint32_t layout, uint32_t ranks)
{
    return layout == BW_LAYOUT_ALL_TO_ALL || layout == BW_LAYOUT_REDUCE_SCATTER ? ranks : 1;
}

BW_PARAMS_FUNCTION uint32_t bw_shmem_outputs(uint32_t layout, uint32_t ranks)
{
    return layout == BW_LAYOUT_ALL_TO_ALL || layout == BW_LAYOUT_ALL_GATHER ? ranks : 1;
}

#endif
