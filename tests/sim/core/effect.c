/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * What operations do when their time has come. What is large and stays on a
 * GPU is noted (ghost.c). A copy that was made before, and whose ends nobody
 * wrote since, has nothing to do.
 */

/* --- copies that need not be made again ---------------------------------- */

enum { REPEATS = 64, STEP = 1 << 16 };

static struct repeat {
    const char *dst, *src;
    size_t bytes;
    uint64_t looks; /* of both ends: the host may have written into its own memory */
} repeats[REPEATS];
static unsigned next_repeat;

static uint64_t look(const char *at, size_t bytes, uint64_t sum)
{
    uint64_t word = 0;

    for (size_t i = 0; i < bytes; i += STEP) {
        memcpy(&word, at + i, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
        sum = (sum ^ word) * 0x100000001b3u;
    }
    return sum;
}

static uint64_t look_at_both(const char *dst, const char *src, size_t bytes)
{
    return look(dst, bytes, look(src, bytes, 0xcbf29ce484222325u));
}

static bool is_repeat(const char *dst, const char *src, size_t bytes)
{
    for (int i = 0; i < REPEATS && sim.machine.lazy_bytes > 0; i++) {
        const struct repeat *r = &repeats[i];

        if (r->dst == dst && r->src == src && r->bytes == bytes && bytes > 0) {
            return r->looks == look_at_both(dst, src, bytes);
        }
    }
    return false;
}

static bool meets(const char *a, const char *b, size_t bytes_a, size_t bytes_b)
{
    return a < b + bytes_b && b < a + bytes_a;
}

/* Somebody has written there. */
static void wrote(const char *at, size_t bytes)
{
    for (int i = 0; i < REPEATS; i++) {
        const struct repeat *r = &repeats[i];

        if (r->bytes > 0 &&
            (meets(r->dst, at, r->bytes, bytes) || meets(r->src, at, r->bytes, bytes))) {
            repeats[i] = (struct repeat){0};
        }
    }
}

static void remember(const char *dst, const char *src, size_t bytes)
{
    wrote(dst, bytes);
    if (!meets(dst, src, bytes, bytes) && !sim_ghost_any(src, bytes)) {
        repeats[next_repeat++ % REPEATS] =
            (struct repeat){dst, src, bytes, look_at_both(dst, src, bytes)};
    }
}

/* --- copies and sets ------------------------------------------------------ */

/* Memory of which the simulator knows who sees the bytes; of the host's, whole pages. */
static bool is_large(const void *at, size_t bytes)
{
    const struct sim_range *range = sim_range_find(at, bytes);

    if (sim.machine.lazy_bytes <= 0 || (double)bytes < sim.machine.lazy_bytes || range == NULL) {
        return false;
    }
    return range->kind == RANGE_DEVICE ||
           (range->gpu == SIM_HOST && ((uintptr_t)at | bytes) % 4096 == 0);
}

static void copy(const struct sim_move *move)
{
    if (is_large(move->dst, move->span) && sim_ghost_copy(move->dst, move->src, move->span)) {
        wrote(move->dst, move->span);
        return;
    }
    sim_ghost_forget(move->dst, move->span);
    if (!is_repeat(move->dst, move->src, move->span)) {
        sim_ghost_write(move->dst, move->src, move->span);
        remember(move->dst, move->src, move->span);
    }
}

void sim_set(void *at, unsigned value, size_t width, size_t bytes)
{
    if (width == 1 || bytes < width) {
        memset(at, (int)value, bytes);
        return;
    }
    for (size_t i = 0; i < bytes; i += width) {
        memcpy((char *)at + i, &value, width < bytes - i ? width : bytes - i);
    }
}

static void set_memory(const struct sim_op *op)
{
    const struct sim_move *move = &op->work.moves[0];

    wrote(move->dst, move->span);
    if (is_large(move->dst, move->span) && sim_ghost_note(move->dst, move->span, op)) {
        return;
    }
    sim_ghost_forget(move->dst, move->span);
    sim_set(move->dst, op->value, op->width, move->span);
}

/* --- kernels -------------------------------------------------------------- */

/* What a word of a launch whose clocks go on takes; 0: they do not. */
static double step_ns_of(const struct sim_op *op)
{
    const struct sim_work *work = &op->work;
    const double took = op->moved_ns - op->begun_ns;
    const double blocks = (double)op->grid.x * op->grid.y * op->grid.z;
    const double threads = (double)op->block.x * op->block.y * op->block.z;
    double words = 0;

    for (int i = 0; i < work->count; i++) {
        words += ((work->moves[i].src != NULL) + (work->moves[i].dst != NULL)) *
                 work->moves[i].bytes / 16;
    }
    words /= blocks * (work->movers < threads ? work->movers : threads);
    words = work->steps > 0 ? work->steps : words;
    return work->movers == 0 ? 0 : fmax(took / fmax(words, 1), 1e-9);
}

static struct sim_time time_of(const struct sim_op *op)
{
    const int gpu = op->stream->ctx->gpu;
    struct sim_time time = {
        .gpu = gpu,
        .zero_ns = 1e9 + 1e6 * gpu, /* each GPU's timer began at another time */
        .start_ns = op->begun_ns,
        .now_ns = {sim.now_ns, sim.now_ns},
        .cycles_per_ns = sim.machine.gpus[gpu].clock_khz * 1e-6,
        .timer_ns = sim.machine.timer_ns,
        .passes = op->passes,
        .tick_ns = sim.machine.timer_tick_ns > 1 ? sim.machine.timer_tick_ns : 1,
        .step_ns = step_ns_of(op),
        .sms = (unsigned)sim.machine.gpus[gpu].sm_count,
    };

    for (int i = 0; i < op->work.count && op->passes > 0; i++) {
        if (op->moving[i].op != NULL) {
            time.now_ns[op->work.moves[i].goes_on] = op->moving[i].end_ns;
        }
    }
    return time;
}

/* Note all of a kernel's copies; with none of them to be made, it only tells the time. */
static bool note_copies(struct sim_op *op)
{
    const struct sim_move *moves = op->work.moves;
    bool noted = true;

    for (int i = 0; i < op->work.count && noted; i++) {
        if (moves[i].src != NULL && moves[i].dst != NULL) {
            noted = is_large(moves[i].dst, moves[i].span) &&
                    sim_ghost_copy(moves[i].dst, moves[i].src, moves[i].span);
            wrote(moves[i].dst, moves[i].span);
        }
    }
    return noted;
}

static bool repeats_copies(const struct sim_op *op)
{
    const struct sim_move *moves = op->work.moves;
    bool repeated = true;

    for (int i = 0; i < op->work.count && repeated; i++) {
        if (moves[i].src != NULL && moves[i].dst != NULL) {
            repeated = is_repeat(moves[i].dst, moves[i].src, moves[i].span);
        }
    }
    return repeated;
}

/* Make real what a kernel touches. What it is sure to overwrite need not be made first. */
static void prepare(const struct sim_op *op)
{
    const bool overwrites = op->kernel->kind == SIM_MAKES || op->kernel->kind == SIM_COPIES;

    for (int i = 0; i < op->work.count; i++) {
        const struct sim_move *move = &op->work.moves[i];

        if (move->src != NULL) {
            sim_ghost_real(move->src, move->span);
        }
    }
    for (int i = 0; i < op->work.count; i++) {
        const struct sim_move *move = &op->work.moves[i];

        if (move->dst != NULL) {
            if (overwrites && move->bytes > 0) {
                sim_ghost_forget(move->dst, move->span);
            } else {
                sim_ghost_real(move->dst, move->span);
            }
            wrote(move->dst, move->span);
        }
    }
}

/* What of a launch is not worth running; true if that is all of it. */
static bool shorten(struct sim_op *op)
{
    const struct sim_kernel *kernel = op->kernel;
    const struct sim_move *first = &op->work.moves[0];
    bool is_done = false;

    if (sim.machine.lazy_bytes == 0 || kernel->kind == SIM_PLAIN || kernel->kind == SIM_CHASES ||
        first->bytes <= 0) {
        prepare(op);
        return false;
    }
    switch (kernel->kind) {
    case SIM_MAKES:
        wrote(first->dst, first->span);
        is_done = is_large(first->dst, first->span) && sim_ghost_note(first->dst, first->span, op);
        break;
    case SIM_LOOKS:
        is_done =
            is_large(first->src, first->span) && sim_ghost_is_clean(first->src, first->span, op);
        break;
    default:
        is_done = repeats_copies(op) || note_copies(op);
        kernel->resize(op->args, NULL, is_done ? 0 : 1, NULL);
    }
    if (!is_done) {
        prepare(op);
        if (kernel->narrow > 0 && (double)first->span >= sim.machine.lazy_bytes) {
            op->is_narrow = true;
        }
    }
    return is_done;
}

static void finish_kernel(struct sim_op *op)
{
    const struct sim_move *moves = op->work.moves;

    for (int i = 0; i < op->work.count && op->kernel->kind == SIM_COPIES; i++) {
        if (moves[i].src != NULL && moves[i].dst != NULL && !op->is_short) {
            remember(moves[i].dst, moves[i].src, moves[i].span);
        }
    }
    if (op->kernel->account != NULL && (op->is_short || op->is_narrow)) {
        op->kernel->account(op->args, op->moved);
    }
}

/* False while threads spin. */
static bool run_kernel(struct sim_op *op)
{
    struct sim_time time;

    op->moved_ns = op->run == NULL ? sim.now_ns : op->moved_ns;
    time = time_of(op);
    if (op->run == NULL) {
        op->is_short = shorten(op);
        if (op->is_short && op->kernel->account == NULL) {
            return true;
        }
        op->run = sim_run_open(
            op->kernel, op->args,
            op->is_narrow || op->is_short ? (struct sim_dim){1, 1, 1} : op->grid,
            op->is_narrow || op->is_short ? (struct sim_dim){op->kernel->narrow, 1, 1} : op->block,
            &time);
    }
    if (op->run == NULL) {
        sim.lost = CUDA_ERROR_LAUNCH_FAILED;
        return true;
    }
    if (!sim_run_poll(op->run, &time)) {
        return false;
    }
    finish_kernel(op);
    return true;
}

void sim_op_chase(struct sim_op *op)
{
    struct sim_time time = time_of(op);

    prepare(op);
    time.now_ns[0] = time.now_ns[1] = op->begun_ns;
    op->run = sim_run_open(op->kernel, op->args, op->grid, op->block, &time);
    if (op->run == NULL || !sim_run_poll(op->run, &time)) {
        sim.lost = CUDA_ERROR_LAUNCH_FAILED;
        return;
    }
    op->until_ns += sim_run_chased_ns(op->run);
    if (sim_run_is_bad(op->run)) {
        sim.lost = CUDA_ERROR_ILLEGAL_ADDRESS;
    }
}

double sim_link_ns(int gpu, const void *at)
{
    static struct {
        const char *from, *to;
        unsigned long changes;
        int gpu;
        double ns;
    } last;
    const struct sim_range *range;
    int links[FLOW_LINKS_MAX];

    if ((const char *)at >= last.from && (const char *)at + 8 <= last.to && last.gpu == gpu &&
        last.changes == sim.range_changes) {
        return last.ns;
    }
    range = sim_range_find(at, 8);
    if (range == NULL || !sim_range_allows(range, gpu)) {
        return -1;
    }
    sim_ghost_real(range->at, range->bytes);
    last.from = range->at;
    last.to = range->at + range->bytes;
    last.changes = sim.range_changes;
    last.gpu = gpu;
    sim_route(range, NULL, gpu, true, links, &last.ns);
    return last.ns;
}

/* --- all ------------------------------------------------------------------ */

static bool value_has_come(const struct sim_op *op)
{
    const uint32_t now = __atomic_load_n(op->word, __ATOMIC_ACQUIRE);

    switch (op->flags & 3u) {
    case CU_STREAM_WAIT_VALUE_EQ:
        return now == op->value;
    case CU_STREAM_WAIT_VALUE_AND:
        return (now & op->value) != 0;
    case CU_STREAM_WAIT_VALUE_NOR:
        return ~(now | op->value) != 0;
    default:
        return (int32_t)(now - op->value) >= 0;
    }
}

static void spoil(const struct sim_op *op)
{
    const struct sim_move *move = &op->work.moves[0];
    size_t byte = op->spoiled_byte;

    /* Of what a kernel copies both ways, the bytes back are counted on. */
    if (op->work.count > 1 && move[1].dst != NULL && byte >= move->span) {
        byte -= move->span;
        move++;
    }
    if (op->spoiled && move->span > 0) {
        sim_ghost_real(move->dst, move->span);
        wrote(move->dst, move->span);
        ((unsigned char *)move->dst)[byte % move->span] ^= 0xff;
    }
}

bool sim_op_take_effect(struct sim_op *op)
{
    if (!sim_op_may_touch(op)) {
        sim.lost = CUDA_ERROR_ILLEGAL_ADDRESS;
        return true;
    }
    switch (op->kind) {
    case OP_COPY:
        if (!op->skipped) {
            copy(&op->work.moves[0]);
        }
        break;
    case OP_SET:
        set_memory(op);
        break;
    case OP_KERNEL:
        if (!op->skipped && op->kernel->kind != SIM_CHASES && !run_kernel(op)) {
            return false;
        }
        break;
    case OP_RECORD:
        op->event->done = op->record > op->event->done ? op->record : op->event->done;
        op->event->ns = sim.now_ns;
        break;
    case OP_WAIT_EVENT:
        return op->event->done >= op->record;
    case OP_WAIT_VALUE:
        return value_has_come(op);
    case OP_WRITE_VALUE:
        wrote((const char *)op->word, sizeof(*op->word));
        __atomic_store_n(op->word, op->value, __ATOMIC_RELEASE);
        break;
    case OP_HOST_FUNC:
        op->func(op->data);
        break;
    }
    spoil(op);
    return true;
}
