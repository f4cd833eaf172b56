/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include "operators.h"
#include "pairs.h"

#include "bwtool/log.h"
#include "bwtool/report.h"
#include "bwtool/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What has to be the same. Sent as it is: it must stay this long in all versions. */
struct identity {
    char version[256], options[768];
};

static enum bw_status find_version(char *text, size_t room)
{
    char *memory = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&memory, &bytes);

    if (file == NULL) {
        return bw_errno("no memory for the version");
    }
    bw_report_version(file);
    if (fclose(file) != 0) {
        free(memory);
        return bw_errno("no memory for the version");
    }
    (void)snprintf(text, room, "%s", memory);
    free(memory);
    for (char *c = text; *c != '\0'; c++) {
        if (*c == '\n') {
            *c = ' ';
        }
    }
    return BW_OK;
}

/* The words of the command line; what is beyond the room counts by a sum of all characters. */
static void find_options(char *text, size_t room, int argc, char **argv)
{
    size_t used = 0;
    unsigned sum = 2166136261u;

    for (int i = 1; i < argc; i++) {
        for (const char *c = argv[i]; *c != '\0'; c++) {
            sum = (sum ^ (unsigned char)*c) * 16777619u;
        }
        sum = (sum ^ ' ') * 16777619u;
        if (used + strlen(argv[i]) + 20 < room) {
            used += (size_t)snprintf(text + used, room - used, "%s%s", i > 1 ? " " : "", argv[i]);
        }
    }
    if (used + 20 >= room / 2) {
        (void)snprintf(text + used, room - used, " ... (%08x)", sum);
    }
}

enum bw_status bw_ranks_check_all(struct bw_world *world, int argc, char **argv)
{
    struct identity mine = {{0}, {0}};
    struct identity *all = calloc((size_t)world->ranks, sizeof(*all));
    enum bw_status st = all == NULL ? bw_errno("no memory for %d ranks", world->ranks) : BW_OK;

    st = st == BW_OK ? find_version(mine.version, sizeof(mine.version)) : st;
    find_options(mine.options, sizeof(mine.options), argc, argv);
    TRY(bw_world_agree_all(world, st, "start"));
    TRY(bw_world_gather_all(world, &mine, all, sizeof(mine)));
    for (int i = 1; i < world->ranks && st == BW_OK; i++) {
        const bool is_version = strcmp(all[i].version, all[0].version) != 0;

        if (!is_version && strcmp(all[i].options, all[0].options) == 0) {
            continue;
        }
        st = BW_ERR_USAGE;
        if (bw_world_is_root(world)) {
            bw_error("rank %d is %s than rank 0: '%s' instead of '%s'", i,
                     is_version ? "of another version" : "started with other options",
                     is_version ? all[i].version : all[i].options,
                     is_version ? all[0].version : all[0].options);
        }
    }
out:
    free(all);
    return st;
}

bool bw_ranks_take_part(const struct bw_testcase *tc)
{
    return bw_testcase_is_multinode(tc) || bw_operator_of(tc) != NULL;
}

/* The greediest one counts: operators come one after the other. */
static void add_needs(struct bw_operator_needs *needs, const struct bw_session *session,
                      const struct bw_options *options, const struct bw_choice *choice)
{
    const struct bw_testcase *tc = bw_all_at((size_t)choice->index);
    const uint64_t window =
        session->ranks == NULL ? 0 : bw_operator_window_bytes(session, options, tc, choice->suite);
    const uint64_t area = bw_operator_multicast_bytes(session, options, tc, choice->suite);

    needs->window_bytes = window > needs->window_bytes ? window : needs->window_bytes;
    needs->multicast_bytes = area > needs->multicast_bytes ? area : needs->multicast_bytes;
}

/* The testcases of all ranks among the chosen ones, and what the greediest of the operators needs.
 */
