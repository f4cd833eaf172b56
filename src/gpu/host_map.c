/* SPDX-License-Identifier: Apache-2.0 */
#include "host_map.h"

#include "bwtool/host_free.h"
#include "bwtool/log.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { THREADS_MAX = 64, PAGE_BYTES = 4096 };

#define HUGE_BYTES ((size_t)2 << 20)

struct slice {
    pthread_t thread;
    bool is_running;
    char *data;
    size_t bytes;
};

/* The kernel chooses, and clears, a page at its first write. */
static void *touch(void *argument)
{
    const struct slice *slice = argument;

    for (size_t i = 0; i < slice->bytes; i += PAGE_BYTES) {
        ((volatile char *)slice->data)[i] = 0;
    }
    return NULL;
}

/* Whole huge pages for each thread; a thread that cannot be started has its slice touched here. */
static void touch_all(char *data, size_t bytes, unsigned threads)
{
    struct slice slices[THREADS_MAX];
    const size_t pages = (bytes - 1) / HUGE_BYTES + 1;
    const size_t count = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : threads;
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t last = pages / count * (i + 1) + pages % count * (i + 1) / count;
        const size_t end = i + 1 == count ? bytes : last * HUGE_BYTES;

        slices[i].data = data + done;
        slices[i].bytes = end - done;
        done = end;
        slices[i].is_running = i + 1 < count && slices[i].bytes > 0 &&
                               pthread_create(&slices[i].thread, NULL, touch, &slices[i]) == 0;
        if (!slices[i].is_running) {
            touch(&slices[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (slices[i].is_running) {
            pthread_join(slices[i].thread, NULL);
        }
    }
}

enum bw_status bw_host_map_open(struct bw_host_map *map, size_t bytes, unsigned threads)
{
    const size_t align = bytes >= HUGE_BYTES ? HUGE_BYTES : PAGE_BYTES;
    const size_t free_bytes = bw_host_free_bytes("");
    char *at = NULL;

    memset(map, 0, sizeof(*map));
    if (bytes == 0 || bytes > free_bytes || bytes > PTRDIFF_MAX - align) {
        bw_error("%zu bytes of host memory asked for, %zu are free", bytes, free_bytes);
        return BW_ERR_MEMORY;
    }
    map->map_bytes = bytes + align;
    at = mmap(NULL, map->map_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        return bw_errno("%zu bytes of host memory asked for, %zu are free", bytes, free_bytes);
    }
    map->map = at;
    map->data = at + (align - (uintptr_t)at % align) % align;
    map->is_huge = align == HUGE_BYTES &&
                   madvise(map->data, bytes / HUGE_BYTES * HUGE_BYTES, MADV_HUGEPAGE) == 0;
    touch_all(map->data, bytes, threads);
    return BW_OK;
}

void bw_host_map_close(struct bw_host_map *map)
{
    if (map->map != NULL) {
        munmap(map->map, map->map_bytes);
    }
    memset(map, 0, sizeof(*map));
}
