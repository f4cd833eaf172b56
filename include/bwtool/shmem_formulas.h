/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SHMEM_FORMULAS_H
#define BW_SHMEM_FORMULAS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * All formulas of the operators' figures, once: runs, baselines, comparisons
 * and documents take them from here. Pure. 1 GB is 1e9 bytes; a payload is the
 * semantic bytes of one rank.
 */

enum bw_shmem_op {
    SHMEM_PUT,
    SHMEM_GET,
    SHMEM_PUT_SIGNAL,
    SHMEM_BARRIER,
    SHMEM_ALL_TO_ALL,
    SHMEM_ALL_GATHER,
    SHMEM_REDUCE_SCATTER,
    SHMEM_ALL_REDUCE,
    SHMEM_BROADCAST,
    SHMEM_DISPATCH,
    SHMEM_COMBINE,
    SHMEM_FUSED, /* computing and communicating: the table has a row, the tool has none */
    SHMEM_OPS
};

/* Whose link the bus bandwidth is held against. */
enum bw_shmem_mode { SHMEM_MODE_NONE, SHMEM_MODE_P2P, SHMEM_MODE_COLLECTIVE };

struct bw_shmem_formula {
    const char *name;   /* "all_to_all" */
    const char *basis;  /* what the payload is, in words */
    const char *factor; /* the bus factor as a formula of n, or "counted" */
    enum bw_shmem_mode mode;
    bool is_sum;       /* computes, too */
    bool is_scattered; /* the payload is n shards: n * shard_elems * sizeof(dtype) */
};

const struct bw_shmem_formula *bw_shmem_formula(enum bw_shmem_op op);

/* NAN where it comes from counted bytes (or does not exist); 0 for one rank of a collective. */
double bw_bus_factor(enum bw_shmem_op op, int ranks);

/* Of `elements` of one shard (is_scattered) or of the whole, each `element_bytes` long. */
uint64_t bw_shmem_payload_bytes(enum bw_shmem_op op, int ranks, uint64_t elements,
                                unsigned element_bytes);

/* Payload of dispatch and combine: a token counts once, to however many experts it goes. */
uint64_t bw_shmem_routed_payload_bytes(uint64_t tokens, uint64_t hidden, unsigned element_bytes);

/* What a rank moves over links, and within its own memory, at the least: by the operator alone. */
struct bw_shmem_bytes {
    uint64_t sent, received; /* over links; of the rank that has most                 */
    uint64_t local;          /* the rank's own share, which crosses no link           */
};
struct bw_shmem_bytes bw_shmem_bytes_of(enum bw_shmem_op op, int ranks, uint64_t payload_bytes);
/* The same where the switch adds up and spreads: what a rank's port carries to it, and from it. */
struct bw_shmem_bytes bw_shmem_switch_bytes_of(enum bw_shmem_op op, int ranks,
                                               uint64_t payload_bytes);

/* Of a rank's bytes those that its port carries in the direction that has more. */
uint64_t bw_shmem_remote_bytes(const struct bw_shmem_bytes *bytes);
/* The bus factor of routed operators: counted bytes over links, over the payload. */
double bw_bus_factor_counted(uint64_t remote_bytes, uint64_t payload_bytes);

struct bw_shmem_peak {
    double gb_per_s;  /* NAN: unknown */
    const char *kind; /* "nominal", "protocol", "measured", "declared" */
    const char *source;
};

/* Zero or NAN latencies give NAN rates. */
struct bw_shmem_figures {
    uint64_t payload_bytes;
    double e2e_us, kernel_us;
    double algo_gb_per_s;        /* payload over e2e: what the [PERF] line calls algo_bandwidth */
    double kernel_algo_gb_per_s; /* payload over kernel */
    double bus_factor;
    double e2e_bus_gb_per_s, kernel_bus_gb_per_s;
    double peak_gb_per_s;
    double utilization_pct; /* NAN: no peak is known, or one rank: nothing crosses a link */
};

struct bw_shmem_figures bw_shmem_figures_of(double bus_factor, uint64_t payload_bytes,
                                            double e2e_us, double kernel_us, double peak_gb_per_s);

/* Additions of a reduction on one rank, as the operator's definition has it. 0: pure transport. */
double bw_shmem_operations(enum bw_shmem_op op, int ranks, uint64_t elements);
/* Of a combine, whose rank gets `partials` rows back for its tokens. */
double bw_shmem_routed_operations(uint64_t partials, uint64_t tokens, uint64_t hidden);
const char *bw_shmem_operations_formula(enum bw_shmem_op op);

/* Without a baseline: utilization of at least so many percent, by kernel bus bandwidth alone. */
enum { BW_SHMEM_FLOOR_PCT = 20, BW_SHMEM_BASELINE_PCT = 80 };
/* Below this payload the floor says nothing: such sizes are for latency, and no judge of links. */
enum { BW_SHMEM_FLOOR_BYTES = 1 << 20 };

enum bw_shmem_pass { SHMEM_PASS_NA, SHMEM_PASS, SHMEM_BELOW };

/* `baseline_bus` NAN: none. */
enum bw_shmem_pass bw_shmem_verdict(const struct bw_shmem_figures *figures, double baseline_bus);

#endif
