/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/testcase.h"

#include <string.h>

#define T(name_, shape_, row_, col_, flow_, by_, engine_, op_, load_)                     \
    {                                                                                     \
        .name = (name_), .shape = SHAPE_##shape_, .row = MEM_##row_, .col = MEM_##col_,   \
        .flow = FLOW_##flow_, .by = BY_##by_, .engine = ENGINE_##engine_, .op = OP_##op_, \
        .load = (load_)                                                                   \
    }

#define NONE LOAD_NONE
#define REV  LOAD_REVERSE
#define OTH  LOAD_OTHERS

/* clang-format off */
const struct bw_testcase bw_testcases[] = {
/*  name                                                          shape   row        col        flow    by   engine op    load */
T("host_to_device_memcpy_ce",                                     EACH,   HOST,      DEVICE,    TO_COL, DST, CE,  COPY,  NONE),
T("device_to_host_memcpy_ce",                                     EACH,   HOST,      DEVICE,    TO_ROW, SRC, CE,  COPY,  NONE),
T("host_to_device_bidirectional_memcpy_ce",                       EACH,   HOST,      DEVICE,    TO_COL, DST, CE,  COPY,  REV),
T("device_to_host_bidirectional_memcpy_ce",                       EACH,   HOST,      DEVICE,    TO_ROW, SRC, CE,  COPY,  REV),
T("device_to_device_memcpy_read_ce",                              PAIRS,  DEVICE,    DEVICE,    TO_ROW, DST, CE,  COPY,  NONE),
T("device_to_device_memcpy_write_ce",                             PAIRS,  DEVICE,    DEVICE,    TO_COL, SRC, CE,  COPY,  NONE),
T("device_to_device_bidirectional_memcpy_read_ce",                PAIRS,  DEVICE,    DEVICE,    TO_ROW, DST, CE,  COPY,  REV),
T("device_to_device_bidirectional_memcpy_write_ce",               PAIRS,  DEVICE,    DEVICE,    TO_ROW, SRC, CE,  COPY,  REV),
T("all_to_host_memcpy_ce",                                        EACH,   HOST,      DEVICE,    TO_ROW, SRC, CE,  COPY,  OTH),
T("all_to_host_bidirectional_memcpy_ce",                          EACH,   HOST,      DEVICE,    TO_ROW, SRC, CE,  COPY,  REV | OTH),
T("host_to_all_memcpy_ce",                                        EACH,   HOST,      DEVICE,    TO_COL, DST, CE,  COPY,  OTH),
T("host_to_all_bidirectional_memcpy_ce",                          EACH,   HOST,      DEVICE,    TO_COL, DST, CE,  COPY,  REV | OTH),
T("all_to_one_write_ce",                                          FAN,    DEVICE,    DEVICE,    TO_COL, SRC, CE,  COPY,  NONE),
T("all_to_one_read_ce",                                           FAN,    DEVICE,    DEVICE,    TO_ROW, DST, CE,  COPY,  NONE),
T("one_to_all_write_ce",                                          FAN,    DEVICE,    DEVICE,    TO_ROW, SRC, CE,  COPY,  NONE),
T("one_to_all_read_ce",                                           FAN,    DEVICE,    DEVICE,    TO_COL, DST, CE,  COPY,  NONE),
T("host_to_device_memcpy_sm",                                     EACH,   HOST,      DEVICE,    TO_COL, DST, SM,  COPY,  NONE),
T("device_to_host_memcpy_sm",                                     EACH,   HOST,      DEVICE,    TO_ROW, SRC, SM,  COPY,  NONE),
T("host_to_device_bidirectional_memcpy_sm",                       EACH,   HOST,      DEVICE,    TO_COL, DST, SM,  COPY,  REV),
T("device_to_host_bidirectional_memcpy_sm",                       EACH,   HOST,      DEVICE,    TO_ROW, SRC, SM,  COPY,  REV),
T("device_to_device_memcpy_read_sm",                              PAIRS,  DEVICE,    DEVICE,    TO_ROW, DST, SM,  COPY,  NONE),
T("device_to_device_memcpy_write_sm",                             PAIRS,  DEVICE,    DEVICE,    TO_COL, SRC, SM,  COPY,  NONE),
T("device_to_device_bidirectional_memcpy_read_sm",                PAIRS,  DEVICE,    DEVICE,    TO_ROW, DST, SM,  COPY,  REV),
T("device_to_device_bidirectional_memcpy_write_sm",               PAIRS,  DEVICE,    DEVICE,    TO_ROW, SRC, SM,  COPY,  REV),
T("all_to_host_memcpy_sm",                                        EACH,   HOST,      DEVICE,    TO_ROW, SRC, SM,  COPY,  OTH),
T("all_to_host_bidirectional_memcpy_sm",                          EACH,   HOST,      DEVICE,    TO_ROW, SRC, SM,  COPY,  REV | OTH),
T("host_to_all_memcpy_sm",                                        EACH,   HOST,      DEVICE,    TO_COL, DST, SM,  COPY,  OTH),
T("host_to_all_bidirectional_memcpy_sm",                          EACH,   HOST,      DEVICE,    TO_COL, DST, SM,  COPY,  REV | OTH),
T("all_to_one_write_sm",                                          FAN,    DEVICE,    DEVICE,    TO_COL, SRC, SM,  COPY,  NONE),
T("all_to_one_read_sm",                                           FAN,    DEVICE,    DEVICE,    TO_ROW, DST, SM,  COPY,  NONE),
T("one_to_all_write_sm",                                          FAN,    DEVICE,    DEVICE,    TO_ROW, SRC, SM,  COPY,  NONE),
T("one_to_all_read_sm",                                           FAN,    DEVICE,    DEVICE,    TO_COL, DST, SM,  COPY,  NONE),
T("host_device_latency_sm",                                       EACH,   HOST,      DEVICE,    TO_COL, DST, SM,  CHASE, NONE),
T("device_to_device_latency_sm",                                  PAIRS,  DEVICE,    DEVICE,    TO_ROW, DST, SM,  CHASE, NONE),
T("device_local_copy",                                            EACH,   DEVICE,    DEVICE,    TO_COL, DST, CE,  COPY,  NONE),

T("multinode_device_to_device_memcpy_read_ce",                    PAIRS,  SHARED,    SHARED,    TO_ROW, DST, CE,  COPY,  NONE),
T("multinode_device_to_device_memcpy_write_ce",                   PAIRS,  SHARED,    SHARED,    TO_COL, SRC, CE,  COPY,  NONE),
T("multinode_device_to_device_bidirectional_memcpy_read_ce",      PAIRS,  SHARED,    SHARED,    TO_ROW, DST, CE,  COPY,  REV),
T("multinode_device_to_device_bidirectional_memcpy_write_ce",     PAIRS,  SHARED,    SHARED,    TO_COL, SRC, CE,  COPY,  REV),
T("multinode_device_to_device_memcpy_read_sm",                    PAIRS,  SHARED,    SHARED,    TO_ROW, DST, SM,  COPY,  NONE),
T("multinode_device_to_device_memcpy_write_sm",                   PAIRS,  SHARED,    SHARED,    TO_COL, SRC, SM,  COPY,  NONE),
T("multinode_device_to_device_bidirectional_memcpy_read_sm",      PAIRS,  SHARED,    SHARED,    TO_ROW, DST, SM,  COPY,  REV),
T("multinode_device_to_device_bidirectional_memcpy_write_sm",     PAIRS,  SHARED,    SHARED,    TO_COL, SRC, SM,  COPY,  REV),
T("multinode_device_to_device_all_to_one_write_sm",               FAN,    DEVICE,    SHARED,    TO_COL, SRC, SM,  COPY,  NONE),
T("multinode_device_to_device_all_from_one_read_sm",              FAN,    DEVICE,    SHARED,    TO_ROW, DST, SM,  COPY,  NONE),
T("multinode_device_to_device_broadcast_one_to_all_sm",           EACH,   MULTICAST, DEVICE,    TO_ROW, DST, SM,  COPY,  NONE),
T("multinode_device_to_device_broadcast_all_to_all_sm",           EVERY,  MULTICAST, DEVICE,    TO_ROW, DST, SM,  COPY,  NONE),
T("multinode_bisect_write_ce",                                    BISECT, SHARED,    SHARED,    TO_COL, SRC, CE,  COPY,  NONE),

/* Beyond nvbandwidth v0.8. The row is the node whose CPUs work, the column the node of the memory. */
T("cpu_copy",                                                     PAIRS,  HOST,      HOST,      TO_COL, SRC, CPU, COPY,  NONE),
T("cpu_read",                                                     PAIRS,  HOST,      HOST,      TO_ROW, DST, CPU, READ,  NONE),
T("cpu_write",                                                    PAIRS,  HOST,      HOST,      TO_COL, SRC, CPU, WRITE, NONE),
T("cpu_latency",                                                  PAIRS,  HOST,      HOST,      TO_ROW, DST, CPU, CHASE, NONE),

/* As nvbandwidth v0.10 names them. */
T("device_to_device_memcpy_read_tma",                             PAIRS,  DEVICE,    DEVICE,    TO_ROW, DST, TMA, COPY,  NONE),
T("device_to_device_memcpy_write_tma",                            PAIRS,  DEVICE,    DEVICE,    TO_COL, SRC, TMA, COPY,  NONE),
T("device_to_device_bidirectional_memcpy_read_tma",               PAIRS,  DEVICE,    DEVICE,    TO_ROW, DST, TMA, COPY,  REV),
T("device_to_device_bidirectional_memcpy_write_tma",              PAIRS,  DEVICE,    DEVICE,    TO_ROW, SRC, TMA, COPY,  REV),
T("device_local_copy_sm",                                         EACH,   DEVICE,    DEVICE,    TO_COL, DST, SM,  COPY,  NONE),
T("device_local_read_sm",                                         EACH,   DEVICE,    DEVICE,    TO_ROW, DST, SM,  READ,  NONE),
T("device_local_write_sm",                                        EACH,   DEVICE,    DEVICE,    TO_COL, SRC, SM,  WRITE, NONE),
T("device_to_device_latency_tma",                                 PAIRS,  DEVICE,    DEVICE,    TO_ROW, DST, TMA, CHASE, NONE),
T("device_local_copy_tma",                                        EACH,   DEVICE,    DEVICE,    TO_COL, DST, TMA, COPY,  NONE),

/* What the host and all GPUs together reach: every copy counts. */
T("all_to_host_memcpy_total_ce",                                  EVERY,  HOST,      DEVICE,    TO_ROW, SRC, CE,  COPY,  NONE),
T("host_to_all_memcpy_total_ce",                                  EVERY,  HOST,      DEVICE,    TO_COL, DST, CE,  COPY,  NONE),
T("host_to_all_bidirectional_memcpy_total_ce",                    EVERY,  HOST,      DEVICE,    TO_COL, DST, CE,  COPY,  REV),
T("all_to_host_memcpy_total_sm",                                  EVERY,  HOST,      DEVICE,    TO_ROW, SRC, SM,  COPY,  NONE),
T("host_to_all_memcpy_total_sm",                                  EVERY,  HOST,      DEVICE,    TO_COL, DST, SM,  COPY,  NONE),
};
/* clang-format on */

