/* SPDX-License-Identifier: Apache-2.0 */
/* From what is asked for to one operator at one size. Pure. */
#include "shmem.h"

#include "shmem_params.h"

#include "bwtool/text.h"

#include <string.h>

/* Up to this payload launches overlap (programmatic dependent launch): they are short against it.
 */
static const uint64_t overlap_bytes_max = 4u << 20;

/* Kernels count a buffer's vectors in 32 bits, and look ahead by what a whole grid takes at once.
 */
static const uint64_t vectors_max = UINT32_MAX - (1u << 22);

/* A put with its signal, and what a barrier orders while it is checked, are small. */
static const uint64_t signal_bytes = 16;
/*
 * Round trips of a launch, so that it is not the launch that is timed; fewer of
 * long messages, which one block moves: at some 50 GB/s such a launch takes a
 * third of a millisecond or, of one message alone, as long as that takes.
 */
enum { ping_pongs_max = 32 };
static const uint64_t ping_pong_bytes = 16u << 20;
static const uint64_t ping_pong_message_max = 64u << 20;
static const uint64_t barrier_check_bytes = 4096;

static enum bw_shmem_layout layout_of(enum bw_shmem_op op)
{
    switch (op) {
    case SHMEM_ALL_GATHER:
    case SHMEM_BARRIER:
        return BW_LAYOUT_ALL_GATHER;
    case SHMEM_ALL_TO_ALL:
        return BW_LAYOUT_ALL_TO_ALL;
    case SHMEM_REDUCE_SCATTER:
        return BW_LAYOUT_REDUCE_SCATTER;
    case SHMEM_ALL_REDUCE:
        return BW_LAYOUT_ALL_REDUCE;
    case SHMEM_BROADCAST:
        return BW_LAYOUT_BROADCAST;
    default:
        return BW_LAYOUT_PUT;
    }
}

/* All ranks add a part each, which then goes to all. */
static bool is_by_parts(const struct bw_operator *row)
{
    return row->algorithm == ALGORITHM_TWO_SHOT ||
           (row->algorithm == ALGORITHM_MULTICAST && row->op == SHMEM_ALL_REDUCE);
}

static char *why_no_multicast(const struct bw_operator *row, enum bw_shmem_dtype dtype,
                              const struct shmem_machine *machine)
{
    if (dtype == BW_INT8 && bw_shmem_formula(row->op)->is_sum) {
        return bw_text_reason("the switch adds no int8: multimem.ld_reduce has none");
    }
    if (machine->ranks < 2) {
        return bw_text_reason("multicast needs two GPUs, and there is one");
    }
    return machine->no_multicast != NULL ? bw_text_reason("%s", machine->no_multicast) : NULL;
}

/* "Multicast" and "placement A of a pull" and so on: why not. */
static char *why_not(const struct bw_operator *row, enum bw_placement placement,
                     enum bw_shmem_dtype dtype, const struct shmem_machine *machine)
{
    char *reason =
        row->algorithm != ALGORITHM_MULTICAST ? NULL : why_no_multicast(row, dtype, machine);

    if (reason != NULL) {
        return reason;
    }
    if (placement != PLACEMENT_AUTO && (row->placements & (unsigned)placement) == 0) {
        return bw_text_reason("placement %s would not be honest: %s", bw_placement_name(placement),
                              row->schedule);
    }
    if (row->is_float_only && dtype != BW_FP16 && dtype != BW_BF16 && dtype != BW_FP32) {
        return bw_text_reason("'not there yet' is a NaN, and %s has none", bw_dtype_name(dtype));
    }
    if (row->algorithm == ALGORITHM_TMA && !machine->has_bulk) {
        return bw_text_reason("needs bulk copies (TMA): compute capability 9.0 or newer");
    }
    if (machine->ranks < 2 &&
        (row->op == SHMEM_PUT || row->op == SHMEM_GET || row->op == SHMEM_PUT_SIGNAL)) {
        return bw_text_reason("needs two GPUs that reach each other, and there is one");
    }
    return NULL;
}

/* Elements of a shard, or of the whole, for about so many bytes of payload; at least one. */
static uint64_t elements_for(const struct shmem_case *c, uint64_t bytes)
{
    const bool is_scattered = bw_shmem_formula(c->row->op)->is_scattered;
    const uint64_t unit = bw_dtype_bytes(c->dtype) * (is_scattered ? (uint64_t)c->ranks : 1);
    const uint64_t elements = bytes / unit + (bytes % unit != 0);

    return elements > 0 ? elements : 1;
}

static void set_sizes(struct shmem_case *c, uint64_t bytes)
{
    const uint64_t n = (uint64_t)c->ranks;
    uint64_t pitch = 0;

    c->elements = elements_for(c, bytes);
    c->payload_bytes =
        bw_shmem_payload_bytes(c->row->op, c->ranks, c->elements, bw_dtype_bytes(c->dtype));
    c->message_bytes = c->elements * bw_dtype_bytes(c->dtype);
    if (c->row->op == SHMEM_BARRIER) {
        c->payload_bytes = c->elements = 0;
        c->message_bytes = barrier_check_bytes;
    }
    pitch = (c->message_bytes + 15) / 16 * 16;
    c->in_bytes = pitch * bw_shmem_inputs((uint32_t)c->layout, (uint32_t)n);
    c->out_bytes = pitch * bw_shmem_outputs((uint32_t)c->layout, (uint32_t)n);
    c->vectors = (uint32_t)(pitch / 16);
    c->total = c->vectors * (uint32_t)n;
    if (is_by_parts(c->row)) {
        c->total = c->vectors;
        c->vectors = (uint32_t)((pitch / 16 + n - 1) / n);
    }
    c->slot_vectors = (c->vectors + 31) / 32 * 32 * c->row->spread;
}

