/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Ghosts: what large pieces of memory hold, noted instead of done. A piece
 * stands for bytes of a source, which is a kernel that makes them from its
 * arguments alone, or a set. Copies of noted pieces are noted, too. Bytes that
 * anything else looks at or writes a part of are made first. So filling,
 * copying and checking a large buffer costs nothing, and what is not as it
 * should be still shows. The program may look into host memory at any time:
 * noted pages of that are forbidden to it until it does, and made then.
 */

/* What a buffer was filled with. */
struct source {
    unsigned uses;
    const struct sim_kernel *kernel; /* NULL: a set */
    void *args;
    unsigned value;
    size_t width, bytes;
};

struct sim_ghost {
    struct sim_ghost *next;
    char *at;
    size_t bytes;
    struct source *source;
    size_t from; /* at `at` is that byte of the source */
    bool is_host;
    bool is_left; /* the driver has given the memory back to the program */
};

enum { SAMPLE = (1 << 20) + 13, PAGE = 4096 };

static void source_put(struct source *source)
{
    if (--source->uses == 0) {
        free(source->args);
        free(source);
    }
}

static bool is_whole_pages(const char *at, size_t bytes)
{
    return ((uintptr_t)at | bytes) % PAGE == 0;
}

static void protect(const struct sim_ghost *ghost, int protection)
{
    if (ghost->is_host && mprotect(ghost->at, ghost->bytes, protection) != 0) {
        abort();
    }
}

static bool ghost_add(char *at, size_t bytes, struct source *source, size_t from)
{
    const struct sim_range *range = sim_range_find(at, bytes);
    struct sim_ghost *ghost = malloc(sizeof(*ghost));

    if (ghost == NULL) {
        return false;
    }
    source->uses++;
    *ghost = (struct sim_ghost){sim.ghosts, at, bytes, source, from, false, false};
    ghost->is_host = range != NULL && range->gpu == SIM_HOST;
    protect(ghost, PROT_NONE);
    sim.ghosts = ghost;
    return true;
}

static void ghost_free(struct sim_ghost **link)
{
    struct sim_ghost *ghost = *link;

    *link = ghost->next;
    sim.ghost_changes++;
    protect(ghost, PROT_READ | PROT_WRITE);
    source_put(ghost->source);
    free(ghost);
}

static bool meets(const struct sim_ghost *g, const char *at, size_t bytes)
{
    return !g->is_left && g->at < at + bytes && at < g->at + g->bytes;
}

/* Run a kernel that is all there is to know of: one block of its narrow width. */
static void run_alone(const struct sim_kernel *kernel, const void *args)
{
    const struct sim_time time = {.cycles_per_ns = 1};
    struct sim_run *run = sim_run_open(kernel, args, (struct sim_dim){1, 1, 1},
                                       (struct sim_dim){kernel->narrow, 1, 1}, &time);

    if (run == NULL || !sim_run_poll(run, &time)) {
        abort(); /* half a buffer must not pass for a whole one */
    }
    sim_run_close(run);
}

/* Make the first `bytes` bytes of a source. */
static void source_make(const struct source *source, char *at, size_t bytes)
{
    void *args;

    if (source->kernel == NULL) {
        sim_set(at, source->value, source->width, bytes);
        return;
    }
    args = source->kernel->clone(source->args);
    if (args == NULL) {
        abort();
    }
    source->kernel->resize(args, at, bytes, NULL);
    run_alone(source->kernel, args);
    source->kernel->drop(args);
}

/* Memory for `bytes` bytes, aligned to pages. */
static char *scratch_get(size_t bytes)
{
    char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED) {
        abort();
    }
    return at;
}

static void ghost_make(const struct sim_ghost *ghost, char *at)
{
    char *scratch;

    if (ghost->from == 0) {
        source_make(ghost->source, at, ghost->bytes);
        return;
    }
    scratch = scratch_get(ghost->from + ghost->bytes);
    source_make(ghost->source, scratch, ghost->from + ghost->bytes);
    memcpy(at, scratch + ghost->from, ghost->bytes);
    munmap(scratch, ghost->from + ghost->bytes);
}

void sim_ghost_real(const void *at, size_t bytes)
{
    for (struct sim_ghost **link = &sim.ghosts; *link != NULL;) {
        struct sim_ghost *ghost = *link;

        if (meets(ghost, at, bytes)) {
            protect(ghost, PROT_READ | PROT_WRITE);
            ghost_make(ghost, ghost->at);
            ghost_free(link);
        } else {
            link = &ghost->next;
        }
    }
}

/* Only whole pages can be forbidden: what would be cut elsewhere is made. */
static void real_if_cut(const char *at, size_t bytes)
{
    bool is_cut = false;

    for (const struct sim_ghost *g = sim.ghosts; g != NULL; g = g->next) {
        is_cut |= g->is_host && meets(g, at, bytes) && !is_whole_pages(at, bytes);
    }
    if (is_cut) {
        sim_ghost_real(at, bytes);
    }
}

