/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/text.h"
#include "bwtool/world.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What a rank brings to bw_world_explain_all(). */
struct account {
    int32_t status;
    char host[64], text[440];
};

/*
 * Who has waited in vain for a rank that failed is not the one who failed: a
 * timeout counts as the reason only where there is no other.
 */
static int weight_of(const struct account *account)
{
    return account->status == (int32_t)BW_ERR_TIMEOUT ? (int)BW_ERR_PEER : (int)account->status;
}

enum bw_status bw_world_explain_all(struct bw_world *world, enum bw_status mine, const char *text,
                                    char **reason)
{
    struct account *all = calloc((size_t)world->ranks, sizeof(*all));
    struct account own = {.status = mine == BW_ERR_PEER ? BW_OK : (int32_t)mine};
    enum bw_status worst = mine;
    int from = -1;

    *reason = NULL;
    (void)snprintf(own.host, sizeof(own.host), "%.63s", world->host);
    (void)snprintf(own.text, sizeof(own.text), "%s", text == NULL ? "" : text);
    /* Out of memory here cannot be told to the others, and must not keep them waiting */
    if (bw_world_agree_all(world, all == NULL ? BW_ERR_MEMORY : BW_OK, "explaining a failure") !=
            BW_OK ||
        bw_world_gather_all(world, &own, all, sizeof(own)) != BW_OK) {
        free(all);
        return BW_ERR_MEMORY;
    }
    worst = BW_OK;
    for (int i = 0; i < world->ranks; i++) {
        if (all[i].status > (int32_t)worst) {
            worst = (enum bw_status)all[i].status;
        }
        if (all[i].status > (int32_t)BW_OK &&
            (from < 0 || weight_of(&all[i]) > weight_of(&all[from]))) {
            from = i;
        }
    }
    if (from >= 0 && all[from].text[0] != '\0') {
        all[from].text[sizeof(all[from].text) - 1] = '\0';
        *reason = bw_text_format("rank %d (%s): %s", from, all[from].host, all[from].text);
    }
    free(all);
    return worst == BW_OK ? BW_ERR_PEER : worst;
}
