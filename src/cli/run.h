/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_RUN_H
#define BW_RUN_H

#include "bwtool/options.h"
#include "bwtool/world.h"

/* Measure what the options ask for and report it. Collective. Returns the exit status. */
int bw_run_all(const struct bw_options *options, struct bw_world *world, int argc, char **argv);

/* How samples are to be taken; `options` must outlive it. */
struct bw_sampling;
void bw_run_sampling(struct bw_sampling *sampling, const struct bw_options *options);

/* Print the plan of what the options ask for. Collective. Returns the exit status. */
int bw_dry_run(const struct bw_options *options, const struct bw_world *world);

/* True if ending the process in order could wait for a GPU that no longer answers. */
bool bw_run_must_not_unload(void);

#endif
