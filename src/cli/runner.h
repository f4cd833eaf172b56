/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CLI_RUNNER_H
#define BW_CLI_RUNNER_H

#include "bwtool/measure.h"
#include "bwtool/options.h"
#include "bwtool/report.h"
#include "bwtool/select.h"

/* The state of a run, for the files that it is made of: run.c and turn.c. */

/* One run from the options to the exit status. */
struct runner {
    const struct bw_options *options;
    struct bw_world *world;
    struct bw_selection selection;
    struct bw_topology *topology;
    struct bw_gpus gpus; /* until the session takes them over */
    struct bw_session session;
    struct bw_run run;
    const struct bw_report_ops *ops; /* NULL in ranks that do not report */
    struct bw_report report;
    bool *pairs;               /* of GPUs, those to be measured; NULL: all */
    enum bw_status gpu_status; /* BW_OK, or why there is no GPU to use */
    bool needs_gpus;
    bool is_over; /* nothing more can be measured on the GPUs */
    bool is_late; /* the time that --max-time gives is over   */
};

static inline bool bw_has_ranks(const struct runner *r)
{
    return r->world->ranks > 1;
}

/* turn.c: run one of the chosen testcases, or say why not, and report it. Collective. */
void bw_take_turn(struct runner *r, const struct bw_choice *choice);

#endif
