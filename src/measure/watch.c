/* SPDX-License-Identifier: Apache-2.0 */
#include "watch.h"

#include "bwtool/log.h"
#include "bwtool/state.h"
#include "bwtool/text.h"

#include <stdlib.h>

void bw_watch_begin(struct bw_session *session, const struct bw_plan *plan,
                    const struct bw_launch *launch)
{
    bw_state_launch(session->state, plan, launch, session->own);
}

/* The cells of a launch one by one: where it is, and which lane and matrix it is of. */
struct place {
    size_t at, lane;
    int matrix;
};

static bool next_place(const struct bw_plan *plan, const struct bw_launch *launch,
                       struct place *place, bool is_first)
{
    const size_t lanes = plan->tc->shape == SHAPE_BISECT ? launch->lane_count : 1;

    if (is_first) {
        *place = (struct place){0};
    } else if (++place->lane == lanes) {
        place->lane = 0;
        place->matrix++;
    }
    place->at = (size_t)launch->row * (size_t)plan->cols + (size_t)launch->col + place->lane;
    return place->matrix < bw_testcase_matrix_count(plan->tc);
}

/* The first is said; that others exceed it too, JSON and -v tell. */
static void say_exceeded(const struct bw_plan *plan, const struct bw_launch *launch,
                         const struct bw_cell *cell)
{
    const bool has_bound = cell->peak.bound_gb_per_s > 0;

    bw_note("%s: row %d, column %d: %.2f GB/s is more than the %s of %.2f GB/s (%s): wrong peak "
            "(--peak), or a cache",
            plan->tc->name, launch->row, launch->col, cell->value,
            has_bound ? "bound" : "nominal rate",
            has_bound ? cell->peak.bound_gb_per_s : cell->peak.nominal_gb_per_s, cell->peak.source);
}

static void fill_peaks(const struct bw_session *session, const struct bw_plan *plan,
                       const struct bw_launch *launch, const struct bw_sampling *sampling,
                       struct bw_cell **cells)
{
    struct bw_ports ports = bw_state_ports(session->state);
    struct place place;

    ports.overrides = sampling->peaks;
    ports.override_count = sampling->peak_count;
    for (bool is_more = next_place(plan, launch, &place, true); is_more;
         is_more = next_place(plan, launch, &place, false)) {
        struct bw_cell *cell = &cells[place.matrix][place.at];

        cell->peak = bw_peak_of(&ports, plan, launch, place.matrix, place.lane);
        if (cell->is_present && bw_peak_is_exceeded(&cell->peak, cell->value) &&
            place.matrix == 0 && launch == plan->launches) {
            say_exceeded(plan, launch, cell);
        }
    }
}

static void doubt(const struct bw_plan *plan, const struct bw_launch *launch,
                  struct bw_cell **cells, const char *spoiled)
{
    struct place place;

    for (bool is_more = next_place(plan, launch, &place, true); is_more;
         is_more = next_place(plan, launch, &place, false)) {
        struct bw_cell *cell = &cells[place.matrix][place.at];

        if (cell->is_present && !cell->is_doubtful) {
            bw_cell_set_doubt(
                cell, bw_text_format("%s, in each of %d takes", spoiled, (int)BW_STATE_TAKES_MAX));
        }
    }
}

static void forget(const struct bw_plan *plan, const struct bw_launch *launch,
                   struct bw_cell **cells)
{
    struct place place;

    for (bool is_more = next_place(plan, launch, &place, true); is_more;
         is_more = next_place(plan, launch, &place, false)) {
        bw_cell_close(&cells[place.matrix][place.at]);
    }
}

/* In all ranks alike: they take a launch again together, or none does. */
static const char *find_spoiled(struct bw_session *session, const struct bw_plan *plan,
                                enum bw_status st, char *text, size_t room)
{
    struct bw_world *world =
        bw_testcase_is_multinode(plan->tc) && st == BW_OK ? session->world : &session->alone;

    return bw_state_spoiled_all(session->state, world, text, room);
}

bool bw_watch_end(struct bw_session *session, const struct bw_plan *plan,
                  const struct bw_launch *launch, const struct bw_sampling *sampling,
                  struct bw_cell **cells, enum bw_status st, int take)
{
    char text[BW_STATE_TEXT_BYTES];
    const char *spoiled = find_spoiled(session, plan, st, text, sizeof(text));

    if (st == BW_OK && spoiled != NULL && take < BW_STATE_TAKES_MAX) {
        bw_verbose("%s: row %d, column %d: take %d of at most %d is spoiled: %s", plan->tc->name,
                   launch->row, launch->col, take, (int)BW_STATE_TAKES_MAX, spoiled);
        forget(plan, launch, cells);
        return true;
    }
    if (st == BW_OK && spoiled != NULL) {
        bw_log(bw_state_first_doubt(session->state) && bw_world_is_root(session->world)
                   ? LOG_WARNING
                   : LOG_VERBOSE,
               "%s: row %d, column %d: unreliable: %s, in each of %d takes", plan->tc->name,
               launch->row, launch->col, spoiled, (int)BW_STATE_TAKES_MAX);
        doubt(plan, launch, cells, spoiled);
    }
    fill_peaks(session, plan, launch, sampling, cells);
    return false;
}
