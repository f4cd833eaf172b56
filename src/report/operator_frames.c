/* SPDX-License-Identifier: Apache-2.0 */
/* Where an operator's kernel spends its time, as text and as JSON. */
#include "json_value.h"
#include "operator.h"

#include <math.h>
#include <string.h>

/* A class that no frame was of, in words: R7.2 wants each missing one explained. */
const char *bw_words_frame_missing(const struct bw_shmem_point *p, enum bw_frame_class of)
{
    const bool is_signal = p->row->op == SHMEM_BARRIER;
    const bool is_fused = p->row->op == SHMEM_COMBINE && p->row->algorithm == ALGORITHM_PULL;

    switch (of) {
    case FRAMES_OF_COPY:
        return is_signal ? "a barrier moves no data"
                         : "the kernel keeps no copy between the user's memory and its moves";
    case FRAMES_OF_REMOTE:
        return p->ranks < 2 ? "one rank has no peers"
               : is_signal  ? "a barrier moves no data, only signals"
                            : "the peers do all moves between ranks";
    case FRAMES_OF_WAIT:
        return "nothing is waited for";
    case FRAMES_OF_COMPUTE:
        return !bw_shmem_formula(p->row->op)->is_sum ? "pure transport, no local_compute"
               : is_fused ? "sums are taken between the loads of what is added: in remote_put_get"
               : p->row->algorithm == ALGORITHM_MULTICAST
                   ? "the switch adds up: its sums are remote_get"
                   : "one rank has nothing to add up";
    case FRAMES_OF_FINALIZE:
    case FRAME_CLASSES:
        break;
    }
    return "results are stored by the copies or the transport themselves, and nothing has to be "
           "put back";
}

/* The first frame that a frame was inside of, if it always was inside of one; else -1. */
static int outer_of(const struct bw_frame_row *row)
{
    for (int f = 0; f < FRAME_COUNT && (row->parents & 1u) == 0; f++) {
        if ((row->parents >> (1 + f) & 1) != 0) {
            return f;
        }
    }
    return -1;
}

/* No "-0.000" for what is nothing. */
static double shown(double us)
{
    return fabs(us) < 0.0005 ? 0 : us;
}

/* "largest share; tail: block 3, SM 3, rank 1 (2.10 x avg)" */
void bw_words_bottleneck(const struct bw_frame_row *row, char *text, size_t room)
{
    int length = snprintf(text, room, "%s", row->is_largest ? "largest share" : "");

    if (row->is_tail && length >= 0 && (size_t)length < room) {
        snprintf(text + length, room - (size_t)length, "%stail: block %d, SM %d, rank %d (%.2f x)",
                 length > 0 ? "; " : "", row->max_block, row->max_sm, row->max_rank,
                 row->max_core_us / row->avg_us);
    }
}

static void print_row(FILE *out, const struct bw_frame_row *row, int depth)
{
    const struct bw_frame_info *info = &bw_frame_map[row->frame];
    char name[32];
    char count[32];
    char bottleneck[120];

    snprintf(name, sizeof(name), "%*s%s", 2 * depth, "", info->name);
    if (row->count_min == row->count_max) {
        snprintf(count, sizeof(count), "%u", row->count_max);
    } else {
        snprintf(count, sizeof(count), "%u-%u", row->count_min, row->count_max);
    }
    bw_words_bottleneck(row, bottleneck, sizeof(bottleneck));
    fprintf(out, "%-14s %-23s %11.3f %12.3f %9s %11.3f %11.3f %7.2f  %s\n", name,
            bw_frame_class_name(info->of), row->avg_us, row->max_core_us, count, row->self_us,
            row->incl_us, row->share_pct, bottleneck);
}

/* Frames that are always inside of `outer` (-1: of none), and below each those inside of it. */
static void print_inside(FILE *out, const struct bw_frame_table *t, int outer, int depth)
{
    for (size_t i = 0; i < t->count && depth < FRAME_COUNT; i++) {
        if (outer_of(&t->rows[i]) == outer) {
            print_row(out, &t->rows[i], depth);
            print_inside(out, t, (int)t->rows[i].frame, depth + 1);
        }
    }
}

static void print_rows(FILE *out, const struct bw_frame_table *t)
{
    fprintf(out, "%-14s %-23s %11s %12s %9s %11s %11s %7s  %s\n", "Frame", "Phase", "Avg us",
            "Max core us", "Count", "Self", "Incl", "% E2E", "Bottleneck");
    print_inside(out, t, -1, 0);
    fprintf(out, "%-14s %-23s %11s %12s %9s %11.3f %11s %7.2f  %s %.3f us, %s %.3f us\n",
            "unattributed", "-", "-", "-", "-", shown(t->unattributed_us), "-",
            shown(t->unattributed_pct), "blocks outside of frames", shown(t->inside_us),
            "launch, drain and moves outside", shown(t->outside_us));
}

