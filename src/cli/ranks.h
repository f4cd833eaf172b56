/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CLI_RANKS_H
#define BW_CLI_RANKS_H

#include "bwtool/measure.h"
#include "bwtool/options.h"
#include "bwtool/select.h"

/*
 * All ranks must be the same program with the same options, or they would not
 * make the same collective calls. BW_ERR_USAGE in all ranks if not; rank 0 has
 * said which one differs, and in what. Collective.
 */
enum bw_status bw_ranks_check_all(struct bw_world *world, int argc, char **argv);

/* True if all ranks take part in the testcase, where there are several; else it is rank 0's. */
bool bw_ranks_take_part(const struct bw_testcase *tc);

/* Share the memory that the chosen testcases need, if some of them need it; in one process, what
 * lies behind a multicast address. Collective. */
enum bw_status bw_ranks_share_all(struct bw_session *session, const struct bw_selection *selection,
                                  const struct bw_options *options,
                                  const struct bw_sampling *sampling);

/* So that nobody wonders what the other ranks do meanwhile: by rank 0, if there is such a testcase.
 */
void bw_ranks_say_alone(const struct bw_world *world, const struct bw_selection *selection);

/*
 * Why the machine cannot run this, which the caller frees; NULL if it can. Where
 * several ranks take part, all have a reason or none. Collective for those.
 */
char *bw_ranks_waiver_all(const struct bw_session *session, const struct bw_options *options,
                          const struct bw_testcase *tc, const struct bw_suite_case *suite);

/* True in all ranks if it is in one. Collective. */
bool bw_ranks_any_all(struct bw_world *world, bool mine);

/* What the first rank says. Collective. */
int bw_ranks_from_root_all(struct bw_world *world, int mine);

#endif
