/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/shmem_formulas.h"

#include <math.h>
#include <stddef.h>

/* The only place that knows a bus factor; docs/METHOD.md has the same table, and a test compares.
 */
static const struct bw_shmem_formula formulas[SHMEM_OPS] = {
    [SHMEM_PUT] = {"put", "bytes of one direction", "1", SHMEM_MODE_P2P, false, false},
    [SHMEM_GET] = {"get", "bytes of one direction", "1", SHMEM_MODE_P2P, false, false},
    [SHMEM_PUT_SIGNAL] = {"put_signal", "bytes of one direction", "1", SHMEM_MODE_NONE, false,
                          false},
    [SHMEM_BARRIER] = {"barrier", "none", "0", SHMEM_MODE_NONE, false, false},
    [SHMEM_ALL_TO_ALL] = {"all_to_all", "one rank's input: n_pes * shard_elems * sizeof(dtype)",
                          "(n-1)/n", SHMEM_MODE_COLLECTIVE, false, true},
    [SHMEM_ALL_GATHER] = {"all_gather", "one rank's output: n_pes * shard_elems * sizeof(dtype)",
                          "(n-1)/n", SHMEM_MODE_COLLECTIVE, false, true},
    [SHMEM_REDUCE_SCATTER] = {"reduce_scatter",
                              "one rank's input: n_pes * shard_elems * sizeof(dtype)", "(n-1)/n",
                              SHMEM_MODE_COLLECTIVE, true, true},
    [SHMEM_ALL_REDUCE] = {"all_reduce", "one rank's input: elems * sizeof(dtype)", "2*(n-1)/n",
                          SHMEM_MODE_COLLECTIVE, true, false},
    [SHMEM_BROADCAST] = {"broadcast", "the root's buffer: elems * sizeof(dtype)", "1",
                         SHMEM_MODE_COLLECTIVE, false, false},
    [SHMEM_DISPATCH] = {"dispatch",
                        "what one rank sends: local_tokens * hidden * sizeof(dtype), a token once",
                        "counted", SHMEM_MODE_P2P, false, false},
    [SHMEM_COMBINE] = {"combine", "what one rank pulls back: local_tokens * hidden * sizeof(dtype)",
                       "counted", SHMEM_MODE_P2P, true, false},
    [SHMEM_FUSED] = {"fused", "of the phase that communicates", "of that phase",
                     SHMEM_MODE_COLLECTIVE, true, false},
};

const struct bw_shmem_formula *bw_shmem_formula(enum bw_shmem_op op)
{
    return &formulas[op];
}

double bw_bus_factor(enum bw_shmem_op op, int ranks)
{
    const double n = ranks;

    switch (op) {
    case SHMEM_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case SHMEM_ALL_TO_ALL:
    case SHMEM_ALL_GATHER:
    case SHMEM_REDUCE_SCATTER:
    case SHMEM_DISPATCH: /* if routing is uniform; else counted bytes over the payload */
    case SHMEM_COMBINE:
        return (n - 1) / n;
    case SHMEM_BROADCAST:
    case SHMEM_PUT:
    case SHMEM_GET:
    case SHMEM_PUT_SIGNAL:
        return ranks > 1 ? 1 : 0;
    case SHMEM_BARRIER:
    case SHMEM_FUSED:
    case SHMEM_OPS:
        break;
    }
    return NAN;
}

uint64_t bw_shmem_payload_bytes(enum bw_shmem_op op, int ranks, uint64_t elements,
                                unsigned element_bytes)
{
    return elements * element_bytes * (formulas[op].is_scattered ? (uint64_t)ranks : 1);
}

uint64_t bw_shmem_routed_payload_bytes(uint64_t tokens, uint64_t hidden, unsigned element_bytes)
{
    return tokens * hidden * element_bytes;
}

struct bw_shmem_bytes bw_shmem_bytes_of(enum bw_shmem_op op, int ranks, uint64_t payload_bytes)
{
    const uint64_t n = (uint64_t)ranks;
    const uint64_t share = payload_bytes / n;
    struct bw_shmem_bytes bytes = {0, 0, 0};

    switch (op) {
    case SHMEM_ALL_TO_ALL:
    case SHMEM_ALL_GATHER:
    case SHMEM_REDUCE_SCATTER:
        return (struct bw_shmem_bytes){share * (n - 1), share * (n - 1), share};
    case SHMEM_ALL_REDUCE: /* scattered sums, then gathered */
        bytes.sent = (uint64_t)(2.0 * (double)payload_bytes * (double)(n - 1) / (double)n);
        return (struct bw_shmem_bytes){bytes.sent, bytes.sent, share};
    case SHMEM_BROADCAST: /* the root sends to each; every other rank receives once */
        return (struct bw_shmem_bytes){payload_bytes * (n - 1), n > 1 ? payload_bytes : 0,
                                       payload_bytes};
    case SHMEM_PUT:
    case SHMEM_GET:
    case SHMEM_PUT_SIGNAL:
        return (struct bw_shmem_bytes){payload_bytes, payload_bytes, 0};
    default:
        return bytes;
    }
}

