/* SPDX-License-Identifier: Apache-2.0 */
/* What has spoiled a measurement that several ranks made together. */
#include "bwtool/state.h"
#include "bwtool/world.h"

#include <stdio.h>
#include <stdlib.h>

/* What one of them saw, if any did. */
static const char *tell_all(const char *mine, struct bw_world *world, char *text, size_t room)
{
    double count = mine != NULL;
    char *reason = NULL;

    if (world->ranks < 2) {
        return mine;
    }
    if (bw_world_sum_all(world, &count, 1) != BW_OK || count == 0) {
        return NULL;
    }
    (void)bw_world_explain_all(world, mine != NULL ? BW_ERR_SYSTEM : BW_OK, mine, &reason);
    (void)snprintf(text, room, "%s",
                   reason != NULL ? reason : "a rank's GPU, and nobody knows why");
    free(reason);
    return text;
}

const char *bw_state_spoiled_all(struct bw_state *state, struct bw_world *world, char *text,
                                 size_t room)
{
    return tell_all(bw_state_spoiled(state), world, text, room);
}

const char *bw_state_late_all(struct bw_state *state, struct bw_world *world, char *text,
                              size_t room)
{
    return tell_all(bw_state_late(state), world, text, room);
}
