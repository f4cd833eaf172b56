/* SPDX-License-Identifier: Apache-2.0 */
#include "sim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Multicast objects. What is known of one is in a page that all processes with
 * a handle of it map: which GPUs it has, and which memory is bound, found
 * through its owner's descriptors. Its own addresses cannot be touched: only a
 * multimem access knows where to go.
 */

enum { GRANULARITY = 2 << 20, BINDS_MAX = 128, MAPS_MAX = 256 };

struct bind {
    int pid, fd, physical;
    size_t offset, memory_offset, bytes;
};

struct sim_multicast {
    unsigned devices; /* that it is for */
    size_t bytes;
    atomic_uint added_count, bind_count;
    atomic_bool added[SIM_GPUS_MAX]; /* by the number in the description */
    struct bind binds[BINDS_MAX];
};

/* Memory of other processes, mapped when it is first written to. */
static struct {
    int pid, fd;
    char *at;
    size_t bytes;
} maps[MAPS_MAX];
static int map_count;

static CUresult check_prop(const CUmulticastObjectProp *prop)
{
    if (sim.machine.multicast == 0) {
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    return prop->numDevices == 0 || prop->size == 0 || prop->flags != 0 ? CUDA_ERROR_INVALID_VALUE
                                                                        : CUDA_SUCCESS;
}

CUresult CUDAAPI cuMulticastGetGranularity(size_t *bytes, const CUmulticastObjectProp *prop,
                                           CUmulticastGranularity_flags option)
{
    ENTER(cuMulticastGetGranularity, NEED_INIT)
    (void)option;
    *bytes = GRANULARITY;
    return check_prop(prop);
}

struct sim_multicast *sim_multicast_map(int fd)
{
    void *at = mmap(NULL, sizeof(struct sim_multicast), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    return at == MAP_FAILED ? NULL : at;
}

void sim_multicast_unmap(struct sim_multicast *multicast)
{
    if (multicast != NULL) {
        munmap(multicast, sizeof(*multicast));
    }
}

size_t sim_multicast_bytes(const struct sim_multicast *multicast)
{
    return multicast->bytes;
}

CUresult CUDAAPI cuMulticastCreate(CUmemGenericAllocationHandle *handle,
                                   const CUmulticastObjectProp *prop)
{
    ENTER(cuMulticastCreate, NEED_INIT)
    CUresult res = check_prop(prop);
    struct sim_multicast *multicast;
    int fd;

    if (res != CUDA_SUCCESS || prop->size % GRANULARITY != 0) {
        return res != CUDA_SUCCESS ? res : CUDA_ERROR_INVALID_VALUE;
    }
    fd = memfd_create("sim-multicast", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, sizeof(*multicast)) != 0 ||
        (multicast = sim_multicast_map(fd)) == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    multicast->devices = prop->numDevices;
    multicast->bytes = prop->size;
    return sim_memory_add(fd, SIM_HOST, prop->size, prop->handleTypes, multicast, handle);
}

/* NULL if the handle is none of a multicast object. */
static struct sim_multicast *find(CUmemGenericAllocationHandle handle)
{
    const struct sim_memory *memory = sim_memory_find(handle);

    return memory == NULL ? NULL : memory->multicast;
}

CUresult CUDAAPI cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice dev)
{
    ENTER(cuMulticastAddDevice, NEED_INIT)
    struct sim_multicast *multicast = find(handle);
    int physical;

    if (multicast == NULL || dev < 0 || dev >= sim.machine.visible_count) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    physical = sim.machine.gpus[dev].physical;
    if (multicast->added_count == multicast->devices ||
        atomic_exchange(&multicast->added[physical], true)) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    multicast->added_count++;
    return CUDA_SUCCESS;
}

/* Waits until all devices have been added, as the driver does. */
static bool all_are_added(const struct sim_multicast *multicast)
{
    for (int i = 0; i < 100000 && multicast->added_count < multicast->devices; i++) {
        sim_pause();
    }
    return multicast->added_count == multicast->devices;
}

CUresult CUDAAPI cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                                    CUmemGenericAllocationHandle mem, size_t memory_offset,
                                    size_t bytes, unsigned long long flags)
{
    ENTER(cuMulticastBindMem, NEED_INIT)
    struct sim_multicast *multicast = find(handle);
    const struct sim_memory *memory = sim_memory_find(mem);
    struct bind *bind;

    if (multicast == NULL || memory == NULL || memory->multicast != NULL || flags != 0 ||
        (offset | memory_offset | bytes) % GRANULARITY != 0 || bytes == 0 ||
        offset + bytes > multicast->bytes || memory_offset + bytes > memory->bytes ||
        !multicast->added[sim.machine.gpus[memory->gpu].physical]) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (!all_are_added(multicast)) {
        sim_say("cuMulticastBindMem waits for ever: only %u of %u GPUs were added",
                multicast->added_count, multicast->devices);
        return CUDA_ERROR_LAUNCH_TIMEOUT;
    }
    bind = &multicast->binds[atomic_fetch_add(&multicast->bind_count, 1) % BINDS_MAX];
    *bind = (struct bind){(int)getpid(), memory->fd,    sim.machine.gpus[memory->gpu].physical,
                          offset,        memory_offset, bytes};
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset,
                                   size_t bytes)
{
    ENTER(cuMulticastUnbind, NEED_INIT)
    struct sim_multicast *multicast = find(handle);
    CUresult res = CUDA_ERROR_INVALID_VALUE;

    for (unsigned i = 0; multicast != NULL && i < multicast->bind_count && i < BINDS_MAX; i++) {
        struct bind *bind = &multicast->binds[i];

        if (bind->bytes == bytes && bind->offset == offset &&
            bind->physical == sim.machine.gpus[dev].physical) {
            bind->bytes = 0;
            res = CUDA_SUCCESS;
        }
    }
    return res;
}

