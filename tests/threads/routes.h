/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch and combine for operators.cc: as many vectors as the others move, as tokens of three. */
#ifndef TESTS_THREADS_ROUTES_H
#define TESTS_THREADS_ROUTES_H

enum { TOKENS = 25, TOKEN_VECTORS = VECTORS / TOKENS, TILE_TOKENS = 4, TILES = 7 };

/* Of each rank; the tables that peers read are copied into the windows, too. */
static int32_t route_dst[RANKS_MAX][TOKENS * RANKS_MAX], route_slot[RANKS_MAX][TOKENS * RANKS_MAX];
static uint32_t route_rows[RANKS_MAX][RANKS_MAX], route_base[RANKS_MAX][RANKS_MAX];
static uint32_t route_edges[RANKS_MAX][RANKS_MAX * (TILES + 1)];
static uint32_t route_origin[RANKS_MAX][RANKS_MAX * TOKENS];
static uint64_t tables_offset;
enum { TABLE_BYTES = TOKENS * RANKS_MAX * 4 };

/* Some of the ranks, at least one; from rank 1 never to rank 0, so that a pair has nothing. */
static bool route_goes(uint32_t from, uint32_t token, uint32_t to)
{
    const uint32_t some = bw_pattern_word(token, from) % ((1u << ranks) - 1) + 1;

    return from == 1 ? to == 1 || (to == 2 && token % 3 == 0) : (some >> to & 1) != 0;
}

static void route_build()
{
    for (uint32_t to = 0; to < ranks; to++) {
        uint32_t row = 0;

        for (uint32_t from = 0; from < ranks; from++) {
            uint32_t rows = 0;

            route_base[from][to] = row;
            for (uint32_t t = 0; t < TOKENS; t++) {
                if (t % TILE_TOKENS == 0) {
                    route_edges[to][from * (TILES + 1) + t / TILE_TOKENS] = rows;
                }
                if (route_goes(from, t, to)) {
                    route_origin[to][row++] = from * TOKENS + t;
                    rows++;
                }
            }
            route_edges[to][from * (TILES + 1) + TILES] = rows;
            route_rows[from][to] = rows;
        }
    }
    for (uint32_t from = 0; from < ranks; from++) {
        uint32_t next[RANKS_MAX];

        memcpy(next, route_base[from], sizeof next);
        for (uint32_t t = 0; t < TOKENS; t++) {
            uint32_t at = t * ranks;

            for (uint32_t to = 0; to < ranks; to++) {
                if (route_goes(from, t, to)) {
                    route_dst[from][at] = (int32_t)to;
                    route_slot[from][at++] = (int32_t)next[to]++;
                }
            }
            for (; at < (t + 1) * ranks; at++) {
                route_dst[from][at] = route_slot[from][at] = -1;
            }
        }
    }
}

static bw_route_args routed_args(const bw_shmem_args &s, uint32_t r)
{
    bw_route_args a = {};

    a.s = s;
    a.s.vectors = TOKEN_VECTORS;
    a.s.total = VECTORS;
    a.s.slot_vectors = (VECTORS + 31) / 32 * 32;
    a.dst = s.window[r] + tables_offset;
    a.slot = a.dst + TABLE_BYTES;
    a.dst_offset = tables_offset;
    a.slot_offset = tables_offset + TABLE_BYTES;
    a.edge = (uint64_t)route_edges[r];
    a.tokens = TOKENS;
    a.width = ranks;
    a.tile_tokens = TILE_TOKENS;
    a.tiles = TILES;
    for (uint32_t p = 0; p < ranks; p++) {
        a.base[p] = route_base[r][p];
        a.from[p] = route_base[p][r];
        a.sent[p] = route_rows[r][p];
        a.received[p] = route_rows[p][r];
    }
    return a;
}

static uint32_t route_received(uint32_t r)
{
    return route_base[ranks - 1][r] + route_rows[ranks - 1][r];
}

static bw_route_check routed_check(uint32_t r, uint32_t epoch, bool is_sum, bool is_output)
{
    bw_route_check c = {};

    c.row_bytes = c.pitch_bytes = TOKEN_VECTORS * 16;
    c.rows = is_sum == is_output ? (uint64_t)TOKENS : route_received(r);
    c.origin = (uint64_t)route_origin[r];
    c.dst = (uint64_t)route_dst[r];
    c.slot = (uint64_t)route_slot[r];
    c.tokens = TOKENS;
    c.width = ranks;
    c.dtype = BW_FP32;
    c.is_sum = is_sum;
    c.rank = r;
    c.seed = epoch * 1000;
    return c;
}

static void routed_fill(uint32_t r, uint32_t epoch, bool is_sum, uint32_t *in)
{
    const bw_route_check c = routed_check(r, epoch, is_sum, false);
    const uint64_t words = c.pitch_bytes / 4;

    for (uint64_t i = 0; i < c.rows * words; i++) {
        in[i] = bw_route_input_word(&c, i / words, i % words);
    }
}

static unsigned routed_compare(uint32_t r, uint32_t epoch, bool is_sum, const uint32_t *out)
{
    const bw_route_check c = routed_check(r, epoch, is_sum, true);
    const uint64_t words = c.pitch_bytes / 4;
    unsigned bad = 0;

    for (uint64_t i = 0; i < c.rows * words; i++) {
        bad += out[i] != bw_route_output_word(&c, i / words, i % words);
    }
    return bad;
}

#endif
