/* SPDX-License-Identifier: Apache-2.0 */
/* What arrived is compared where it is, by the GPU that owns the memory. */
#include "gpu_lane.h"

#include "params.h"
#include "session.h"

/* A hidden test hook: what is compared must be seen to be wrong. */
enum bw_status bw_gpu_lane_spoil(struct bw_lane *lane, struct bw_end end, CUdeviceptr memory,
                                 uint64_t word)
{
    void *args[] = {&memory, &word};

    if (lane->sampling->corrupt_word == UINT64_MAX) {
        return BW_OK;
    }
    return bw_gpu_lane_at_owner(lane, end, KERNEL_corrupt, args);
}

/* Compare by a kernel whose last argument is the result. */
static enum bw_status compare(struct bw_lane *lane, struct bw_end end, const struct bw_slip *slip,
                              enum bw_kernel kernel, void **args)
{
    const int owner = bw_gpu_lane_owner(lane, end);
    struct bw_check_result *result = slip->host;
    CUstream stream = NULL;
    enum bw_status st = BW_OK;

    if (owner < 0) {
        return BW_OK;
    }
    stream = bw_session_stream(lane->session, owner);
    *result = (struct bw_check_result){.first = UINT64_MAX};
    TRY(bw_gpu_use(&lane->session->gpus.gpus[owner]));
    TRY(bw_slip_send(slip, sizeof(*result), stream));
    TRY(bw_gpu_lane_at_owner(lane, end, kernel, args));
    TRY(bw_slip_fetch(slip, sizeof(*result), stream));
out:
    return st;
}

enum bw_status bw_gpu_lane_verify(struct bw_lane *lane, const struct bw_round *round)
{
    const uint64_t word = lane->sampling->corrupt_word % (lane->bytes / 4);
    enum bw_status st = BW_OK;

    for (unsigned i = 0; i < lane->path_count; i++) {
        struct bw_path *path = &lane->paths[i];
        uint32_t seed = bw_gpu_lane_seed(lane, round, i);
        void *args[] = {&path->seen, &lane->bytes, &seed, &path->check.device};

        TRY(bw_gpu_lane_spoil(lane, path->dst_end, path->seen, word));
        TRY(compare(lane, path->dst_end, &path->check, KERNEL_check, args));
    }
out:
    return st;
}

enum bw_status bw_gpu_lane_verify_list(struct bw_lane *lane)
{
    struct bw_path *path = &lane->paths[0];
    uint32_t stride = BW_CHASE_STRIDE;
    uint32_t nodes = (uint32_t)(lane->bytes / stride);
    const uint64_t word = lane->sampling->corrupt_word % nodes * stride / 4;
    void *args[] = {&path->src, &nodes, &stride, &path->check.device};
    enum bw_status st = BW_OK;

    TRY(bw_gpu_lane_spoil(lane, path->src_end, path->src, word));
    TRY(compare(lane, path->src_end, &path->check, KERNEL_chase_check, args));
    /* Never follow a list that was spoiled. */
    TRY(lane->sampling->corrupt_word == UINT64_MAX ? BW_OK : bw_gpu_lane_build_list(lane));
out:
    return st;
}

enum bw_status bw_gpu_lane_verdict(struct bw_lane *lane, const struct bw_round *round)
{
    (void)round;
    for (unsigned i = 0; i < lane->path_count; i++) {
        const struct bw_path *path = &lane->paths[i];
        const struct bw_check_result *result = path->check.host;

        if (result != NULL && result->count != 0) {
            return bw_lane_mismatch(lane, path->src_end, path->dst_end, result->count,
                                    result->first, result->expected, result->got);
        }
    }
    return BW_OK;
}