static char *why_too_large(const struct shmem_case *c)
{
    const uint64_t bytes = c->in_bytes > c->out_bytes ? c->in_bytes : c->out_bytes;

    if (c->row->op == SHMEM_PUT_SIGNAL && c->message_bytes > ping_pong_message_max) {
        return bw_text_reason("one block moves a ping-pong's message: of more than %u MiB that is "
                              "no latency (shmem_put has the rate)",
                              (unsigned)(ping_pong_message_max >> 20));
    }
    if (((uint64_t)c->vectors + 31) / 32 * 32 * c->row->spread > UINT32_MAX) {
        return bw_text_reason("a message of %.1f GiB with its flags is more than an operator's "
                              "kernel counts (64 GiB): give a smaller -b",
                              (double)c->vectors * 16 / (1 << 30));
    }
    if (bytes / 16 <= vectors_max || c->row->op == SHMEM_PUT || c->row->op == SHMEM_GET) {
        return NULL;
    }
    return bw_text_reason("a buffer of %.1f GiB on each rank is more than an operator's kernel "
                          "counts (64 GiB): give a smaller -b",
                          (double)bytes / (1 << 30));
}

static void set_grid(struct shmem_case *c, const struct shmem_machine *machine, unsigned ctas)
{
    const bool is_routed = shmem_is_routed(c->row->op);
    const unsigned own =
        bw_operator_ctas(c->row, is_routed ? c->total : c->vectors, (unsigned)machine->sm_count);
    const unsigned most = c->row->blocks_a_sm * (unsigned)machine->sm_count;

    c->threads = c->row->threads;
    c->ctas = own;
    if (is_routed && c->row->algorithm == ALGORITHM_TILES && own > c->route.shape.tokens) {
        c->ctas = c->route.shape.tokens; /* a tile is a token at the least */
    }
    c->default_ctas = c->ctas;
    if (ctas > 0 && c->row->algorithm != ALGORITHM_CE && c->row->algorithm != ALGORITHM_DIRECT) {
        c->ctas = ctas > most ? most : ctas;
        c->ctas = c->ctas > BW_SHMEM_CTAS_MAX ? BW_SHMEM_CTAS_MAX : c->ctas;
    }
    if (is_routed && c->row->algorithm == ALGORITHM_TILES) {
        shmem_route_set_tiles(c);
    } else if (c->row->algorithm == ALGORITHM_TILES || c->row->algorithm == ALGORITHM_TWO_SHOT) {
        c->tile_vectors = bw_operator_tile_vectors(c->vectors, c->ctas);
        c->tile_steps = (c->vectors / c->tile_vectors + 1) / c->ctas + 1;
    }
}

static unsigned ping_pongs(uint64_t message_bytes)
{
    const uint64_t fit = ping_pong_bytes / message_bytes;

    return fit < 1 ? 1 : fit < ping_pongs_max ? (unsigned)fit : ping_pongs_max;
}

char *shmem_case_set(struct shmem_case *c, const struct bw_operator *row,
                     const struct bw_shmem_request *request, const struct shmem_machine *machine,
                     uint64_t bytes, unsigned ctas)
{
    const struct bw_operator *asked = row;
    char *reason = NULL;

    memset(c, 0, sizeof(*c));
    c->dtype = request->has_dtype ? request->dtype : row->dtype;
    if (row->algorithm == ALGORITHM_AUTO && request->algorithm != ALGORITHM_AUTO) {
        row = bw_operator_way(row->op, request->algorithm);
        if (row == NULL) {
            return bw_text_reason("%s has no algorithm '%s'", asked->tc.name,
                                  bw_algorithm_name(request->algorithm));
        }
    }
    if (!request->is_swept && row->tc.op == OP_SIGNAL) {
        bytes = signal_bytes;
    }
    row = bw_operator_choose(row, bytes, request->placement, c->dtype, machine->has_bulk);
    if (row == NULL) {
        return bw_text_reason("no algorithm of %s has placement %s for %s", asked->tc.name,
                              bw_placement_name(request->placement), bw_dtype_name(c->dtype));
    }
    reason = why_not(row, request->placement, c->dtype, machine);
    if (reason != NULL) {
        return reason;
    }
    c->row = row;
    c->placement = request->placement != PLACEMENT_AUTO ? request->placement : row->natural;
    c->ranks = machine->ranks;
    c->profile_mode = request->profile;
    c->layout = layout_of(row->op);
    c->is_sum = bw_shmem_formula(row->op)->is_sum;
    c->fresh_rounds = request->rounds > 0 ? request->rounds : SHMEM_FRESH_ROUNDS;
    if (shmem_is_routed(row->op)) {
        reason = shmem_route_set(c, request, bytes);
        if (reason != NULL) {
            return reason;
        }
    } else {
        set_sizes(c, bytes);
        reason = why_too_large(c);
        if (reason != NULL) {
            return reason;
        }
    }
    c->rounds = row->op == SHMEM_PUT_SIGNAL ? ping_pongs(c->message_bytes) : 0;
    set_grid(c, machine, ctas);
    c->has_pdl = machine->has_bulk && c->row->algorithm != ALGORITHM_CE &&
                 c->row->op != SHMEM_PUT && c->row->op != SHMEM_GET &&
                 c->payload_bytes <= overlap_bytes_max;
    return NULL;
}
