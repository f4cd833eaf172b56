/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_MULTICAST_AREA_H
#define BW_MULTICAST_AREA_H

#include "bwtool/measure.h"
#include "bwtool/share.h"

/*
 * Memory of all GPUs of a run behind one address: of those that this process
 * drives or, over ranks, of one in each. It is made and tried once a run, and
 * used by one launch or operator after the other; only multimem instructions
 * may touch its address. That there is none is no error: status and reason
 * then say why.
 */

/* One GPU's part. */
struct bw_multicast_member {
    const struct bw_gpu *gpu; /* NULL: another process's */
    struct bw_share memory;
    bool is_bound;
};

struct bw_multicast_area {
    enum bw_status status; /* BW_OK: it was tried, and works */
    char *reason;          /* else why not; the same in all ranks */
    struct bw_share object;
    struct bw_multicast_member *members; /* by rank or, in one process, by GPU */
    int count;
    size_t slot_bytes;
    unsigned slots, taken;
};

/* What it must have room for: the testcases' buffers of a launch, or an operator's. */
struct bw_multicast_want {
    unsigned slots;
    uint64_t buffer_bytes, operator_bytes;
};

/* session->area; without any want there is none. BW_ERR_MEMORY in all ranks. Collective. */
enum bw_status bw_multicast_area_open_all(struct bw_session *session,
                                          const struct bw_multicast_want *want);
/* Once nobody's GPU uses it any more; NULL is fine. Not collective. */
void bw_multicast_area_close(struct bw_session *session);

/* The steps, for `bytes` of each GPU; `*text`, for free(), is why not, if it is known in words. */
enum bw_status bw_multicast_area_try_all(struct bw_session *session, size_t bytes, char **text);

/* A launch begins: slots count from 0 again. */
void bw_multicast_area_begin(struct bw_multicast_area *area);
/* The next slot: where all are written, and where this rank's own is. BW_ERR_MEMORY, logged. */
enum bw_status bw_multicast_area_take(struct bw_session *session, CUdeviceptr *all,
                                      CUdeviceptr *own);

/* An operator's: the address of all, and the memory of rank r; that is 0 if it is elsewhere. */
enum bw_status bw_multicast_area_window(const struct bw_multicast_area *area, int r, uint64_t bytes,
                                        CUdeviceptr *all, CUdeviceptr *own);
#endif