#undef T
#undef NONE
#undef REV
#undef OTH

const size_t bw_testcase_count = sizeof(bw_testcases) / sizeof(bw_testcases[0]);

int bw_testcase_find(const char *name)
{
    for (size_t i = 0; i < bw_testcase_count; i++) {
        if (strcmp(bw_testcases[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static bool crosses_ranks(enum bw_mem mem)
{
    return mem == MEM_SHARED || mem == MEM_MULTICAST;
}

bool bw_testcase_is_multinode(const struct bw_testcase *tc)
{
    return crosses_ranks(tc->row) || crosses_ranks(tc->col);
}

bool bw_testcase_is_host(const struct bw_testcase *tc)
{
    return tc->engine == ENGINE_CPU;
}

bool bw_testcase_is_split(const struct bw_testcase *tc)
{
    /* Both ways between a GPU and host memory, by kernel: the GPU is the only
     * issuer there is, so one kernel does both. */
    return tc->engine == ENGINE_SM && (tc->load & LOAD_REVERSE) != 0 && tc->row == MEM_HOST;
}

bool bw_testcase_is_latency(const struct bw_testcase *tc)
{
    return tc->op == OP_CHASE || tc->op == OP_SIGNAL;
}

unsigned bw_testcase_needs(const struct bw_testcase *tc)
{
    unsigned needs = bw_testcase_is_host(tc) ? 0 : NEED_GPU;

    if (bw_testcase_is_multinode(tc)) {
        needs |= NEED_RANKS;
    } else if (needs != 0 && tc->shape != SHAPE_EACH && tc->shape != SHAPE_EVERY) {
        needs |= NEED_PEER;
    }
    if (tc->row == MEM_MULTICAST || tc->col == MEM_MULTICAST) {
        needs |= NEED_MULTICAST;
    }
    if (tc->engine == ENGINE_TMA) {
        needs |= NEED_TMA;
    }
    return needs;
}

enum bw_reduce bw_testcase_reduce(const struct bw_testcase *tc)
{
    switch (tc->shape) {
    case SHAPE_EACH:
        return REDUCE_FIRST;
    case SHAPE_PAIRS:
    case SHAPE_BISECT:
        return REDUCE_EACH;
    case SHAPE_EVERY:
        return REDUCE_SUM;
    case SHAPE_FAN:
        /* A stream cannot wait for another process's events; an operator's ranks do by signals. */
        return bw_testcase_is_multinode(tc) && tc->op != OP_OPERATOR ? REDUCE_SUM : REDUCE_TOTAL;
    }
    return REDUCE_FIRST;
}

int bw_testcase_matrix_count(const struct bw_testcase *tc)
{
    return tc->shape == SHAPE_PAIRS && (tc->load & LOAD_REVERSE) != 0 ? 3 : 1;
}

unsigned bw_testcase_load_scale(const struct bw_testcase *tc)
{
    /* nvbandwidth gives load that is not itself reported twice the bytes. */
    return bw_testcase_reduce(tc) != REDUCE_FIRST || bw_testcase_is_split(tc) ? 1 : 2;
}

const char *bw_engine_name(enum bw_engine engine)
{
    switch (engine) {
    case ENGINE_CE:
        return "ce";
    case ENGINE_SM:
        return "sm";
    case ENGINE_TMA:
        return "tma";
    case ENGINE_CPU:
        return "cpu";
    }
    return "?";
}
