/* SPDX-License-Identifier: Apache-2.0 */
/* Gates hold a stream until the host has queued all that shall start together. */
#include "device.h"
#include "params.h"

/*
 * Wait until *flag has reached `epoch`. Epochs only grow, so a late look at an
 * old gate finds it open. Returns 0 if the time was up first.
 */
BW_DEVICE int gate_wait(const uint32_t *flag, uint32_t epoch, uint64_t timeout_ns,
                        struct bw_gate_report *report)
{
    const uint64_t start = bw_now_ns();
    uint64_t now = start;
    int open = 0;

    report->epoch = epoch;
    bw_store_release(&report->state, BW_GATE_WAITING);
    for (;;) {
        open = (int32_t)(bw_load_acquire(flag) - epoch) >= 0;
        now = bw_now_ns();
        if (open || now - start > timeout_ns) {
            break;
        }
    }
    report->opened_ns = now;
    return open;
}

/* Holds a stream: what is queued behind it starts when the gate opens. One thread. */
BW_KERNEL bw_gate_hold(const uint32_t *flag, uint32_t epoch, uint64_t timeout_ns,
                       struct bw_gate_report *report)
{
    const int open = gate_wait(flag, epoch, timeout_ns, report);

    bw_store_release(&report->state, open ? BW_GATE_OPENED : BW_GATE_TIMED_OUT);
}

/*
 * First stage of the gate of several ranks: passes the host's word on to the
 * flag in GPU memory that all ranks' bw_gate_hold watch. Without this stage
 * each rank would be released by its own host, microseconds apart. One thread.
 */
BW_KERNEL bw_gate_relay(const uint32_t *host_flag, uint32_t *shared_flag, uint32_t epoch,
                        uint64_t timeout_ns, struct bw_gate_report *report)
{
    const int open = gate_wait(host_flag, epoch, timeout_ns, report);

    if (open) {
        bw_store_release(shared_flag, epoch);
    }
    bw_store_release(&report->state, open ? BW_GATE_OPENED : BW_GATE_TIMED_OUT);
}
