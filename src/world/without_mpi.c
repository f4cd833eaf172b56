/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/log.h"
#include "kinds.h"

/*
 * A job's processes that do not know of each other measure at the same time
 * and share what they measure: say so, in each, for it spoils the numbers.
 */
enum bw_status bw_world_open_mpi_all(struct bw_world *world, int *argc, char ***argv, bool *is_open)
{
    const char *name = NULL;
    const int launched = bw_world_launched(&name);

    (void)world;
    (void)argc;
    (void)argv;
    if (launched > 1) {
        bw_warn("started as one of %d processes (%s), but this build has no MPI: each of them "
                "measures alone, and they disturb each other; build with -DBWTOOL_MPI=ON",
                launched, name);
    }
    *is_open = false;
    return BW_OK;
}