struct bw_shmem_bytes bw_shmem_switch_bytes_of(enum bw_shmem_op op, int ranks,
                                               uint64_t payload_bytes)
{
    const uint64_t share = payload_bytes / (uint64_t)ranks;

    switch (op) {
    case SHMEM_ALL_GATHER: /* one's own share comes back, too */
        return (struct bw_shmem_bytes){share, payload_bytes, 0};
    case SHMEM_REDUCE_SCATTER: /* one's own summands go to the switch, too */
        return (struct bw_shmem_bytes){payload_bytes, share, 0};
    case SHMEM_ALL_REDUCE: /* summands out, and a share of sums; that share in, and all sums */
        return (struct bw_shmem_bytes){payload_bytes + share, share + payload_bytes, 0};
    case SHMEM_BROADCAST: /* the root's own */
        return (struct bw_shmem_bytes){payload_bytes, payload_bytes, 0};
    default:
        return (struct bw_shmem_bytes){0, 0, 0};
    }
}

uint64_t bw_shmem_remote_bytes(const struct bw_shmem_bytes *bytes)
{
    return bytes->sent > bytes->received ? bytes->sent : bytes->received;
}

double bw_bus_factor_counted(uint64_t remote_bytes, uint64_t payload_bytes)
{
    return payload_bytes > 0 ? (double)remote_bytes / (double)payload_bytes : (double)NAN;
}

static double rate(uint64_t bytes, double us)
{
    return us > 0 ? (double)bytes / (us * 1e-6) / 1e9 : (double)NAN;
}

struct bw_shmem_figures bw_shmem_figures_of(double bus_factor, uint64_t payload_bytes,
                                            double e2e_us, double kernel_us, double peak_gb_per_s)
{
    struct bw_shmem_figures f = {
        .payload_bytes = payload_bytes,
        .e2e_us = e2e_us,
        .kernel_us = kernel_us,
        .algo_gb_per_s = rate(payload_bytes, e2e_us),
        .kernel_algo_gb_per_s = rate(payload_bytes, kernel_us),
        .bus_factor = bus_factor,
        .peak_gb_per_s = peak_gb_per_s,
        .utilization_pct = NAN,
    };

    f.e2e_bus_gb_per_s = f.algo_gb_per_s * bus_factor;
    f.kernel_bus_gb_per_s = f.kernel_algo_gb_per_s * bus_factor;
    if (peak_gb_per_s > 0 && bus_factor > 0) {
        f.utilization_pct = f.kernel_bus_gb_per_s / peak_gb_per_s * 100;
    }
    return f;
}

double bw_shmem_operations(enum bw_shmem_op op, int ranks, uint64_t elements)
{
    /* Of a scattered sum a rank adds its own shard, of an all-reduce all elements. */
    return op == SHMEM_REDUCE_SCATTER || op == SHMEM_ALL_REDUCE
               ? (double)(ranks - 1) * (double)elements
               : 0;
}

double bw_shmem_routed_operations(uint64_t partials, uint64_t tokens, uint64_t hidden)
{
    return partials > tokens ? (double)(partials - tokens) * (double)hidden : 0;
}

const char *bw_shmem_operations_formula(enum bw_shmem_op op)
{
    switch (op) {
    case SHMEM_COMBINE:
        return "(partials - tokens) * hidden";
    case SHMEM_REDUCE_SCATTER:
        return "(n-1) * shard_elems";
    case SHMEM_ALL_REDUCE:
        return "(n-1) * elems";
    default:
        return "N/A (pure transport)";
    }
}

enum bw_shmem_pass bw_shmem_verdict(const struct bw_shmem_figures *figures, double baseline_bus)
{
    if (baseline_bus > 0) {
        return figures->kernel_bus_gb_per_s * 100 >= BW_SHMEM_BASELINE_PCT * baseline_bus
                   ? SHMEM_PASS
                   : SHMEM_BELOW;
    }
    if (isnan(figures->utilization_pct) || figures->payload_bytes < BW_SHMEM_FLOOR_BYTES) {
        return SHMEM_PASS_NA;
    }
    return figures->utilization_pct >= BW_SHMEM_FLOOR_PCT ? SHMEM_PASS : SHMEM_BELOW;
}
