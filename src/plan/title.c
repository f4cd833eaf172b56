/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for a testcase, all derived from its row. The wording of the titles is
 * nvbandwidth's, which people's parsers look for; the arrow is the way of the
 * bytes.
 */
#include "bwtool/testcase.h"

#include <stdio.h>
#include <string.h>

static const char *const engine_words[] = {
    [ENGINE_CE] = "CE",
    [ENGINE_SM] = "SM",
    [ENGINE_TMA] = "TMA",
    [ENGINE_CPU] = "CPU",
};

static bool is_multicast(const struct bw_testcase *tc)
{
    return tc->row == MEM_MULTICAST || tc->col == MEM_MULTICAST;
}

static bool is_local(const struct bw_testcase *tc)
{
    return tc->shape == SHAPE_EACH && tc->row == MEM_DEVICE && tc->col == MEM_DEVICE;
}

static const char *arrow_of(const struct bw_testcase *tc)
{
    if (bw_testcase_is_latency(tc) || (tc->load & LOAD_REVERSE) != 0) {
        return "<->";
    }
    return tc->flow == FLOW_TO_COL ? "->" : "<-";
}

/* "Read1 ", "Write2 ", "Total ", or "". */
static const char *direction_of(const struct bw_testcase *tc, int matrix)
{
    static const char *const words[2][3] = {{"Read1 ", "Read2 ", "Total "},
                                            {"Write1 ", "Write2 ", "Total "}};

    return bw_testcase_matrix_count(tc) == 1 ? "" : words[tc->by == BY_SRC][matrix];
}

const char *bw_testcase_suffix(const struct bw_testcase *tc, int matrix)
{
    static const char *const words[2][3] = {{"_read1", "_read2", "_total"},
                                            {"_write1", "_write2", "_total"}};

    return bw_testcase_matrix_count(tc) == 1 ? "" : words[tc->by == BY_SRC][matrix];
}

static const char *op_word(const struct bw_testcase *tc)
{
    switch (tc->op) {
    case OP_READ:
        return "read ";
    case OP_WRITE:
        return "write ";
    default:
        return "";
    }
}

static int title_of_local(const struct bw_testcase *tc, char *text, size_t room)
{
    if (tc->engine == ENGINE_CE) {
        return snprintf(text, room, "memcpy local GPU(column) bandwidth (GB/s)");
    }
    return snprintf(text, room, "memcpy local %s %sGPU(column) bandwidth (GB/s)",
                    engine_words[tc->engine], op_word(tc));
}

static int title_of_multicast(const struct bw_testcase *tc, char *text, size_t room)
{
    return snprintf(text, room, "memcpy multicast %s %s -> All Gpus total bandwidth (GB/s)",
                    engine_words[tc->engine], tc->shape == SHAPE_EVERY ? "All" : "GPU(column)");
}

int bw_testcase_title(const struct bw_testcase *tc, int matrix, char *text, size_t room)
{
    const char *row = tc->row == MEM_HOST ? "CPU(row)" : "GPU(row)";
    const char *col = tc->col == MEM_HOST ? "MEM(column)" : "GPU(column)";
    const char *engine = engine_words[tc->engine];

    if (is_multicast(tc)) {
        return title_of_multicast(tc, text, room);
    }
    if (bw_testcase_is_latency(tc)) {
        return snprintf(text, room, "memory latency %s %s %s %s (ns)", engine, row, arrow_of(tc),
                        col);
    }
    if (is_local(tc)) {
        return title_of_local(tc, text, room);
    }
    if (tc->shape == SHAPE_BISECT) {
        return snprintf(text, room, "memcpy %s bisect, simultaneous write bandwidth (GB/s)",
                        engine);
    }
    if (tc->shape == SHAPE_EVERY) {
        return snprintf(text, room, "memcpy %s %s %s All Gpus total bandwidth (GB/s)", engine, row,
                        arrow_of(tc));
    }
    if (tc->shape == SHAPE_FAN && bw_testcase_is_multinode(tc)) {
        return snprintf(text, room, "memcpy %s All Gpus %s %s total bandwidth (GB/s)", engine,
                        arrow_of(tc), col);
    }
    return snprintf(text, room, "memcpy %s %s%s %s %s %sbandwidth (GB/s)", engine, op_word(tc), row,
                    arrow_of(tc), col, direction_of(tc, matrix));
}

