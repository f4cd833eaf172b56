/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that wait: chases and gates. */
#include "check.h"

#include <stdio.h>
#include <string.h>

/* Where `loads` links from the base lead, by the host; *nodes: length of the cycle. */
static uint64_t follow(struct bench *bench, uint64_t base, uint64_t bytes, uint64_t loads,
                       uint32_t nodes, uint32_t *length)
{
    uint64_t at = base, after = base;

    *length = 0;
    do {
        after = *length == loads % nodes ? at : after;
        memcpy(&at, bench->shadow + (at - base), sizeof(at));
        *length += 1;
    } while (at != base && *length < nodes && at - base < bytes);
    return at == base ? after : 0;
}

/* The comparison counts the nodes that lead astray. */
static enum bw_status check_chase_check(struct bench *bench, CUdeviceptr base, uint32_t nodes,
                                        uint32_t stride, uint32_t astray)
{
    struct bw_check_result r = {.first = ~(uint64_t)0};
    void *args[] = {&base, &nodes, &stride, &bench->report.ptr};
    enum bw_status st = BW_OK;

    TRY(to_device(bench, bench->report.ptr, &r, sizeof(r)));
    TRY(launch(bench, KERNEL_chase_check, (uint64_t)nodes * stride, 0, 0, args));
    TRY(to_host(bench, &r, bench->report.ptr, sizeof(r)));
    check(bench,
          (r.count != 0) == (astray < nodes) &&
              r.first == (astray < nodes ? (uint64_t)astray * stride : ~(uint64_t)0),
          "bw_chase_check: %llu bytes, the first at %llu", (unsigned long long)r.count,
          (unsigned long long)r.first);
out:
    return st;
}

/* One cycle through all nodes; two turns end where the host's own steps do. */
enum bw_status check_chase(struct bench *bench, const struct place *place, uint32_t nodes,
                           uint32_t stride, uint64_t loads, bool by_tma)
{
    const size_t bytes = (size_t)nodes * stride;
    CUdeviceptr base = place->a.ptr;
    struct bw_chase_report r = {.last = base};
    uint32_t turn = 0, length = 0;
    uint64_t wrong = 0, wanted = 0;
    void *build[] = {&base, &nodes, &stride};
    void *chase[] = {&loads, &turn, &bench->report.ptr};
    const enum bw_kernel kernel = by_tma ? KERNEL_chase_tma : KERNEL_chase;
    enum bw_status st = BW_OK;

    /* All of it is looked at below, and initcheck wants to know what the gaps hold. */
    TRY(CU(cu.MemsetD8Async(base, 0, bytes, bench->stream)));
    TRY(launch(bench, KERNEL_chase_build, bytes, 0, 0, build));
    TRY(to_host(bench, bench->shadow, base, bytes));
    wanted = follow(bench, base, bytes, 2 * loads, nodes, &length);
    check(bench, wanted != 0 && length == nodes, "bw_chase_build in %s: a cycle of %u, not %u",
          place->name, length, nodes);
    TRY(to_device(bench, bench->report.ptr, &r, sizeof(r)));
    TRY(launch(bench, kernel, 0, 3, 1, chase));
    turn = 2;
    TRY(launch(bench, kernel, 0, 3, 1, chase));
    turn = 3; /* nobody's */
    TRY(launch(bench, kernel, 0, 3, 1, chase));
    TRY(to_host(bench, &r, bench->report.ptr, sizeof(r)));
    check(bench, r.loads == 2 * loads && r.last == wanted,
          "%s in %s: %llu loads end at %llx, not at %llx", bw_kernel_name(kernel), place->name,
          (unsigned long long)r.loads, (unsigned long long)r.last, (unsigned long long)wanted);
    if (loads > 10000 && !bench->is_small) {
        printf("%s: %s %.0f ns a load\n", bw_kernel_name(kernel), place->name,
               (double)r.ns / (double)r.loads);
        check(bench, r.ns > r.loads, "bw_chase: less than 1 ns a load");
    }
    TRY(check_chase_check(bench, base, nodes, stride, nodes));
    TRY(to_device(bench, base + (uint64_t)(nodes / 2) * stride, &wrong, sizeof(wrong)));
    TRY(check_chase_check(bench, base, nodes, stride, nodes / 2));
out:
    return st;
}

/* Gates that are open already, also beyond the epoch and across its wrap, and shut ones. */
enum bw_status check_gates(struct bench *bench)
{
    static const struct {
        uint32_t flag, epoch;
        bool is_open;
    } rows[] = {{5, 5, true}, {6, 5, true}, {2, UINT32_MAX, true}, {4, 5, false}, {0, 1, false}};
    struct {
        uint32_t flag, shared, pad[14];
        struct bw_gate_report report;
    } *words = (void *)(uintptr_t)bench->report.ptr;
    uint64_t timeout_ns = 200000;
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const uint32_t wanted = rows[i].is_open ? BW_GATE_OPENED : BW_GATE_TIMED_OUT;
        uint32_t epoch = rows[i].epoch;
        uint32_t *flag = &words->flag, *shared = &words->shared;
        struct bw_gate_report *report = &words->report;
        void *hold[] = {&flag, &epoch, &timeout_ns, &report};
        void *relay[] = {&flag, &shared, &epoch, &timeout_ns, &report};

        memset(words, 0, sizeof(*words));
        words->flag = rows[i].flag;
        TRY(launch(bench, KERNEL_gate_hold, 0, 0, 0, hold));
        check(bench, report->state == wanted && report->epoch == epoch && report->opened_ns != 0,
              "bw_gate_hold %zu: state %u", i, report->state);
        report->state = BW_GATE_IDLE;
        TRY(launch(bench, KERNEL_gate_relay, 0, 0, 0, relay));
        check(bench, report->state == wanted && *shared == (rows[i].is_open ? epoch : 0),
              "bw_gate_relay %zu: state %u, passed on %u", i, report->state, *shared);
    }
out:
    return st;
}
