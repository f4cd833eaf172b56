/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dispatch and combine as cases: how many tokens, the route tables in the
 * memory of the GPUs, and what a launch is told of them.
 */
#include "shmem.h"

#include "../measure/pool.h"
#include "../measure/session.h"

#include "bwtool/log.h"

#include <stdlib.h>

static const uint64_t table_unit = 256;

bool shmem_is_routed(enum bw_shmem_op op)
{
    return op == SHMEM_DISPATCH || op == SHMEM_COMBINE;
}

/* What was asked for; zeros are defaults. */
static struct bw_route_shape shape_of(const struct bw_operator *row,
                                      const struct bw_shmem_request *request, uint64_t bytes)
{
    struct bw_route_shape shape = request->route;
    uint64_t tokens = 0;

    shape.element_bytes = bw_dtype_bytes(request->has_dtype ? request->dtype : row->dtype);
    shape.hidden = shape.hidden > 0 ? shape.hidden : BW_ROUTE_HIDDEN;
    shape.top_k = shape.top_k > 0 ? shape.top_k : BW_ROUTE_TOP_K;
    shape.experts = shape.experts > 0 ? shape.experts : BW_ROUTE_EXPERTS;
    tokens =
        shape.tokens > 0 ? shape.tokens : bytes / ((uint64_t)shape.hidden * shape.element_bytes);
    tokens = tokens > 0 ? tokens : 1;
    shape.tokens = tokens > UINT32_MAX ? UINT32_MAX : (uint32_t)tokens;
    return shape;
}

uint32_t shmem_route_tokens(const struct bw_operator *row, const struct bw_shmem_request *request,
                            uint64_t bytes)
{
    return shape_of(row, request, bytes).tokens;
}

char *shmem_route_set(struct shmem_case *c, const struct bw_shmem_request *request, uint64_t bytes)
{
    struct bw_route_shape *shape = &c->route.shape;

    *shape = shape_of(c->row, request, bytes);
    shape->ranks = c->ranks;
    c->elements = (uint64_t)shape->tokens * shape->hidden;
    c->payload_bytes =
        bw_shmem_routed_payload_bytes(shape->tokens, shape->hidden, shape->element_bytes);
    c->message_bytes = (uint64_t)shape->hidden * shape->element_bytes;
    c->vectors = (uint32_t)((c->message_bytes + 15) / 16);
    c->total = c->vectors * shape->tokens; /* why_not() leaves fewer than 2^32 */
    return bw_route_why_not(shape);
}

/* Whole tokens of as many vectors as a block has under way; fewer where that keeps blocks busy. */
void shmem_route_set_tiles(struct shmem_case *c)
{
    const uint32_t tokens = c->route.shape.tokens;
    const uint32_t most = BW_SHMEM_THREADS * BW_SHMEM_TILE_VECTORS / c->vectors;
    const uint32_t even = tokens / c->ctas + (tokens % c->ctas != 0);

    c->tile_tokens = most < 1 ? 1 : most < even ? most : even;
    c->tiles = tokens / c->tile_tokens + (tokens % c->tile_tokens != 0);
    c->tile_steps = c->tiles / c->ctas + 1;
}

static uint64_t pitch_of(const struct shmem_case *c)
{
    return (uint64_t)c->vectors * 16;
}

static uint64_t tokens_bytes(const struct shmem_case *c)
{
    return c->route.shape.tokens * pitch_of(c);
}

uint64_t shmem_in_bytes(const struct shmem_case *c, int r)
{
    return c->row->op != SHMEM_COMBINE ? c->in_bytes
                                       : bw_route_received(&c->route, r) * pitch_of(c);
}

uint64_t shmem_out_bytes(const struct shmem_case *c, int r)
{
    return c->row->op != SHMEM_DISPATCH ? c->out_bytes
                                        : bw_route_received(&c->route, r) * pitch_of(c);
}

bool shmem_route_is_shared(const struct shmem_case *c)
{
    return c->row->op == SHMEM_DISPATCH && c->row->algorithm == ALGORITHM_PULL;
}

static uint64_t table_bytes(uint64_t entries)
{
    return (entries * 4 + table_unit - 1) / table_unit * table_unit;
}