static void print_rank(FILE *out, const struct bw_frame_table *t, int r)
{
    const struct bw_frame_rank *rank = &t->ranks[r];

    fprintf(out,
            "rank %d: kernel_us %.3f, kernel_dev_us %.3f (%.3f to %.3f), launch gap and drain "
            "%.3f us; %.3f cycles in a ns (%.3f to %.3f); timer's tick %llu ns\n",
            r, t->rank_kernel_us[r], rank->dev_us, rank->dev_min_us, rank->dev_max_us,
            shown(t->rank_kernel_us[r] - rank->dev_us), rank->ghz, rank->ghz_min, rank->ghz_max,
            (unsigned long long)rank->tick.divisor_ns);
}

static void print_missing(FILE *out, const struct bw_shmem_point *p)
{
    for (int of = 0; of < FRAME_CLASSES; of++) {
        if (!bw_frame_table_has(p->frames, (enum bw_frame_class)of)) {
            fprintf(out, "no %s: %s\n", bw_frame_class_name((enum bw_frame_class)of),
                    bw_words_frame_missing(p, (enum bw_frame_class)of));
        }
    }
}

static void print_table(FILE *out, const struct bw_shmem_point *p)
{
    const struct bw_frame_table *t = p->frames;

    fprintf(out, "%d ranks x %u blocks x %u launches; times are of a launch", t->rank_count,
            t->ranks[0].blocks, t->ranks[0].launches);
    if (t->messages > 1) {
        fprintf(out, " of %.0f messages", t->messages);
    }
    fprintf(out,
            ", Avg of the blocks that entered the frame, Self and Incl of all blocks; e2e_us with "
            "frames %.3f\n",
            t->e2e_us);
    print_rows(out, t);
    for (int r = 0; r < t->rank_count; r++) {
        print_rank(out, t, r);
    }
    print_missing(out, p);
    fprintf(out, "perturbation: kernel_us %.3f with frames, %.3f without: %.3f x%s\n", t->kernel_us,
            t->plain_us, t->perturbation,
            t->perturbation > BW_FRAME_PERTURBATION
                ? ", above 5 %: compare frames with each other, not with the plain kernel"
                : "");
}

void bw_text_frames(FILE *out, const struct bw_testcase_result *result)
{
    for (size_t i = 0; i < result->shmem->count; i++) {
        const struct bw_shmem_point *p = &result->shmem->points[i];

        if (p->frames == NULL) {
            continue;
        }
        fprintf(out, "frames of case %zu: %s, %s: ", i, p->row->tc.name,
                bw_profile_mode_name(p->frames->mode));
        if (p->frames->reason != NULL) {
            fprintf(out, "none: %s\n", p->frames->reason);
        } else if (p->frames->count == 0) {
            fputs("none: no frame was entered\n", out);
        } else {
            print_table(out, p);
        }
        fputc('\n', out);
    }
}

static json_t *parents_of(uint32_t parents)
{
    json_t *list = json_array();

    for (int f = 0; f < FRAME_COUNT; f++) {
        if ((parents >> (1 + f) & 1) != 0) {
            bw_json_add(list, bw_json_text(bw_frame_map[f].name));
        }
    }
    return list;
}

static json_t *row_of(const struct bw_frame_row *row)
{
    json_t *object = json_object();

    bw_json_set(object, "frame_id", json_integer(row->frame));
    bw_json_set(object, "frame", bw_json_text(bw_frame_map[row->frame].name));
    bw_json_set(object, "phase", bw_json_text(bw_frame_class_name(bw_frame_map[row->frame].of)));
    bw_json_set(object, "parents", parents_of(row->parents));
    bw_json_set(object, "avg_us", bw_json_real(row->avg_us));
    bw_json_set(object, "max_core_us", bw_json_real(row->max_core_us));
    bw_json_set(object, "max_core_rank", json_integer(row->max_rank));
    bw_json_set(object, "max_core_block", json_integer(row->max_block));
    bw_json_set(object, "max_core_sm", json_integer(row->max_sm));
    bw_json_set(object, "count_min", json_integer(row->count_min));
    bw_json_set(object, "count_max", json_integer(row->count_max));
    bw_json_set(object, "self_us", bw_json_real(row->self_us));
    bw_json_set(object, "incl_us", bw_json_real(row->incl_us));
    bw_json_set(object, "percent_of_e2e", bw_json_real(row->share_pct));
    bw_json_set(object, "is_largest_share", json_boolean(row->is_largest));
    bw_json_set(object, "is_tail", json_boolean(row->is_tail));
    return object;
}