static size_t find_needs(const struct bw_session *session, const struct bw_selection *selection,
                         const struct bw_options *options, const struct bw_testcase **cases,
                         struct bw_operator_needs *needs)
{
    size_t count = 0;

    for (size_t i = 0; i < selection->count; i++) {
        const int index = selection->choices[i].index;
        const struct bw_testcase *tc = index < 0 ? NULL : bw_all_at((size_t)index);

        if (tc != NULL && bw_operator_of(tc) != NULL) {
            add_needs(needs, session, options, &selection->choices[i]);
        } else if (tc != NULL && bw_testcase_is_multinode(tc)) {
            cases[count++] = tc;
        }
    }
    return count;
}

enum bw_status bw_ranks_share_all(struct bw_session *session, const struct bw_selection *selection,
                                  const struct bw_options *options,
                                  const struct bw_sampling *sampling)
{
    const size_t ranks = (size_t)session->world->ranks;
    const struct bw_testcase **cases =
        calloc(selection->count + 1, sizeof(const struct bw_testcase *));
    struct bw_operator_needs *all = calloc(ranks, sizeof(*all));
    struct bw_operator_needs needs = {0};
    enum bw_status st = BW_OK;
    size_t count = 0;

    st = cases == NULL || all == NULL ? bw_errno("no memory for a list of testcases") : BW_OK;
    TRY(bw_world_agree_all(session->world, st, "sharing memory"));
    count = find_needs(session, selection, options, cases, &needs);
    /* A rank without memory cannot tell what it needs: windows are alike, and the largest fits */
    TRY(bw_world_gather_all(session->world, &needs, all, sizeof(needs)));
    for (size_t i = 0; i < ranks; i++) {
        needs.window_bytes =
            all[i].window_bytes > needs.window_bytes ? all[i].window_bytes : needs.window_bytes;
        needs.multicast_bytes = all[i].multicast_bytes > needs.multicast_bytes
                                    ? all[i].multicast_bytes
                                    : needs.multicast_bytes;
    }
    if (count > 0 || needs.window_bytes > 0 || needs.multicast_bytes > 0) {
        TRY(bw_session_share_all(session, cases, count, &needs, sampling));
    }
out:
    free(cases);
    free(all);
    return st;
}

void bw_ranks_say_alone(const struct bw_world *world, const struct bw_selection *selection)
{
    size_t count = 0;

    for (size_t i = 0; i < selection->count; i++) {
        const int index = selection->choices[i].index;

        count += index >= 0 && !bw_ranks_take_part(bw_all_at((size_t)index));
    }
    if (world->ranks > 1 && bw_world_is_root(world) && count > 0) {
        bw_note("%zu of the testcases concern one process: rank 0 runs them alone, on the GPUs and "
                "CPUs of %s, while the other ranks wait",
                count, world->host);
    }
}

bool bw_ranks_any_all(struct bw_world *world, bool mine)
{
    double count = mine;

    return bw_world_sum_all(world, &count, 1) == BW_OK ? count > 0 : mine;
}

int bw_ranks_from_root_all(struct bw_world *world, int mine)
{
    double number = bw_world_is_root(world) ? mine : 0;

    return bw_world_sum_all(world, &number, 1) == BW_OK ? (int)number : mine;
}

char *bw_ranks_waiver_all(const struct bw_session *session, const struct bw_options *options,
                          const struct bw_testcase *tc, const struct bw_suite_case *suite)
{
    char *why = bw_operator_of(tc) != NULL ? bw_operator_waiver(session, options, tc, suite)
                                           : bw_session_waiver(session, tc);

    if (why == NULL && bw_operator_of(tc) == NULL) {
        why = bw_pairs_waiver(options, &session->gpus, tc);
    }
    if (session->world->ranks > 1 && bw_ranks_take_part(tc) &&
        bw_ranks_any_all(session->world, why != NULL) && why == NULL) {
        why = bw_text_reason("another rank cannot run it");
    }
    return why;
}
