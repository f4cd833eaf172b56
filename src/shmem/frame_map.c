/* SPDX-License-Identifier: Apache-2.0 */
/* What the frames' numbers stand for; docs/METHOD.md has the same. */
#include "bwtool/frames.h"

#include <string.h>

const struct bw_frame_info bw_frame_map[FRAME_COUNT] = {
    [FRAME_COPY_IN] = {"copy_in", FRAMES_OF_COPY, "loads of the rank's own input"},
    [FRAME_COPY_OUT] = {"copy_out", FRAMES_OF_COPY,
                        "data put into the rank's own output as they are"},
    [FRAME_TRANSPORT] = {"transport", FRAMES_OF_REMOTE,
                         "the loop around loads and stores, which have frames of their own"},
    [FRAME_REMOTE_PUT] = {"remote_put", FRAMES_OF_REMOTE, "stores to peers; a bulk copy's issue"},
    [FRAME_REMOTE_GET] = {"remote_get", FRAMES_OF_REMOTE,
                          "loads from peers, and the sums between them (combine by pull) or "
                          "that the switch makes of them (multicast)"},
    [FRAME_ENTRY_WAIT] = {"entry_wait", FRAMES_OF_WAIT,
                          "until peers have begun and may be written to, or read"},
    [FRAME_DATA_WAIT] = {"data_wait", FRAMES_OF_WAIT, "until all data of the peers are there"},
    [FRAME_TILE_WAIT] = {"tile_wait", FRAMES_OF_WAIT, "until a tile, or a signal, is there"},
    [FRAME_WORD_WAIT] = {"word_wait", FRAMES_OF_WAIT,
                         "until words that carry their own flag are there"},
    [FRAME_PUBLISH] = {"publish", FRAMES_OF_WAIT,
                       "the block's barrier, the release of its stores, the signal"},
    [FRAME_BULK_WAIT] = {"bulk_wait", FRAMES_OF_WAIT, "until bulk stores have left, or are done"},
    [FRAME_REDUCE] = {"reduce", FRAMES_OF_COMPUTE,
                      "sums, and the loads of summands from the rank's own memory"},
    [FRAME_LAYOUT] = {"layout", FRAMES_OF_COMPUTE, "routes, packing and permuting"},
    [FRAME_FINALIZE] = {"finalize", FRAMES_OF_FINALIZE,
                        "the store of results, and what the next launch needs"},
};

static const char *const classes[FRAME_CLASSES] = {
    [FRAMES_OF_COPY] = "copy_in/copy_out",       [FRAMES_OF_REMOTE] = "remote_put_get",
    [FRAMES_OF_WAIT] = "signal_or_barrier_wait", [FRAMES_OF_COMPUTE] = "local_compute",
    [FRAMES_OF_FINALIZE] = "finalize",
};

const char *bw_frame_class_name(enum bw_frame_class of)
{
    return classes[of];
}

const char *bw_profile_mode_name(enum bw_profile_mode mode)
{
    return mode == PROFILE_SYNC ? "sync" : mode == PROFILE_LIGHT ? "light" : "off";
}

bool bw_profile_mode_find(const char *name, enum bw_profile_mode *mode)
{
    const bool is_sync = strcmp(name, "sync") == 0;

    if (!is_sync && strcmp(name, "light") != 0) {
        return false;
    }
    *mode = is_sync ? PROFILE_SYNC : PROFILE_LIGHT;
    return true;
}
