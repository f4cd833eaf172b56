/* SPDX-License-Identifier: Apache-2.0 */
/* Route tables of dispatch and combine, from a seed and a skew. */
#include "bwtool/route.h"

#include "shmem_params.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/text.h"

#include <math.h>
#include <stdlib.h>

/*
 * How likely experts are, as whole numbers in a tree of partial sums (tree[i]
 * holds those of i's lowest bit), so that a draw and a change take as many
 * steps as the number of experts has bits.
 */
struct chances {
    uint64_t *each; /* by expert */
    uint64_t *tree; /* from 1 on */
    uint32_t count, top;
    uint64_t total;
};

char *bw_route_why_not(const struct bw_route_shape *shape)
{
    const uint64_t all = (uint64_t)shape->ranks * shape->experts;

    if (shape->top_k > all) {
        return bw_text_reason("a token cannot go to %u experts where there are %llu (%u on each of "
                              "%d ranks): give a smaller --top-k or more --experts",
                              shape->top_k, (unsigned long long)all, shape->experts, shape->ranks);
    }
    if (isinf(shape->skew) && shape->top_k > shape->experts) {
        return bw_text_reason("a token cannot go to %u experts of one rank that has %u: give a "
                              "smaller --top-k or more --experts",
                              shape->top_k, shape->experts);
    }
    if ((uint64_t)shape->ranks * shape->tokens > BW_ROUTE_TOKENS_MAX) {
        return bw_text_reason("%u tokens on each of %d ranks are more than %d in all: give fewer "
                              "--tokens, a smaller -b or a larger --hidden",
                              shape->tokens, shape->ranks, (int)BW_ROUTE_TOKENS_MAX);
    }
    if (bw_shmem_routed_payload_bytes(shape->tokens, shape->hidden, shape->element_bytes) >
        BW_ROUTE_BYTES_MAX) {
        return bw_text_reason("%u tokens of %u elements are more than 16 GiB a rank: give fewer "
                              "--tokens, a smaller -b or a smaller --hidden",
                              shape->tokens, shape->hidden);
    }
    return NULL;
}

/*
 * x^-s by products and square roots only: those are rounded alike everywhere,
 * which pow() is not, and ranks on different machines must draw alike.
 */
static double power(double x, double s)
{
    uint32_t fixed = (uint32_t)(s * 1024 + 0.5);
    double whole = 1;
    double root = x;

    for (uint32_t i = 0; i < fixed >> 10; i++) {
        whole *= x;
    }
    fixed &= 1023;
    for (uint32_t bit = 512; bit > 0; bit >>= 1) {
        root = sqrt(root);
        whole *= (fixed & bit) != 0 ? root : 1;
    }
    return 1 / whole;
}

/* No expert is so unlikely that there are not enough of them. */
static uint64_t chance_of(const struct bw_route_shape *shape, uint32_t expert)
{
    const double scale = 1099511627776.0; /* 2^40 */
    double chance = 0;

    if (isinf(shape->skew)) {
        return expert < shape->experts ? 1 : 0;
    }
    chance = scale * power((double)expert + 1, shape->skew);
    return chance < 1 ? 1 : (uint64_t)chance;
}

static void change(struct chances *chances, uint32_t expert, uint64_t by)
{
    for (uint32_t i = expert + 1; i <= chances->count; i += i & (~i + 1)) {
        chances->tree[i] += by; /* a negative number wraps around, and so does the sum */
    }
    chances->total += by;
}

/* The expert in whose share `at`, below the total, lies. */
static uint32_t find(const struct chances *chances, uint64_t at)
{
    uint32_t i = 0;

    for (uint32_t bit = chances->top; bit > 0; bit >>= 1) {
        if (i + bit <= chances->count && chances->tree[i + bit] <= at) {
            i += bit;
            at -= chances->tree[i];
        }
    }
    return i;
}

static enum bw_status open_chances(struct chances *chances, const struct bw_route_shape *shape)
{
    chances->count = (uint32_t)shape->ranks * shape->experts;
    chances->each = calloc(chances->count, sizeof(*chances->each));
    chances->tree = calloc((size_t)chances->count + 1, sizeof(*chances->tree));
    if (chances->each == NULL || chances->tree == NULL) {
        return bw_errno("no memory for %u experts", chances->count);
    }
    for (chances->top = 1; chances->top <= chances->count / 2; chances->top *= 2) {
    }
    for (uint32_t e = 0; e < chances->count; e++) {
        chances->each[e] = chance_of(shape, e);
        change(chances, e, chances->each[e]);
    }
    return BW_OK;
}

/* A number with no pattern to be seen in it; of rank, token and draw. */
static uint64_t draw_of(uint64_t seed, uint64_t rank, uint64_t token, uint64_t k)
{
    uint64_t x = seed * 0x9e3779b97f4a7c15u + (rank << 48 ^ token << 8 ^ k) + 0x632be59bd9b4e019u;

    for (int i = 0; i < 2; i++) {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        x ^= x >> 31;
    }
    return x;
}

