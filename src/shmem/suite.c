/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of --suite shmem: what the standard wants of a round, and its boundaries. Pure. */
#include "bwtool/suite.h"

#include <ctype.h>
#include <string.h>

#define ALL 0

#define CASE(name_, row_, size_, dtype_, placement_, ranks_, what_)                  \
    {                                                                                \
        .name = (name_), .row = (row_), .size = SUITE_##size_, .dtype = BW_##dtype_, \
        .placement = PLACEMENT_##placement_, .ranks = (ranks_), .what = (what_),     \
    }
/* A case with a size of its own. */
#define OWN(name_, row_, bytes_, dtype_, placement_, ranks_, what_)                   \
    {                                                                                 \
        .name = (name_), .row = (row_), .size = SUITE_OWN, .bytes = (bytes_),         \
        .dtype = BW_##dtype_, .placement = PLACEMENT_##placement_, .ranks = (ranks_), \
        .what = (what_),                                                              \
    }
/* The same with so many tokens of its own. */
#define TOKENS(name_, row_, tokens_, hidden_, top_k_, dtype_, what_)                   \
    {                                                                                  \
        .name = (name_), .row = (row_), .size = SUITE_OWN, .tokens = (tokens_),        \
        .hidden = (hidden_), .top_k = (top_k_), .dtype = BW_##dtype_, .what = (what_), \
    }

/* Bulk copies go by way of a ring in the SM's memory: stages of so many bytes. */
enum { RING_BYTES = 5 * 8192 };

/*
 * Boundaries are of correctness: they are below the size from which on the
 * utilization is judged, but for B7. L of the collectives is there twice: R is
 * held against registered memory, A against plain memory.
 */
/* clang-format off */
const struct bw_suite_case bw_suite_shmem[] = {
    CASE("S.put",              "shmem_put",            S, FP16, AUTO, ALL, "S: latency"),
    CASE("S.get",              "shmem_get",            S, FP16, AUTO, ALL, "S: latency"),
    CASE("S.all_to_all",       "shmem_all_to_all",     S, FP16, AUTO, ALL, "S: latency"),
    CASE("S.all_gather",       "shmem_all_gather",     S, FP16, AUTO, ALL, "S: latency"),
    CASE("S.reduce_scatter",   "shmem_reduce_scatter", S, FP32, AUTO, ALL, "S: latency"),
    CASE("S.all_reduce",       "shmem_all_reduce",     S, FP32, AUTO, ALL, "S: latency"),
    CASE("S.broadcast",        "shmem_broadcast",      S, FP16, AUTO, ALL, "S: latency"),
    CASE("S.dispatch",         "shmem_dispatch",       S, BF16, AUTO, ALL, "S: latency"),
    CASE("S.combine",          "shmem_combine",        S, BF16, AUTO, ALL, "S: latency"),
    CASE("L.put",              "shmem_put",            L, FP16, AUTO, ALL, "L: bandwidth"),
    CASE("L.get",              "shmem_get",            L, FP16, AUTO, ALL, "L: bandwidth"),
    CASE("L.R.all_to_all",     "shmem_all_to_all",     L, FP16, R,    ALL, "L: bandwidth, registered"),
    CASE("L.R.all_gather",     "shmem_all_gather",     L, FP16, R,    ALL, "L: bandwidth, registered"),
    CASE("L.R.reduce_scatter", "shmem_reduce_scatter", L, FP32, R,    ALL, "L: bandwidth, registered"),
    CASE("L.R.all_reduce",     "shmem_all_reduce",     L, FP32, R,    ALL, "L: bandwidth, registered"),
    CASE("L.R.broadcast",      "shmem_broadcast",      L, FP16, R,    ALL, "L: bandwidth, registered"),
    CASE("L.A.all_to_all",     "shmem_all_to_all",     L, FP16, A,    ALL, "L: bandwidth, ordinary memory"),
    CASE("L.A.all_gather",     "shmem_all_gather",     L, FP16, A,    ALL, "L: bandwidth, ordinary memory"),
    CASE("L.A.reduce_scatter", "shmem_reduce_scatter", L, FP32, A,    ALL, "L: bandwidth, ordinary memory"),
    CASE("L.A.all_reduce",     "shmem_all_reduce",     L, FP32, A,    ALL, "L: bandwidth, ordinary memory"),
    CASE("L.A.broadcast",      "shmem_broadcast",      L, FP16, A,    ALL, "L: bandwidth, ordinary memory"),
    CASE("L.dispatch",         "shmem_dispatch",       L, BF16, AUTO, ALL, "L: bandwidth"),
    CASE("L.combine",          "shmem_combine",        L, BF16, AUTO, ALL, "L: bandwidth"),
    CASE("fp16.all_reduce",    "shmem_all_reduce",     L, FP16, AUTO, ALL, "dtype"),
    CASE("bf16.all_reduce",    "shmem_all_reduce",     L, BF16, AUTO, ALL, "dtype"),
    CASE("int32.all_reduce",   "shmem_all_reduce",     L, INT32, AUTO, ALL, "dtype"),
    CASE("int8.all_reduce",    "shmem_all_reduce",     L, INT8, AUTO, ALL, "dtype"),
    CASE("fp32.all_to_all",    "shmem_all_to_all",     L, FP32, AUTO, ALL, "dtype"),
    CASE("2pe.all_to_all",     "shmem_all_to_all",     L, FP16, AUTO, 2,   "number of PEs"),
    CASE("2pe.all_reduce",     "shmem_all_reduce",     L, FP32, AUTO, 2,   "number of PEs"),
    CASE("4pe.all_to_all",     "shmem_all_to_all",     L, FP16, AUTO, 4,   "number of PEs"),
    CASE("4pe.all_reduce",     "shmem_all_reduce",     L, FP32, AUTO, 4,   "number of PEs"),
    CASE("8pe.all_to_all",     "shmem_all_to_all",     L, FP16, AUTO, 8,   "number of PEs"),
    CASE("8pe.all_reduce",     "shmem_all_reduce",     L, FP32, AUTO, 8,   "number of PEs"),
    OWN("B1.chunk_tail",       "shmem_all_gather_tiles", 3 * 65536 + 18, FP16, AUTO, ALL, "a last chunk that is not whole"),
    OWN("B2.not_divisible",    "shmem_all_reduce_two_shot", 99991, INT8, AUTO, ALL, "a prime number of elements: no number of PEs divides it"),
    TOKENS("B3.odd_dimensions", "shmem_dispatch",      37, 1031, 3, BF16, "odd dimensions: tokens, hidden and top_k"),
    OWN("B4.one_element",      "shmem_all_reduce",     1, FP32, AUTO, ALL, "one element, or one of each PE"),
    TOKENS("B4.one_row",       "shmem_combine",        1, 1, 1, FP16, "one row of one element"),
    {.name = "B5.on_chip_buffer", .row = "shmem_broadcast_tma", .size = SUITE_OWN, .bytes = RING_BYTES + 16,
     .dtype = BW_FP16, .ctas = 1, .what = "one vector more than a block's ring of stages holds"},
    {.name = "B6.repeated_rounds", .row = "shmem_all_reduce_poison", .size = SUITE_OWN, .bytes = 64 << 10,
     .dtype = BW_FP32, .rounds = 24, .what = "signals, epochs and slots used again and again"},
    CASE("B7.2pe_largest",     "shmem_all_gather",    XL, FP16, AUTO, 2,   "2 PEs with the largest size"),
    OWN("B8.8pe_smallest",     "shmem_all_gather",    1, INT8, AUTO, 8,    "8 PEs with the smallest size"),
};
/* clang-format on */
const size_t bw_suite_shmem_count = sizeof(bw_suite_shmem) / sizeof(bw_suite_shmem[0]);

