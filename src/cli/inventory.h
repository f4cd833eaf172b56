/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_INVENTORY_H
#define BW_INVENTORY_H

#include "bwtool/result.h"

/* What the machine has, written into the run's record. */

void bw_inventory_world(struct bw_run *run, const struct bw_world *world);
void bw_inventory_nodes(struct bw_run *run, const struct bw_topology *topology);
/* Devices, peers, and the versions of driver and toolkit. */
enum bw_status bw_inventory_gpus(struct bw_run *run, const struct bw_gpus *gpus,
                                 const struct bw_topology *topology);

/*
 * Instead, with several ranks: each rank's own GPU, of all ranks. `found` is
 * what this rank's list of GPUs has come to. Collective.
 */
enum bw_status bw_inventory_ranks_all(struct bw_run *run, struct bw_world *world,
                                      const struct bw_gpus *gpus, enum bw_status found,
                                      const struct bw_topology *topology);
/* Add what the ranks have found out about sharing memory. */
void bw_inventory_sharing(struct bw_run *run, const struct bw_session *session);

#endif
