/* SPDX-License-Identifier: Apache-2.0 */
/* How a testcase's number comes about, in words: all from its row. */
#include "bwtool/testcase.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text that grows as far as there is room; `length` goes on, as snprintf's value does. */
struct text {
    char *at;
    size_t room, length;
};

static void say(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct text *text, const char *format, ...)
{
    const size_t used = text->length < text->room ? text->length : text->room;
    va_list args;
    int length = 0;

    va_start(args, format);
    length = vsnprintf(text->at + used, text->room - used, format, args);
    va_end(args);
    text->length += length > 0 ? (size_t)length : 0;
}

/* Which links there can be between the two ends. */
enum way { WAY_HOST_LINK, WAY_PEERS, WAY_OWN_MEMORY, WAY_CPU_MEMORY };

static enum way way_of(const struct bw_testcase *tc)
{
    if (bw_testcase_is_host(tc)) {
        return WAY_CPU_MEMORY;
    }
    if (tc->row == MEM_HOST || tc->col == MEM_HOST) {
        return WAY_HOST_LINK;
    }
    return tc->shape == SHAPE_EACH && tc->row == MEM_DEVICE && tc->col == MEM_DEVICE
               ? WAY_OWN_MEMORY
               : WAY_PEERS;
}

static void say_mover(struct text *text, const struct bw_testcase *tc)
{
    switch (tc->engine) {
    case ENGINE_CE:
        say(text, "Mover: a copy engine, by cuMemcpyAsync; no multiprocessor takes part.");
        break;
    case ENGINE_SM:
        say(text, "Mover: a kernel; its multiprocessors load and store, %s.",
            tc->op == OP_CHASE ? "one dependent load after the other"
                               : "with many accesses under way");
        break;
    case ENGINE_TMA:
        say(text, "Mover: a kernel whose bulk copies (TMA) go through shared memory%s.",
            tc->op == OP_CHASE ? ", one of 16 bytes after the other" : "");
        break;
    case ENGINE_CPU:
        say(text, "Mover: threads pinned to the cores of the row's NUMA node.");
        break;
    }
    if (way_of(tc) == WAY_PEERS || way_of(tc) == WAY_HOST_LINK) {
        const bool is_host_source = tc->row == MEM_HOST && tc->flow == FLOW_TO_COL;
        const bool is_push = way_of(tc) == WAY_HOST_LINK ? !is_host_source : tc->by == BY_SRC;

        say(text, is_push ? " It writes to the other end (push): data crosses the link one way, "
                            "and little comes back."
                          : " It reads from the other end (pull): requests go out, and the data "
                            "comes back as answers.");
    }
    say(text, "\n");
}

static void say_link(struct text *text, const struct bw_testcase *tc)
{
    switch (way_of(tc)) {
    case WAY_HOST_LINK:
        say(text, "Link: between CPU and GPU: PCIe or, where both are one package, NVLink-C2C; "
                  "then the host's memory, on the NUMA node near to the GPU.\n");
        break;
    case WAY_PEERS:
        say(text, "Link: between GPUs: NVLink or, where there is none, PCIe.%s\n",
            tc->shape == SHAPE_FAN
                ? " All copies share the port of the column's GPU, which is what is measured."
                : "");
        break;
    case WAY_OWN_MEMORY:
        say(text, "Link: none: the GPU's own memory.%s\n",
            tc->op == OP_COPY ? " A copied byte is one read and one write, so the memory moves "
                                "twice what is shown."
                              : "");
        break;
    case WAY_CPU_MEMORY:
        say(text, "Link: the memory of the column's node and, off the diagonal, what connects the "
                  "two nodes.\n");
        break;
    }
}

static void say_latency_limit(struct text *text, const struct bw_testcase *tc)
{
    say(text,
        "Limit: no rate: the time from one load to its answer, over %s. It grows with the "
        "memory that is gone over, once caches or address translation no longer hold it.\n",
        way_of(tc) == WAY_CPU_MEMORY ? "caches that are too small for the list"
                                     : "the link and the far memory");
}

static void say_host_link_limit(struct text *text, const struct bw_testcase *tc)
{
    const bool is_read = tc->row == MEM_HOST && tc->flow == FLOW_TO_COL;

    say(text,
        "Limit: PCIe 5.0 x16 carries 63.0 GB/s each way after line coding (4.0: 31.5, 3.0: "
        "15.8) and, in packets of 256 bytes, %s of it. Below 80 %% look at the "
        "link's generation and width, payload size, relaxed ordering, ACS and IOMMU, and "
        "the NUMA node of the buffer.",
        is_read ? "at most 92.8 %" : "at most 91.4 %");
    if (tc->engine == ENGINE_SM && is_read) {
        say(text, " A kernel's reads of host memory are limited by how many can be under way, and "
                  "may stay below the copy engine's.");
    }
    if ((tc->load & LOAD_OTHERS) != 0 || tc->shape == SHAPE_EVERY) {
        say(text, " With all GPUs at work, switches above them and the host's memory are shared.");
    }
    say(text, "\n");
}

static void say_limit(struct text *text, const struct bw_testcase *tc)
{
    if (tc->op == OP_CHASE) {
        say_latency_limit(text, tc);
        return;
    }
    switch (way_of(tc)) {
    case WAY_HOST_LINK:
        say_host_link_limit(text, tc);
        break;
    case WAY_PEERS:
        say(text,
            "Limit: NVLinks of 25 GB/s each way (Blackwell: 50), as many as are active; "
            "packets of %s leave %s of it. Where links are direct, fewer lead to "
            "each peer than the GPU has.%s\n",
            tc->engine == ENGINE_SM ? "128 bytes, as kernels make them," : "256 bytes",
            tc->engine == ENGINE_SM ? "88.9 %" : "94.1 %",
            (tc->load & LOAD_REVERSE) != 0
                ? " Both ways at once, requests and answers of one direction take from the other."
                : "");
        break;
    case WAY_OWN_MEMORY:
        say(text,
            "Limit: clock x width of the memory, twice a clock%s. Refresh and turning "
            "between reads and writes cost a part of it; a buffer that fits the L2 cache "
            "shows more.\n",
            tc->op == OP_COPY ? ", halved, because each byte moves twice" : "");
        break;
    case WAY_CPU_MEMORY:
        say(text, "Limit: the memory channels of the node; one that is read by another node's "
                  "CPUs, the connection of the two.\n");
        break;
    }
}

int bw_testcase_explain(const struct bw_testcase *tc, char *text, size_t room)
{
    struct text out = {text, room, 0};

    say_mover(&out, tc);
    say_link(&out, tc);
    say_limit(&out, tc);
    if (out.length > 0 && out.length < room && text[out.length - 1] == '\n') {
        text[--out.length] = '\0'; /* lines are separated, not ended */
    }
    return (int)out.length;
}