static json_t *sum_of(int frame, const struct bw_frame_sum *sum)
{
    json_t *object = json_object();

    bw_json_set(object, "frame", bw_json_text(bw_frame_map[frame].name));
    bw_json_set(object, "blocks", json_integer(sum->blocks));
    bw_json_set(object, "count_min", json_integer(sum->count_min));
    bw_json_set(object, "count_max", json_integer(sum->count_max));
    bw_json_set(object, "incl_us", bw_json_real(sum->incl_us));
    bw_json_set(object, "self_us", bw_json_real(sum->self_us));
    bw_json_set(object, "max_core_us", bw_json_real(sum->max_us));
    bw_json_set(object, "max_core_block", json_integer(sum->max_block));
    bw_json_set(object, "max_core_sm", json_integer(sum->max_sm));
    bw_json_set(object, "entry_min_us", bw_json_real(sum->call_min_us));
    bw_json_set(object, "entry_max_us", bw_json_real(sum->call_max_us));
    bw_json_set(object, "entry_first_us", bw_json_real(sum->first_us));
    bw_json_set(object, "entry_last_us", bw_json_real(sum->last_us));
    return object;
}

static json_t *rank_of(const struct bw_frame_table *t, int r)
{
    const struct bw_frame_rank *rank = &t->ranks[r];
    json_t *object = json_object();
    json_t *frames = json_array();

    for (int f = 0; f < FRAME_COUNT; f++) {
        if (rank->frames[f].blocks > 0) {
            bw_json_add(frames, sum_of(f, &rank->frames[f]));
        }
    }
    bw_json_set(object, "rank", json_integer(r));
    bw_json_set(object, "launches", json_integer(rank->launches));
    bw_json_set(object, "blocks", json_integer(rank->blocks));
    bw_json_set(object, "kernel_us", bw_json_real(t->rank_kernel_us[r]));
    bw_json_set(object, "kernel_dev_us", bw_json_real(rank->dev_us));
    bw_json_set(object, "kernel_dev_us_min", bw_json_real(rank->dev_min_us));
    bw_json_set(object, "kernel_dev_us_max", bw_json_real(rank->dev_max_us));
    bw_json_set(object, "launch_gap_us", bw_json_real(t->rank_kernel_us[r] - rank->dev_us));
    bw_json_set(object, "block_us", bw_json_real(rank->window_us));
    bw_json_set(object, "cycles_per_ns", bw_json_real(rank->ghz));
    bw_json_set(object, "cycles_per_ns_min", bw_json_real(rank->ghz_min));
    bw_json_set(object, "cycles_per_ns_max", bw_json_real(rank->ghz_max));
    bw_json_set(object, "timer_tick_ns", bw_json_count(rank->tick.divisor_ns));
    bw_json_set(object, "timer_step_min_ns",
                rank->tick.changes > 0 ? bw_json_count(rank->tick.smallest_ns) : json_null());
    bw_json_set(object, "frames", frames);
    return object;
}

static json_t *missing_of(const struct bw_shmem_point *p)
{
    json_t *object = json_object();

    for (int of = 0; of < FRAME_CLASSES; of++) {
        if (!bw_frame_table_has(p->frames, (enum bw_frame_class)of)) {
            bw_json_set(object, bw_frame_class_name((enum bw_frame_class)of),
                        bw_json_text(bw_words_frame_missing(p, (enum bw_frame_class)of)));
        }
    }
    return object;
}

json_t *bw_json_frames(const struct bw_shmem_point *p)
{
    const struct bw_frame_table *t = p->frames;
    json_t *object = NULL;
    json_t *rows = NULL;
    json_t *ranks = NULL;

    if (t == NULL) {
        return json_null();
    }
    object = json_object();
    bw_json_set(object, "mode", bw_json_text(bw_profile_mode_name(t->mode)));
    bw_json_set(object, "reason", bw_json_text(t->reason));
    if (t->reason != NULL) {
        return object;
    }
    rows = json_array();
    ranks = json_array();
    for (size_t i = 0; i < t->count; i++) {
        bw_json_add(rows, row_of(&t->rows[i]));
    }
    for (int r = 0; r < t->rank_count; r++) {
        bw_json_add(ranks, rank_of(t, r));
    }
    bw_json_set(object, "messages_per_launch", bw_json_real(t->messages));
    bw_json_set(object, "e2e_us", bw_json_real(t->e2e_us));
    bw_json_set(object, "kernel_us", bw_json_real(t->kernel_us));
    bw_json_set(object, "plain_kernel_us", bw_json_real(t->plain_us));
    bw_json_set(object, "perturbation", bw_json_real(t->perturbation));
    bw_json_set(object, "is_perturbed", json_boolean(t->perturbation > BW_FRAME_PERTURBATION));
    bw_json_set(object, "kernel_dev_us", bw_json_real(t->dev_us));
    bw_json_set(object, "launch_gap_us", bw_json_real(t->gap_us));
    bw_json_set(object, "unattributed_us", bw_json_real(t->unattributed_us));
    bw_json_set(object, "unattributed_pct", bw_json_real(t->unattributed_pct));
    bw_json_set(object, "unattributed_in_blocks_us", bw_json_real(t->inside_us));
    bw_json_set(object, "unattributed_outside_us", bw_json_real(t->outside_us));
    bw_json_set(object, "table", rows);
    bw_json_set(object, "missing", missing_of(p));
    bw_json_set(object, "ranks", ranks);
    return object;
}
