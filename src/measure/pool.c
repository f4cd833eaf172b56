/* SPDX-License-Identifier: Apache-2.0 */
#include "pool.h"

#include "bwtool/host_free.h"
#include "bwtool/log.h"
#include "bwtool/phase.h"

#include <stdlib.h>
#include <string.h>

/* Threads that touch new host memory first: more than a few do not go faster. */
enum { TOUCH_THREADS_MAX = 8 };

struct shelf {
    struct bw_buffer *slots;
    unsigned count, taken; /* taken: by the launch under way, from the first on */
};

struct bw_pool {
    struct bw_session *session; /* borrowed */
    struct shelf *shelves;      /* GPU g's memory at 2 g, host memory near it at 2 g + 1 */
    unsigned shelf_count;
    struct bw_pool_use use;
};

enum bw_status bw_pool_build(struct bw_pool **pool, struct bw_session *session)
{
    struct bw_pool *p = calloc(1, sizeof(*p));

    if (p != NULL) {
        p->session = session;
        p->shelf_count = 2 * (unsigned)session->gpus.count;
        p->shelves = calloc(p->shelf_count + 1, sizeof(*p->shelves));
    }
    if (p == NULL || p->shelves == NULL) {
        free(p);
        return bw_errno("no memory for the buffer pool");
    }
    *pool = p;
    return BW_OK;
}

static void close_buffer(struct bw_pool *pool, struct bw_buffer *buffer)
{
    if (buffer->ptr != 0) {
        *(buffer->is_host ? &pool->use.host_bytes : &pool->use.device_bytes) -= buffer->bytes;
    }
    bw_buffer_close(buffer, &pool->session->gpus);
}

void bw_pool_free(struct bw_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    for (unsigned i = 0; i < pool->shelf_count; i++) {
        for (unsigned k = 0; k < pool->shelves[i].count; k++) {
            close_buffer(pool, &pool->shelves[i].slots[k]);
        }
        free(pool->shelves[i].slots);
    }
    free(pool->shelves);
    free(pool);
}

void bw_pool_begin(struct bw_pool *pool)
{
    for (unsigned i = 0; i < pool->shelf_count; i++) {
        pool->shelves[i].taken = 0;
    }
}

/* Give back the device or host memory that the launch under way has not taken. */
static void trim(struct bw_pool *pool, bool is_host)
{
    for (unsigned i = is_host; i < pool->shelf_count; i += 2) {
        struct shelf *shelf = &pool->shelves[i];

        while (shelf->count > shelf->taken) {
            close_buffer(pool, &shelf->slots[--shelf->count]);
        }
    }
}

/* True if that much device memory is surely not to be had without giving back. */
static bool is_short(size_t bytes)
{
    size_t available = 0;
    size_t total = 0;

    return cu.MemGetInfo(&available, &total) == CUDA_SUCCESS && available < bytes;
}

static enum bw_status open_host(struct bw_pool *pool, struct bw_buffer *buffer, int gpu,
                                size_t bytes)
{
    const struct bw_session *session = pool->session;
    const int node = session->gpu_node[gpu];
    int threads = bw_topology_node_cpus(session->topology, node < 0 ? 0 : node);
    enum bw_status st = BW_OK;

    threads = threads > TOUCH_THREADS_MAX ? TOUCH_THREADS_MAX : threads;
    if (bw_host_free_bytes("") < bytes) {
        trim(pool, true);
        TRY(bw_gpu_use(&session->gpus.gpus[gpu])); /* buffers are closed in their own contexts */
    }
    st = bw_buffer_open_host(buffer, &session->gpus.gpus[gpu], bytes,
                             threads < 1 ? 1 : (unsigned)threads);
out:
    return st;
}

static enum bw_status open_buffer(struct bw_pool *pool, struct bw_buffer *buffer, bool is_host,
                                  int gpu, size_t bytes)
{
    enum bw_status st = BW_OK;

    if (is_host) {
        TRY(open_host(pool, buffer, gpu, bytes));
        if (pool->session->wants_huge_pages && !buffer->is_huge) {
            bw_warn("-H: %zu bytes of host memory near GPU %d are not in huge pages", bytes, gpu);
        }
        pool->use.host_bytes += bytes;
        pool->use.host_bytes_max = pool->use.host_bytes > pool->use.host_bytes_max
                                       ? pool->use.host_bytes
                                       : pool->use.host_bytes_max;
    } else {
        if (is_short(bytes)) {
            trim(pool, false);
        }
        TRY(pool->session->wants_created
                ? bw_buffer_open_created(buffer, &pool->session->gpus, gpu, bytes)
                : bw_buffer_open_device(buffer, &pool->session->gpus.gpus[gpu], bytes));
        pool->use.device_bytes += buffer->bytes;
    }
    pool->use.allocations++;
    bw_verbose("allocated %.1f MiB of %s memory %s GPU %d in %.1f ms%s",
               (double)bytes / (1024 * 1024), is_host ? "page-locked host" : "device",
               is_host ? "near" : "of", gpu, buffer->open_ms,
               buffer->is_huge ? " (huge pages)" : "");
out:
    return st;
}

static enum bw_status grow(struct shelf *shelf)
{
    struct bw_buffer *slots = realloc(shelf->slots, (shelf->count + 1) * sizeof(*slots));

    if (slots == NULL) {
        return bw_errno("no memory for a list of buffers");
    }
    shelf->slots = slots;
    memset(&slots[shelf->count++], 0, sizeof(*slots));
    return BW_OK;
}

enum bw_status bw_pool_take(struct bw_pool *pool, bool is_host, int gpu, size_t bytes,
                            CUdeviceptr *ptr)
{
    const enum bw_phase before = bw_phase_enter(PHASE_BUFFERS);
    struct shelf *shelf = &pool->shelves[2 * gpu + is_host];
    struct bw_buffer *buffer = NULL;
    enum bw_status st = BW_OK;

    if (shelf->taken == shelf->count) {
        TRY(grow(shelf));
    }
    shelf->taken++; /* first: it must not be trimmed away below */
    buffer = &shelf->slots[shelf->taken - 1];
    if (buffer->ptr != 0 && buffer->bytes < bytes) {
        close_buffer(pool, buffer);
    }
    if (buffer->ptr == 0) {
        TRY(open_buffer(pool, buffer, is_host, gpu, bytes));
    }
    *ptr = buffer->ptr;
out:
    (void)bw_phase_enter(before);
    return st;
}

struct bw_pool_use bw_pool_use(const struct bw_pool *pool)
{
    return pool->use;
}
