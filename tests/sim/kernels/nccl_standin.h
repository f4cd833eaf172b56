/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_NCCL_STANDIN_H
#define SIM_NCCL_STANDIN_H

#include <stdint.h>

/* The parameter of the stand-in's kernel: one rank's part of a collective, or of a group of sends.
 */

enum { SIM_NCCL_RANKS = 16 };

struct sim_nccl_part {
    const char *src; /* of a peer, or one's own */
    uint64_t to;     /* where in `out` */
    uint64_t bytes;
};

struct sim_nccl_args {
    uint32_t rank, ranks;              /* that meet, before and after                        */
    uint32_t *arrived[SIM_NCCL_RANKS]; /* a word each: how often it has come to a meeting    */
    uint32_t part_count;
    struct sim_nccl_part parts[SIM_NCCL_RANKS];
    char *out;
    uint32_t is_sum, dtype; /* of all parts; enum bw_shmem_dtype; of whole numbers only */
    uint32_t *done;         /* counts launches that ended, or NULL */
    uint32_t is_wrong;      /* a fault: the first byte of the output is another */
    double busy_ns;         /* at least so long */
};

#endif