/* The ranks of a token's experts, each once, in rising order. */
static void route_token(struct bw_route *route, struct chances *chances, int rank, uint32_t token)
{
    const struct bw_route_shape *shape = &route->shape;
    int32_t *dst = &route->dst[((uint64_t)rank * shape->tokens + token) * route->width];
    uint32_t drawn[BW_ROUTE_TOP_K_MAX];
    uint32_t draws = 0;
    uint32_t count = 0;

    /* There are enough for all draws, or bw_route_why_not() says that there are not. */
    for (; draws < shape->top_k && chances->total > 0; draws++) {
        const uint64_t draw = draw_of(shape->seed, (uint64_t)rank, token, draws);
        int32_t to = 0;
        uint32_t at = 0;

        drawn[draws] = find(chances, draw % chances->total);
        change(chances, drawn[draws], ~chances->each[drawn[draws]] + 1); /* not twice */
        to = (int32_t)(drawn[draws] / shape->experts);
        while (at < count && dst[at] < to) {
            at++;
        }
        if (at < count && dst[at] == to) {
            continue;
        }
        for (uint32_t i = count++; i > at; i--) {
            dst[i] = dst[i - 1];
        }
        dst[at] = to;
    }
    for (uint32_t k = 0; k < draws; k++) {
        change(chances, drawn[k], chances->each[drawn[k]]);
    }
    while (count < route->width) {
        dst[count++] = -1;
    }
}

/* Rows of all pairs, and where they begin: behind those of the ranks before, in each area. */
static void count_rows(struct bw_route *route)
{
    const int n = route->shape.ranks;
    const uint64_t of_a_rank = (uint64_t)route->shape.tokens * route->width;

    for (int from = 0; from < n; from++) {
        for (uint64_t i = 0; i < of_a_rank; i++) {
            const int32_t to = route->dst[(uint64_t)from * of_a_rank + i];

            route->rows[from * n + (to >= 0 ? to : 0)] += to >= 0;
        }
    }
    for (int to = 0; to < n; to++) {
        uint32_t begin = 0;

        for (int from = 0; from < n; from++) {
            const uint32_t rows = route->rows[from * n + to];

            route->base[from * n + to] = begin;
            begin += rows;
            route->pair_max = from != to && rows > route->pair_max ? rows : route->pair_max;
        }
        route->rows_max = begin > route->rows_max ? begin : route->rows_max;
    }
}

static void give_slots(struct bw_route *route)
{
    const int n = route->shape.ranks;
    const uint64_t of_a_rank = (uint64_t)route->shape.tokens * route->width;

    for (int from = 0; from < n; from++) {
        uint32_t next[BW_SHMEM_RANKS_MAX];

        for (int to = 0; to < n; to++) {
            next[to] = route->base[from * n + to];
        }
        for (uint64_t i = (uint64_t)from * of_a_rank; i < ((uint64_t)from + 1) * of_a_rank; i++) {
            const int32_t to = route->dst[i];

            route->slot[i] = to >= 0 ? (int32_t)next[to]++ : -1;
        }
    }
}

enum bw_status bw_route_build(struct bw_route *route, const struct bw_route_shape *shape)
{
    const size_t n = (size_t)shape->ranks;
    const size_t width = shape->top_k < n ? shape->top_k : n;
    struct chances chances = {0};
    enum bw_status st = BW_OK;

    *route = (struct bw_route){.shape = *shape, .width = (uint32_t)width};
    route->dst = calloc(n * shape->tokens * width, sizeof(*route->dst));
    route->slot = calloc(n * shape->tokens * width, sizeof(*route->slot));
    route->rows = calloc(n * n, sizeof(*route->rows));
    route->base = calloc(n * n, sizeof(*route->base));
    if (route->dst == NULL || route->slot == NULL || route->rows == NULL || route->base == NULL) {
        st = bw_errno("no memory for the routes of %zu x %u tokens", n, shape->tokens);
        goto out;
    }
    TRY(open_chances(&chances, shape));
    for (int r = 0; r < shape->ranks; r++) {
        for (uint32_t t = 0; t < shape->tokens; t++) {
            route_token(route, &chances, r, t);
            if (t % 65536 == 65535) {
                bw_clock_sleep_us(1); /* most tokens, experts and draws take half a minute: who
                                       * watches sees that it goes on */
            }
        }
    }
    count_rows(route);
    give_slots(route);
out:
    free(chances.each);
    free(chances.tree);
    return st;
}

void bw_route_free(struct bw_route *route)
{
    free(route->dst);
    free(route->slot);
    free(route->rows);
    free(route->base);
    *route = (struct bw_route){0};
}

uint32_t bw_route_rows(const struct bw_route *route, int from, int to)
{
    return route->rows[from * route->shape.ranks + to];
}

uint32_t bw_route_received(const struct bw_route *route, int rank)
{
    const int last = route->shape.ranks - 1;

    return route->base[last * route->shape.ranks + rank] + bw_route_rows(route, last, rank);
}

uint64_t bw_route_bytes(const struct bw_route *route, enum bw_shmem_op op, int from, int to)
{
    const uint64_t rows =
        op == SHMEM_COMBINE ? bw_route_rows(route, to, from) : bw_route_rows(route, from, to);

    return bw_shmem_routed_payload_bytes(rows, route->shape.hidden, route->shape.element_bytes);
}

struct bw_shmem_bytes bw_route_bytes_of(const struct bw_route *route, enum bw_shmem_op op, int rank)
{
    struct bw_shmem_bytes bytes = {0, 0, bw_route_bytes(route, op, rank, rank)};

    for (int r = 0; r < route->shape.ranks; r++) {
        bytes.sent += r != rank ? bw_route_bytes(route, op, rank, r) : 0;
        bytes.received += r != rank ? bw_route_bytes(route, op, r, rank) : 0;
    }
    return bytes;
}

int bw_route_busiest(const struct bw_route *route, enum bw_shmem_op op)
{
    uint64_t most = 0;
    int busiest = 0;

    for (int r = 0; r < route->shape.ranks; r++) {
        const struct bw_shmem_bytes bytes = bw_route_bytes_of(route, op, r);

        if (bw_shmem_remote_bytes(&bytes) > most) {
            most = bw_shmem_remote_bytes(&bytes);
            busiest = r;
        }
    }
    return busiest;
}