void sim_ghost_forget(const void *begin, size_t bytes)
{
    char *const at = (char *)(uintptr_t)begin, *const end = at + bytes;

    real_if_cut(at, bytes);
    for (struct sim_ghost **link = &sim.ghosts; *link != NULL;) {
        struct sim_ghost *g = *link;
        const size_t g_bytes = g->bytes;

        if (!meets(g, at, bytes)) {
            link = &g->next;
        } else if (g->at + g_bytes > end) { /* its end stays: as one of its own */
            g->bytes = (size_t)(end - g->at);
            protect(g, PROT_READ | PROT_WRITE);
            if (!ghost_add(end, g_bytes - g->bytes, g->source, g->from + g->bytes)) {
                abort();
            }
            link = &sim.ghosts;
        } else if (g->at < at) {
            protect(g, PROT_READ | PROT_WRITE);
            g->bytes = (size_t)(at - g->at);
            protect(g, PROT_NONE);
            link = &g->next;
        } else {
            ghost_free(link);
        }
    }
}

/* The piece that holds `at`, or NULL. */
static struct sim_ghost *ghost_at(const char *at)
{
    struct sim_ghost *g = sim.ghosts;

    while (g != NULL && !meets(g, at, 1)) {
        g = g->next;
    }
    return g;
}

void sim_ghost_leave(const struct sim_range *range)
{
    for (struct sim_ghost **link = &sim.ghosts; *link != NULL;) {
        if (!meets(*link, range->at, range->bytes)) {
            link = &(*link)->next;
        } else if (range->kind == RANGE_REGISTERED) {
            (*link)->is_left = true;
            link = &(*link)->next;
        } else {
            ghost_free(link);
        }
    }
}

/* Whether a byte is forbidden to the program, as a noted one is. */
static bool is_forbidden(const char *at)
{
    int ends[2];
    bool forbidden;

    if (pipe(ends) != 0) {
        abort();
    }
    forbidden = write(ends[1], at, 1) < 0;
    close(ends[0]);
    close(ends[1]);
    return forbidden;
}

void sim_ghost_take(const char *at, size_t bytes)
{
    for (struct sim_ghost **link = &sim.ghosts; *link != NULL;) {
        struct sim_ghost *g = *link;
        const bool was_left = g->is_left;

        g->is_left = false;
        if (!was_left || !meets(g, at, bytes)) {
            g->is_left = was_left;
            link = &g->next;
            continue;
        }
        if (is_forbidden(g->at)) { /* else other memory is there by now */
            protect(g, PROT_READ | PROT_WRITE);
            ghost_make(g, g->at);
        }
        g->is_host = false;
        ghost_free(link);
    }
}

bool sim_ghost_any(const void *at, size_t bytes)
{
    const struct sim_ghost *g = sim.ghosts;

    while (g != NULL && !meets(g, at, bytes)) {
        g = g->next;
    }
    return g != NULL;
}

static bool is_noted(const char *at, size_t bytes)
{
    const struct sim_ghost *g;

    for (const char *const end = at + bytes; at < end; at = g->at + g->bytes) {
        g = ghost_at(at);
        if (g == NULL) {
            return false;
        }
    }
    return true;
}

bool sim_ghost_note(void *at, size_t bytes, const struct sim_op *op)
{
    struct source *source = calloc(1, sizeof(*source));
    bool noted = source != NULL;

    if (!noted) {
        return false;
    }
    *source = (struct source){
        .kernel = op->kernel, .value = op->value, .width = op->width, .bytes = bytes};
    if (op->kernel != NULL) {
        source->args = op->kernel->clone(op->args);
        noted = source->args != NULL;
    }
    if (noted) {
        sim_ghost_forget(at, bytes);
        noted = ghost_add(at, bytes, source, 0);
    }
    if (!noted) {
        free(source->args);
        free(source);
    }
    return noted;
}

bool sim_ghost_copy(void *dst, const void *src, size_t bytes)
{
    const char *at = src, *const end = at + bytes;
    char *to = dst;

    if (!is_noted(src, bytes) || (to < end && at < to + bytes)) {
        return false;
    }
    sim_ghost_forget(dst, bytes);
    while (at < end) {
        const struct sim_ghost *g = ghost_at(at);
        const size_t skip = (size_t)(at - g->at), left = g->bytes - skip;
        const size_t part = left < (size_t)(end - at) ? left : (size_t)(end - at);

        if (!ghost_add(to, part, g->source, g->from + skip)) {
            abort();
        }
        at += part;
        to += part;
    }
    return true;
}

void sim_ghost_write(void *dst, const void *src, size_t bytes)
{
    const struct sim_ghost *g = ghost_at(src);

    if (g != NULL && g->at == src && g->bytes == bytes) {
        ghost_make(g, dst);
        return;
    }
    sim_ghost_real(src, bytes);
    memmove(dst, src, bytes);
}

bool sim_ghost_is_clean(const void *at, size_t bytes, const struct sim_op *op)
{
    const struct sim_ghost *g = ghost_at(at);
    const struct sim_kernel *kernel = op->kernel;
    const size_t sample = bytes < SAMPLE ? bytes : SAMPLE;
    void *args, *result;
    char *scratch;
    bool is_clean;

    if (g == NULL || g->at != at || g->from != 0 || g->bytes < bytes) {
        return false;
    }
    args = kernel->clone(op->args);
    result = calloc(1, kernel->result_bytes);
    if (args == NULL || result == NULL) {
        abort();
    }
    scratch = scratch_get(sample);
    source_make(g->source, scratch, sample);
    kernel->clear(result);
    kernel->resize(args, scratch, sample, result);
    run_alone(kernel, args);
    is_clean = kernel->is_clean(result);
    munmap(scratch, sample);
    free(result);
    kernel->drop(args);
    return is_clean;
}
