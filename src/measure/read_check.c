/* SPDX-License-Identifier: Apache-2.0 */
#include "read_check.h"

#include "gpu_lane.h"
#include "session.h"

#include "bwtool/log.h"

enum bw_status bw_read_spoil(struct bw_lane *lane)
{
    const struct bw_path *path = &lane->paths[0];

    return bw_gpu_lane_spoil(lane, path->src_end, path->src,
                             lane->sampling->corrupt_word % (lane->bytes / 4));
}

enum bw_status bw_read_verify(struct bw_lane *lane, const struct bw_round *round)
{
    struct bw_path *path = &lane->paths[0];
    CUstream stream = bw_session_stream(lane->session, path->src_end.id);
    uint32_t seed = bw_gpu_lane_seed(lane, round, 0);
    void *args[] = {&lane->bytes, &seed, &path->check.device};
    uint64_t *sum = path->check.host;
    enum bw_status st = BW_OK;

    *sum = 0;
    TRY(bw_gpu_use(&lane->session->gpus.gpus[path->src_end.id]));
    TRY(bw_slip_send(&path->check, sizeof(*sum), stream));
    TRY(bw_gpu_lane_at_owner(lane, path->src_end, KERNEL_read_sum, args));
    TRY(bw_slip_fetch(&path->check, sizeof(*sum), stream));
out:
    return st;
}

enum bw_status bw_read_verdict(const struct bw_lane *lane, const struct bw_round *round)
{
    const uint64_t *pass = lane->paths[0].check.host;
    const uint64_t copies = lane->lane_plan->is_load ? bw_lane_load_copies(round) : round->copies;
    const unsigned samples = lane->lane_plan->is_load ? 1 : round->samples;

    for (unsigned i = 0; i < samples; i++) {
        const uint64_t *got = bw_gpu_lane_report(lane, i).host;

        if (*got != copies * *pass) {
            bw_error("%s: GPU %d: verification failed: what %llu reads of %llu bytes add up to is "
                     "0x%llx, and should be 0x%llx",
                     lane->plan->tc->name, lane->gpu->ordinal, (unsigned long long)copies,
                     (unsigned long long)lane->bytes, (unsigned long long)*got,
                     (unsigned long long)(copies * *pass));
            return BW_ERR_VERIFY;
        }
    }
    return BW_OK;
}