/* What moves between which ends, as one sentence. */
static int describe_traffic(const struct bw_testcase *tc, char *text, size_t room)
{
    const bool pushes = tc->by == BY_SRC;
    const bool to_col = tc->flow == FLOW_TO_COL;

    if (bw_testcase_is_host(tc)) {
        static const char *const what[] = {
            [OP_COPY] = "Copy from each NUMA node's memory to each other's (and within one)",
            [OP_READ] = "Read of each NUMA node's memory",
            [OP_WRITE] = "Write to each NUMA node's memory, with streaming stores,",
            [OP_CHASE] = "Dependent loads over a random cycle in each NUMA node's memory",
        };

        return snprintf(text, room, "%s by pinned threads on the row's node", what[tc->op]);
    }
    if (bw_testcase_is_latency(tc)) {
        return snprintf(text, room, "Dependent %s, by one thread of %s, over 2 MiB of %s memory",
                        tc->engine == ENGINE_TMA ? "bulk copies (TMA) of 16 bytes" : "loads",
                        tc->row == MEM_HOST ? "each GPU" : "the row's GPU",
                        tc->row == MEM_HOST ? "host" : "the column's GPU's");
    }
    if (is_multicast(tc)) {
        return snprintf(text, room, "Stores of %s to a multicast address of all GPUs",
                        tc->shape == SHAPE_EVERY ? "all GPUs at once" : "one GPU at a time");
    }
    switch (tc->shape) {
    case SHAPE_EACH:
        if (is_local(tc) && tc->op != OP_COPY) {
            return snprintf(text, room, "%s each GPU's own memory, and nothing else",
                            tc->op == OP_READ ? "Read of" : "Write to");
        }
        if (is_local(tc)) {
            return snprintf(text, room, "Copy within each GPU's memory; a byte copied counts once");
        }
        return snprintf(text, room, "Copy from %s",
                        to_col ? "host memory to each GPU" : "each GPU to host memory");
    case SHAPE_PAIRS:
        return snprintf(text, room, "Copy from the %s's GPU to the %s's, issued by the %s (%s)",
                        to_col ? "row" : "column", to_col ? "column" : "row",
                        pushes ? "source" : "destination", pushes ? "write" : "read");
    case SHAPE_FAN:
        return snprintf(text, room, "Copies %s at once, issued by the %ss (%s); all bytes count",
                        to_col ? "from all other GPUs to one" : "from one GPU to all others",
                        pushes ? "source" : "destination", pushes ? "write" : "read");
    case SHAPE_BISECT:
        return snprintf(text, room, "Every GPU i writes to GPU i + N/2, all at once");
    case SHAPE_EVERY:
        break;
    }
    if ((tc->load & LOAD_REVERSE) != 0) {
        return snprintf(text, room,
                        "Copies between host memory and all GPUs, both ways at once; "
                        "the sum of all rates counts");
    }
    return snprintf(text, room, "Copies from %s at once; the sum of all rates counts",
                    to_col ? "host memory to all GPUs" : "all GPUs to host memory");
}

/* What else runs meanwhile; "" if nothing does. */
static const char *describe_load(const struct bw_testcase *tc)
{
    if (bw_testcase_is_split(tc)) {
        return tc->load & LOAD_OTHERS
                   ? "\nThe same kernel copies back, and all other GPUs do the same, until it ends"
                   : "\nThe same kernel copies back until it ends; the named direction counts";
    }
    if (tc->shape == SHAPE_EVERY) {
        return ""; /* all that runs counts */
    }
    if (bw_testcase_matrix_count(tc) == 3) {
        return "\nThe opposite copy runs at the same time; both count";
    }
    switch (tc->load) {
    case LOAD_REVERSE:
        return "\nThe opposite copy runs at the same time and does not count";
    case LOAD_OTHERS:
        return "\nAll other GPUs do the same at the same time and do not count";
    case LOAD_REVERSE | LOAD_OTHERS:
        return "\nThe opposite copy, and all other GPUs both ways, run at the same time and do not "
               "count";
    }
    return "";
}

int bw_testcase_describe(const struct bw_testcase *tc, char *text, size_t room)
{
    static const char *const by[] = {
        [ENGINE_CE] = ", by copy engine",
        [ENGINE_SM] = ", by kernel",
        [ENGINE_TMA] = ", by kernel with bulk copies (TMA)",
        [ENGINE_CPU] = "",
    };
    char traffic[256];

    (void)describe_traffic(tc, traffic, sizeof(traffic));
    return snprintf(text, room, "%s%s%s", traffic, bw_testcase_is_latency(tc) ? "" : by[tc->engine],
                    describe_load(tc));
}
