/* SPDX-License-Identifier: Apache-2.0 */
/* A case of one record beside its partner among the points of another: like with like, or why not.
 */
#include "comparison.h"

#include "json_value.h"

#include <math.h>
#include <string.h>

/* What a case is, to find its partner by. */
struct wanted {
    enum bw_shmem_op op;
    enum bw_shmem_dtype dtype;
    int ranks;
    uint64_t payload_bytes;
    char route[160]; /* dispatch and combine; "" */
};

/* In what the points of the baseline differ from the case: the nearest one decides. */
static void say_difference(const struct bw_baseline *baseline, const struct wanted *w, char *reason,
                           size_t room)
{
    static const char *const words[] = {"operator", "number of ranks", "dtype", "size"};
    size_t most = 0;

    for (size_t i = 0; i < baseline->count; i++) {
        const struct bw_baseline_point *p = &baseline->points[i];
        const bool same[] = {p->op == w->op, p->ranks == w->ranks, p->dtype == w->dtype,
                             p->payload_bytes == w->payload_bytes};
        size_t alike = 0;

        while (alike < 3 && same[alike]) {
            alike++;
        }
        most = alike > most ? alike : most;
    }
    (void)snprintf(reason, room, "the baseline has no case of the same %s", words[most]);
}

/* As a point of the baseline has it. */
static void read_route(const json_t *route, struct wanted *w)
{
    const json_t *skew = json_object_get(route, "skew");
    const struct bw_route_shape shape = {
        .tokens = (uint32_t)json_integer_value(json_object_get(route, "tokens")),
        .hidden = (uint32_t)json_integer_value(json_object_get(route, "hidden")),
        .top_k = (uint32_t)json_integer_value(json_object_get(route, "top_k")),
        .experts = (uint32_t)json_integer_value(json_object_get(route, "experts_per_rank")),
        .skew = json_is_string(skew) ? BW_ROUTE_ONE_RANK : json_number_value(skew),
        .seed = (uint64_t)json_integer_value(json_object_get(route, "seed")),
    };

    w->route[0] = '\0';
    if (route != NULL) {
        bw_baseline_route_text(&shape, w->route, sizeof(w->route));
    }
}

/* Of the case itself: that the baseline of its own run was in doubt does not matter here. */
static const char *own_doubt(const json_t *member)
{
    const char *doubt = bw_json_text_of(member, "doubt");
    const char *of_baseline = bw_json_text_of(json_object_get(member, "baseline"), "doubt");

    return strcmp(doubt, of_baseline) == 0 ? "" : doubt;
}

/* The operator is that of its row. */
static bool read_case(const json_t *member, struct wanted *w, struct bw_comparison *row)
{
    const int index = bw_operator_find(bw_json_text_of(member, "row"));
    const json_int_t ranks = json_integer_value(json_object_get(member, "n_pes"));
    const json_int_t payload = json_integer_value(json_object_get(member, "payload_bytes"));
    const double e2e_us = json_number_value(json_object_get(member, "e2e_us"));
    const double kernel_us = json_number_value(json_object_get(member, "kernel_us"));
    const json_t *peak = json_object_get(member, "peak_bandwidth_GBps");
    const json_t *factor = json_object_get(member, "bus_factor");

    if (index < 0 || ranks < 1 || ranks > BW_SHMEM_RANKS_MAX || payload < 0 ||
        !bw_dtype_find(bw_json_text_of(member, "dtype"), &w->dtype) ||
        !bw_placement_find(bw_json_text_of(member, "placement"), &row->placement) ||
        !(kernel_us >= 0) || !(e2e_us >= 0)) {
        return false;
    }
    (void)snprintf(row->doubt, sizeof(row->doubt), "%s", own_doubt(member));
    w->op = bw_operators[index].op;
    read_route(json_object_get(member, "route"), w);
    w->ranks = (int)ranks;
    w->payload_bytes = (uint64_t)payload;
    row->shmem = bw_shmem_figures_of(
        json_is_number(factor) ? json_number_value(factor) : (double)NAN, w->payload_bytes, e2e_us,
        kernel_us, json_is_number(peak) ? json_number_value(peak) : (double)NAN);
    bw_comparison_name(row, w->op, w->payload_bytes, w->dtype, w->ranks);
    return true;
}

static bool has_no_baseline(enum bw_shmem_op op)
{
    return op == SHMEM_BARRIER || op == SHMEM_PUT_SIGNAL;
}

/* The reason says, too, what the class has to do with it. */
static void refuse_class(struct bw_comparison *row)
{
    char why[BW_BASELINE_REASON];

    (void)snprintf(
        why, sizeof(why), "placement %s is held against %s memory, which it lacks: %.150s",
        bw_placement_name(row->placement), bw_baseline_class_name(row->kind), row->reason);
    memcpy(row->reason, why, sizeof(why));
}

bool bw_comparison_read(struct bw_comparison *row, const json_t *member,
                        const struct bw_baseline *baseline)
{
    const struct bw_baseline_point *point = NULL;
    struct wanted w;

    if (!read_case(member, &w, row)) {
        return false;
    }
    point = bw_baseline_find(baseline, w.op, w.dtype, w.ranks, w.payload_bytes);
    if (point == NULL && has_no_baseline(w.op)) {
        bw_comparison_set(row, NULL, "NCCL has nothing like it");
        return true;
    }
    if (point != NULL && strcmp(point->route, w.route) != 0 && point->reason[0] == '\0') {
        bw_comparison_set(row, NULL, "the baseline has no case of the same routes");
        point = NULL;
    } else if (point == NULL) {
        bw_comparison_set(row, NULL, "");
        say_difference(baseline, &w, row->reason, sizeof(row->reason));
    } else {
        bw_comparison_set(row, point, "");
    }
    /* A point that says of itself that there is nothing to compare is a partner all the same. */
    row->is_refused = !row->has_baseline && (point == NULL || point->reason[0] == '\0');
    if (row->is_refused && point != NULL) {
        refuse_class(row);
    }
    return true;
}