static uint64_t entries_of(const struct shmem_case *c)
{
    return (uint64_t)c->route.shape.tokens * c->route.width;
}

uint64_t shmem_route_shared_bytes(const struct shmem_case *c)
{
    return shmem_route_is_shared(c) ? 2 * table_bytes(entries_of(c)) : 0;
}

enum bw_status shmem_route_open(struct shmem_case *c)
{
    const struct bw_route_shape shape = c->route.shape;
    uint64_t rows_bytes = 0;
    enum bw_status st = BW_OK;

    if (!shmem_is_routed(c->row->op)) {
        return BW_OK;
    }
    st = bw_route_build(&c->route, &shape);
    if (st != BW_OK) {
        c->route.rows_max = shape.tokens * (uint32_t)c->ranks;
        c->route.pair_max = shape.tokens;
    }
    /* Windows are alike on all ranks: room for the one that gets most. */
    rows_bytes = c->route.rows_max * pitch_of(c);
    c->in_bytes = c->row->op == SHMEM_COMBINE ? rows_bytes : tokens_bytes(c);
    c->out_bytes = c->row->op == SHMEM_COMBINE ? tokens_bytes(c) : rows_bytes;
    c->slot_vectors = c->row->slots > 0 ? (c->route.pair_max * c->vectors + 31) / 32 * 32 : 0;
    return st;
}

/* Of the rank that has most: rows that come back beyond the first of each token. */
static double additions_of(const struct shmem_case *c)
{
    const struct bw_route_shape *shape = &c->route.shape;
    double most = 0;

    for (int r = 0; r < c->ranks; r++) {
        uint64_t partials = 0;
        double additions = 0;

        for (int p = 0; p < c->ranks; p++) {
            partials += bw_route_rows(&c->route, r, p);
        }
        additions = bw_shmem_routed_operations(partials, shape->tokens, shape->hidden);
        most = additions > most ? additions : most;
    }
    return c->row->op == SHMEM_COMBINE ? most : 0;
}

static enum bw_status describe(const struct shmem_case *c, struct bw_shmem_point *point)
{
    point->rank_bytes = calloc((size_t)c->ranks, sizeof(*point->rank_bytes));
    if (point->rank_bytes == NULL) {
        return bw_errno("no memory for %d ranks", c->ranks);
    }
    for (int r = 0; r < c->ranks; r++) {
        point->rank_bytes[r] = bw_route_bytes_of(&c->route, c->row->op, r);
    }
    point->busiest = bw_route_busiest(&c->route, c->row->op);
    point->bytes = point->rank_bytes[point->busiest];
    point->operations = additions_of(c);
    return BW_OK;
}

enum bw_status shmem_route_open_all(struct shmem_case *c, struct bw_shmem_point *point)
{
    enum bw_status st = BW_OK;

    if (!shmem_is_routed(c->row->op)) {
        return BW_OK;
    }
    st = shmem_route_open(c);
    st = st == BW_OK ? describe(c, point) : st;
    return shmem_agree_all(c, st, "making an operator's routes");
}

void shmem_route_close(struct shmem_case *c)
{
    bw_route_free(&c->route);
}

/* What rank `to` knows of the rows that come to it: of which token each is, and where tiles begin.
 */
static void list_rows(const struct shmem_case *c, int to, uint32_t *edge, uint32_t *origin)
{
    const struct bw_route *route = &c->route;
    const uint64_t entries = entries_of(c);

    for (int from = 0; from < c->ranks; from++) {
        uint32_t *edges = &edge[(uint64_t)from * (c->tiles + 1)];
        uint32_t rows = 0;

        for (uint32_t t = 0; t < route->shape.tokens; t++) {
            const uint64_t first = (uint64_t)from * entries + (uint64_t)t * route->width;

            if (c->tiles > 0 && t % c->tile_tokens == 0) {
                edges[t / c->tile_tokens] = rows;
            }
            for (uint64_t i = first; i < first + route->width; i++) {
                if (route->dst[i] == to) {
                    origin[route->slot[i]] = (uint32_t)from * route->shape.tokens + t;
                    rows++;
                }
            }
        }
        edges[c->tiles] = rows;
    }
}