size_t sim_multicast_members(const struct sim_range *range, int physical[SIM_GPUS_MAX])
{
    const struct sim_multicast *multicast = range->memory->multicast;
    size_t count = 0;

    for (unsigned i = 0; i < multicast->bind_count && i < BINDS_MAX; i++) {
        if (multicast->binds[i].bytes > 0) {
            physical[count++] = multicast->binds[i].physical;
        }
    }
    return count;
}

/* A process's memory, mapped here; NULL if that cannot be. */
static char *map_of(const struct bind *bind)
{
    char path[64];
    void *at;
    off_t bytes;
    int fd;

    for (int i = 0; i < map_count; i++) {
        if (maps[i].pid == bind->pid && maps[i].fd == bind->fd) {
            return maps[i].at;
        }
    }
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", bind->pid, bind->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    bytes = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    at = bytes <= 0 || map_count == MAPS_MAX
             ? MAP_FAILED
             : mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0) {
        close(fd);
    }
    if (at == MAP_FAILED) {
        return NULL;
    }
    maps[map_count].pid = bind->pid;
    maps[map_count].fd = bind->fd;
    maps[map_count].at = at;
    maps[map_count++].bytes = (size_t)bytes;
    return at;
}

/* Where the memory of a multicast range is in this process: kernels touch the same one again. */
static struct {
    const char *from, *to;
    unsigned long changes;
    unsigned count;
    struct {
        size_t first, end; /* offsets in the range */
        char *at;
    } members[BINDS_MAX];
} last;

static void find_members(const struct sim_range *range)
{
    const struct sim_multicast *multicast = range->memory->multicast;

    last.from = range->at;
    last.to = range->at + range->bytes;
    last.changes = sim.range_changes;
    last.count = 0;
    for (unsigned i = 0; i < multicast->bind_count && i < BINDS_MAX; i++) {
        const struct bind *bind = &multicast->binds[i];
        char *memory = bind->bytes > 0 ? map_of(bind) : NULL;

        if (bind->bytes > 0 && memory == NULL) {
            sim_say("memory behind a multicast address cannot be mapped");
            abort();
        }
        if (memory != NULL) {
            last.members[last.count].first = bind->offset;
            last.members[last.count].end = bind->offset + bind->bytes;
            last.members[last.count++].at = memory + bind->memory_offset;
        }
    }
}

/* That place in the memory of the index-th GPU that has any there; NULL after the last. */
static char *member(const char *at, size_t count, unsigned index)
{
    size_t offset;

    if (at < last.from || at + count > last.to || last.changes != sim.range_changes) {
        const struct sim_range *range = sim_range_find(at, count);

        if (range == NULL || range->kind != RANGE_MULTICAST) {
            sim_say("a multimem access to an address that is none of multicast");
            abort();
        }
        find_members(range);
    }
    offset = (size_t)(at - last.from);
    for (unsigned i = 0; i < last.count; i++) {
        if (offset >= last.members[i].first && offset + count <= last.members[i].end &&
            index-- == 0) {
            return last.members[i].at + (offset - last.members[i].first);
        }
    }
    return NULL;
}

void sim_multicast_store(void *at, const void *bytes, size_t count)
{
    char *to;

    for (unsigned i = 0; (to = member(at, count, i)) != NULL; i++) {
        memcpy(to, bytes, count);
    }
}

const void *sim_multicast_member(const void *at, size_t count, unsigned index)
{
    return member(at, count, index);
}