bool bw_suite_is_known(const char *name)
{
    return strcmp(name, "shmem") == 0;
}

int bw_suite_boundary(const struct bw_suite_case *c)
{
    return c->name[0] == 'B' && isdigit((unsigned char)c->name[1]) ? c->name[1] - '0' : 0;
}

const char *bw_suite_size_name(enum bw_suite_size size)
{
    switch (size) {
    case SUITE_S:
        return "S";
    case SUITE_L:
        return "L";
    case SUITE_XL:
        return "XL";
    case SUITE_OWN:
        break;
    }
    return "own";
}

uint64_t bw_suite_bytes(const struct bw_suite_case *c, uint64_t large_bytes)
{
    switch (c->size) {
    case SUITE_S:
        return large_bytes / 4 < BW_SUITE_S_BYTES ? large_bytes / 4 : BW_SUITE_S_BYTES;
    case SUITE_L:
        return large_bytes;
    case SUITE_XL:
        return BW_SUITE_XL_FACTOR * large_bytes;
    case SUITE_OWN:
        break;
    }
    return c->tokens > 0
               ? bw_shmem_routed_payload_bytes(c->tokens, c->hidden, bw_dtype_bytes(c->dtype))
               : c->bytes;
}

void bw_suite_set(const struct bw_suite_case *c, uint64_t large_bytes,
                  struct bw_shmem_request *request)
{
    request->bytes_min = request->bytes_max = bw_suite_bytes(c, large_bytes);
    request->is_swept = true;
    request->placement = c->placement;
    request->has_dtype = true;
    request->dtype = c->dtype;
    request->ranks = c->ranks;
    request->rounds = c->rounds;
    request->ctas_count = c->ctas > 0;
    request->ctas[0] = c->ctas;
    request->route.tokens = c->tokens;
    if (c->hidden > 0) {
        request->route.hidden = c->hidden;
        request->route.top_k = c->top_k;
    }
}