static enum bw_status send(CUdeviceptr to, const void *from, uint64_t bytes, CUstream stream)
{
    return bytes > 0 ? CU(cu.MemcpyAsync(to, (CUdeviceptr)(uintptr_t)from, bytes, stream)) : BW_OK;
}

/* The user's tables: in ordinary memory, and (R) in the window, where the peers read them. */
enum bw_status shmem_route_upload(struct shmem_case *c, int r)
{
    const uint64_t patience_ns = 60ULL * 1000 * 1000 * 1000;
    struct shmem_route_tables *tables = &c->rank[r].route;
    const uint64_t entries = entries_of(c), half = table_bytes(entries);
    const uint64_t edges = (uint64_t)c->ranks * (c->tiles + 1);
    const uint64_t rows = bw_route_received(&c->route, r);
    const int32_t *dst = &c->route.dst[(uint64_t)r * entries];
    const int32_t *slot = &c->route.slot[(uint64_t)r * entries];
    CUstream stream = c->rank[r].stream;
    uint32_t *lists = calloc(edges + rows, sizeof(*lists));
    CUdeviceptr at = 0;
    enum bw_status st = BW_OK;
    enum bw_status waited = BW_OK;

    if (lists == NULL) {
        return bw_errno("no memory for the routes of rank %d", r);
    }
    list_rows(c, r, lists, lists + edges);
    TRY(bw_pool_take(c->session->pool, false, c->rank[r].gpu->ordinal,
                     2 * half + table_bytes(edges) + table_bytes(rows), &at));
    tables->user_dst = tables->dst = at;
    tables->user_slot = tables->slot = at + half;
    tables->edge = at + 2 * half;
    tables->origin = tables->edge + table_bytes(edges);
    TRY(send(tables->user_dst, dst, entries * 4, stream));
    TRY(send(tables->user_slot, slot, entries * 4, stream));
    TRY(send(tables->edge, lists, edges * 4, stream));
    TRY(send(tables->origin, lists + edges, rows * 4, stream));
    if (shmem_route_is_shared(c)) {
        tables->dst = c->rank[r].window + c->at.tables;
        tables->slot = tables->dst + half;
        if (shmem_has_staging(c)) { /* brings them: if it did not, others would be there */
            TRY(CU(cu.MemsetD32Async(tables->dst, 0, entries, stream)));
            TRY(CU(cu.MemsetD32Async(tables->slot, 0, entries, stream)));
        } else {
            TRY(send(tables->dst, dst, entries * 4, stream));
            TRY(send(tables->slot, slot, entries * 4, stream));
        }
    }
out: /* until then the copies read the lists */
    waited = bw_stream_wait(stream, patience_ns, "sending route tables");
    free(lists);
    return st != BW_OK ? st : waited;
}

/* Phases 1b and 1c of the standard. */
enum bw_status shmem_route_stage(const struct shmem_case *c, int r, CUstream stream)
{
    const struct shmem_route_tables *tables = &c->rank[r].route;
    const uint64_t bytes = entries_of(c) * 4;
    enum bw_status st = BW_OK;

    TRY(CU(cu.MemcpyAsync(tables->dst, tables->user_dst, bytes, stream)));
    TRY(CU(cu.MemcpyAsync(tables->slot, tables->user_slot, bytes, stream)));
out:
    return st;
}

struct bw_route_args shmem_route_args(const struct shmem_case *c, int r,
                                      const struct bw_shmem_args *args)
{
    const struct shmem_route_tables *tables = &c->rank[r].route;
    const struct bw_route *route = &c->route;
    struct bw_route_args a = {
        .s = *args,
        .dst = tables->dst,
        .slot = tables->slot,
        .dst_offset = c->at.tables,
        .slot_offset = c->at.tables + table_bytes(entries_of(c)),
        .edge = tables->edge,
        .tokens = route->shape.tokens,
        .width = route->width,
        .tile_tokens = c->tile_tokens,
        .tiles = c->tiles,
    };

    for (int p = 0; p < c->ranks; p++) {
        a.base[p] = route->base[r * c->ranks + p];
        a.from[p] = route->base[p * c->ranks + r];
        a.sent[p] = bw_route_rows(route, r, p);
        a.received[p] = bw_route_rows(route, p, r);
    }
    return a;
}
