/* SPDX-License-Identifier: Apache-2.0 */
/* What a testcase's values count, derived from its row as all else is. */
#include "operator.h"
#include "words.h"

static bool is_local(const struct bw_testcase *tc)
{
    return tc->shape == SHAPE_EACH && tc->row == MEM_DEVICE && tc->col == MEM_DEVICE;
}

static bool is_multicast(const struct bw_testcase *tc)
{
    return tc->row == MEM_MULTICAST || tc->col == MEM_MULTICAST;
}

/* The memory of an end. */
static const char *memory_of(const struct bw_testcase *tc, bool is_row)
{
    if (bw_testcase_is_host(tc)) {
        return is_row ? "the memory of the row's NUMA node"
                      : "the memory of the column's NUMA node";
    }
    if ((is_row ? tc->row : tc->col) == MEM_HOST) {
        return "host memory";
    }
    if (tc->shape == SHAPE_FAN && is_row) {
        return "all other GPUs that reach the column's";
    }
    return is_row ? "the row's GPU" : "the column's GPU";
}

/* Who issues the work. */
static const char *issuer_of(const struct bw_testcase *tc)
{
    const bool is_source_row = tc->flow == FLOW_TO_COL;
    const bool is_row = (tc->by == BY_SRC) == is_source_row;

    if (bw_testcase_is_host(tc)) {
        return "the row's node";
    }
    if (tc->row == MEM_HOST) {
        return "that GPU";
    }
    if (tc->shape == SHAPE_FAN && is_row) {
        return "each of the others";
    }
    return is_row ? "the row's GPU" : "the column's GPU";
}

static const char *engine_of(const struct bw_testcase *tc)
{
    switch (tc->engine) {
    case ENGINE_CE:
        return "a copy engine of";
    case ENGINE_SM:
        return "a kernel on";
    case ENGINE_TMA:
        return "bulk copies (TMA) of a kernel on";
    case ENGINE_CPU:
        return "pinned threads of";
    }
    return "";
}

/* Over which time the bytes are counted. */
static const char *time_of(const struct bw_testcase *tc)
{
    switch (bw_testcase_reduce(tc)) {
    case REDUCE_TOTAL:
        return "all bytes over the time from the start of the first copy to the end of the last";
    case REDUCE_SUM:
        return "each over its own time, and the rates summed";
    case REDUCE_FIRST:
    case REDUCE_EACH:
        break;
    }
    return bw_testcase_matrix_count(tc) == 3
               ? "each direction over its own time, and _total is the "
                 "sum of both"
               : "over their own time";
}

static const char *load_of(const struct bw_testcase *tc)
{
    if (bw_testcase_matrix_count(tc) == 3 || tc->shape == SHAPE_EVERY) {
        return ""; /* all that runs counts */
    }
    if (bw_testcase_is_split(tc)) {
        return (tc->load & LOAD_OTHERS) != 0
                   ? "; other warps of the kernel copy back, and all other GPUs do the same, until "
                     "it is done, and do not count"
                   : "; other warps of the kernel copy back until it is done, and do not count";
    }
    switch (tc->load) {
    case LOAD_REVERSE:
        return "; a copy the other way loads the link until they are done, and does not count";
    case LOAD_OTHERS:
        return "; the same traffic on all other GPUs runs until they are done, and does not count";
    case LOAD_REVERSE | LOAD_OTHERS:
        return "; a copy the other way, and traffic both ways on all other GPUs, runs until they "
               "are done, and does not count";
    }
    return "";
}

static int define_latency(const struct bw_testcase *tc, char *text, size_t room)
{
    const bool is_to_row = tc->flow == FLOW_TO_ROW;

    if (tc->row == MEM_HOST && !bw_testcase_is_host(tc)) {
        return snprintf(text, room,
                        "ns of one of a chain of dependent loads by the column's GPU from host "
                        "memory near it; launch and drain excluded");
    }
    return snprintf(text, room, "ns of one of a chain of dependent %s by %s from %s%s",
                    tc->engine == ENGINE_TMA ? "bulk copies (TMA) of 16 bytes" : "loads",
                    issuer_of(tc), memory_of(tc, !is_to_row),
                    bw_testcase_is_host(tc) ? "" : "; launch and drain excluded");
}

static int define_special(const struct bw_testcase *tc, char *text, size_t room)
{
    if (is_multicast(tc)) {
        return snprintf(text, room,
                        "1e9 bytes per second; counted are the bytes that %s to a multicast "
                        "address of all GPUs, %s",
                        tc->shape == SHAPE_EVERY ? "all GPUs store at once"
                                                 : "the column's GPU stores",
                        time_of(tc));
    }
    if (tc->shape == SHAPE_BISECT) {
        return snprintf(text, room,
                        "1e9 bytes per second; counted are the bytes copied along the row's "
                        "arrow by %s its first GPU while all other rows' copies run, %s",
                        engine_of(tc), time_of(tc));
    }
    return snprintf(text, room,
                    "1e9 bytes per second; counted are the bytes copied within the column's GPU's "
                    "memory by %s it, %s; a copied byte counts once, and is one read and one write",
                    engine_of(tc), time_of(tc));
}

/* Between the host and all GPUs. */
static int define_every(const struct bw_testcase *tc, char *text, size_t room)
{
    const bool is_both = (tc->load & LOAD_REVERSE) != 0;

    return snprintf(text, room,
                    "1e9 bytes per second; counted are the bytes copied from %s%s by %s each GPU "
                    "for itself, all at once, %s",
                    tc->flow == FLOW_TO_COL ? "host memory to all GPUs" : "all GPUs to host memory",
                    is_both ? ", and back," : "", engine_of(tc), time_of(tc));
}

int bw_words_definition(const struct bw_testcase *tc, char *text, size_t room)
{
    const bool is_source_row = tc->flow == FLOW_TO_COL;
    const char *source = memory_of(tc, is_source_row);
    const char *destination = memory_of(tc, !is_source_row);
    char bytes[200];

    if (tc->op == OP_OPERATOR || tc->op == OP_SIGNAL) {
        return bw_words_operator(tc, text, room);
    }
    if (bw_testcase_is_latency(tc)) {
        return define_latency(tc, text, room);
    }
    if (is_multicast(tc) || tc->shape == SHAPE_BISECT || (is_local(tc) && tc->op == OP_COPY)) {
        return define_special(tc, text, room);
    }
    if (tc->shape == SHAPE_EVERY) {
        return define_every(tc, text, room);
    }
    switch (tc->op) {
    case OP_READ:
        snprintf(bytes, sizeof bytes, "read from %s", source);
        break;
    case OP_WRITE:
        snprintf(bytes, sizeof bytes, "written to %s", destination);
        break;
    default:
        snprintf(bytes, sizeof bytes, "copied from %s to %s", source, destination);
        break;
    }
    return snprintf(text, room, "1e9 bytes per second; counted are the bytes %s by %s %s, %s%s",
                    bytes, engine_of(tc), issuer_of(tc), time_of(tc), load_of(tc));
}
