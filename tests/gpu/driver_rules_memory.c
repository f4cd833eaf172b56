/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rules.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* Whose memory is whose: addresses, peers, and sharing by descriptor. */

static void one_address(struct world *w, struct answer *a)
{
    void *memory = aligned_alloc(4096, MIB);
    CUdeviceptr at = 0;

    GOOD(cu.MemHostGetDevicePointer(&at, w->page, 0));
    rules_must(a, at == (CUdeviceptr)(uintptr_t)w->page, "cuMemHostAlloc: another address");
    GOOD(cu.MemHostRegister(memory, MIB, CU_MEMHOSTREGISTER_PORTABLE));
    GOOD(cu.MemHostGetDevicePointer(&at, memory, 0));
    rules_must(a, at == (CUdeviceptr)(uintptr_t)memory, "cuMemHostRegister: another address");
    GOOD(cu.MemHostUnregister(memory));
    free(memory);
}

static void portable(struct world *w, struct answer *a)
{
    const CUdeviceptr page = (CUdeviceptr)(uintptr_t)w->page + 8 * KIB;
    uint64_t first;

    rules_use(w, 1);
    rules_must(a, rules_fill(w, 1, page, KIB, 3), "fill");
    rules_must(a, rules_wrong(w, 1, page, KIB, 3, &first) == 0, "wrong bytes");
}

static void plain_memory(struct world *w, struct answer *a)
{
    unsigned char *memory = malloc(MIB);
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;

    memset(memory, 5, MIB);
    GOOD(cu.MemcpyAsync(w->memory[0], at, MIB, w->other[0]));
    GOOD(cu.StreamSynchronize(w->other[0]));
    memset(memory, 0, MIB);
    GOOD(cu.MemcpyAsync(at, w->memory[0], MIB, w->other[0]));
    GOOD(cu.StreamSynchronize(w->other[0]));
    rules_must(a, memory[0] == 5 && memory[MIB - 1] == 5, "%u came back", memory[0]);
    free(memory);
}

static void used_memory(struct world *w, struct answer *a)
{
    size_t before = 0, within = 0, after = 0, total = 0;
    CUdeviceptr at;

    (void)w;
    GOOD(cu.MemGetInfo(&before, &total));
    GOOD(cu.MemAlloc(&at, 64 * MIB));
    GOOD(cu.MemGetInfo(&within, &total));
    GOOD(cu.MemFree(at));
    GOOD(cu.MemGetInfo(&after, &total));
    rules_must(a, within + 64 * MIB <= before && after >= within + 64 * MIB, "free: %zu, %zu, %zu",
               before, within, after);
}

static void copies_without_access(struct world *w, struct answer *a)
{
    uint64_t first;

    rules_must(a, rules_fill(w, 0, w->memory[0], MIB, 7), "fill");
    GOOD(cu.MemcpyAsync(w->memory[1], w->memory[0], MIB, w->other[0]));
    GOOD(cu.StreamSynchronize(w->other[0]));
    rules_use(w, 1);
    rules_must(a, rules_wrong(w, 1, w->memory[1], MIB, 7, &first) == 0, "wrong bytes");
}

static void peer_access(struct world *w, struct answer *a)
{
    int can = 0, attribute = 0;
    uint64_t first;

    GOOD(cu.DeviceCanAccessPeer(&can, w->dev[0], w->dev[1]));
    GOOD(cu.DeviceGetP2PAttribute(&attribute, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, w->dev[0],
                                  w->dev[1]));
    rules_must(a, can == attribute, "cuDeviceCanAccessPeer %d, the attribute %d", can, attribute);
    WANT(cu.CtxDisablePeerAccess(w->ctx[1]), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
    GOOD(cu.CtxEnablePeerAccess(w->ctx[1], 0));
    WANT(cu.CtxEnablePeerAccess(w->ctx[1], 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
    rules_must(a, rules_fill(w, 0, w->memory[1], MIB, 9), "fill");
    rules_must(a, rules_wrong(w, 0, w->memory[1], MIB, 9, &first) == 0, "wrong bytes");
    GOOD(cu.CtxDisablePeerAccess(w->ctx[1]));
}

static void itself_as_peer(struct world *w, struct answer *a)
{
    int can = 1;

    GOOD(cu.DeviceCanAccessPeer(&can, w->dev[0], w->dev[0]));
    rules_must(a, can == 0, "cuDeviceCanAccessPeer says %d", can);
    WANT(cu.CtxEnablePeerAccess(w->ctx[0], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

static void refused_peer(struct world *w, struct answer *a)
{
    if (w->peers) {
        rules_skip(a, "the two GPUs are peers");
        return;
    }
    WANT(cu.CtxEnablePeerAccess(w->ctx[1], 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}

/* --- memory that is created, mapped and shared ----------------------------- */

enum { SHARED_BYTES = 2 * MIB };

static CUmemAllocationProp prop_of(CUdevice dev, CUmemAllocationHandleType type)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = type,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = dev},
    };
}

static CUdeviceptr map(struct answer *a, CUmemGenericAllocationHandle handle, const CUdevice *devs,
                       size_t count)
{
    CUmemAccessDesc access[GPUS] = {{{0}, 0}};
    CUdeviceptr at = 0;

    for (size_t i = 0; i < count; i++) {
        access[i].location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = devs[i]};
        access[i].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    GOOD(cu.MemAddressReserve(&at, SHARED_BYTES, 0, 0, 0));
    GOOD(cu.MemMap(at, SHARED_BYTES, 0, handle, 0));
    GOOD(cu.MemSetAccess(at, SHARED_BYTES, access, count));
    return at;
}

static void unmap(struct answer *a, CUdeviceptr at)
{
    GOOD(cu.MemUnmap(at, SHARED_BYTES));
    GOOD(cu.MemAddressFree(at, SHARED_BYTES));
}

static void import_here(struct world *w, struct answer *a)
{
    const CUmemAllocationProp prop = prop_of(w->dev[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemGenericAllocationHandle handle = 0, imported = 0;
    CUdeviceptr one, two;
    uint64_t first;
    int fd = -1;

    GOOD(cu.MemCreate(&handle, SHARED_BYTES, &prop, 0));
    GOOD(cu.MemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    GOOD(cu.MemImportFromShareableHandle(&imported, (void *)(intptr_t)fd,
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    if (a->verdict != RULE_OK) {
        return;
    }
    one = map(a, handle, w->dev, 1);
    two = map(a, imported, w->dev, 1);
    rules_must(a, rules_fill(w, 0, one, SHARED_BYTES, 11), "fill");
    rules_must(a, rules_wrong(w, 0, two, SHARED_BYTES, 11, &first) == 0,
               "what was written at one address is not at the other");
    unmap(a, one);
    GOOD(cu.MemRelease(handle));
    rules_must(a, rules_wrong(w, 0, two, SHARED_BYTES, 11, &first) == 0,
               "gone with its first handle");
    unmap(a, two);
    GOOD(cu.MemRelease(imported));
}

/* In the other process: fill what comes as a descriptor. Its number is in the environment. */
static void fill_import(struct world *unused, struct answer *a)
{
    const char *fd = getenv("DRIVER_RULES_FD");
    struct world w = {0};
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr at;

    (void)unused;
    if (fd == NULL) {
        rules_skip(a, "a part of the rule before it");
        return;
    }
    if (!rules_must(a, rules_open(&w), "cannot open")) {
        return;
    }
    GOOD(cu.MemImportFromShareableHandle(&handle, (void *)(intptr_t)atoi(fd),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    if (a->verdict == RULE_OK) {
        at = map(a, handle, w.dev, 1);
        rules_must(a, rules_fill(&w, 0, at, SHARED_BYTES, 13), "fill");
        unmap(a, at);
        GOOD(cu.MemRelease(handle));
    }
}

static const char fill_import_name[] = "share: the other process's part";

/* Have another process fill it; its verdict's number. */
static int send_away(int fd)
{
    char number[16];
    int ends[2];
    char line[256] = "";
    pid_t child;

    snprintf(number, sizeof(number), "%d", fd);
    if (fcntl(fd, F_SETFD, 0) != 0 || pipe(ends) != 0 || (child = fork()) < 0) {
        return -1;
    }
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        setenv("DRIVER_RULES_FD", number, 1);
        execl("/proc/self/exe", "driver_rules", "--alone", fill_import_name, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    if (read(ends[0], line, sizeof(line) - 1) <= 0) {
        line[0] = '\0';
    }
    close(ends[0]);
    waitpid(child, NULL, 0);
    return line[0] - '0';
}

static void other_process(struct world *w, struct answer *a)
{
    const CUmemAllocationProp prop = prop_of(w->dev[0], CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr at;
    uint64_t first;
    int fd = -1, verdict;

    GOOD(cu.MemCreate(&handle, SHARED_BYTES, &prop, 0));
    GOOD(cu.MemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    if (a->verdict != RULE_OK) {
        return;
    }
    at = map(a, handle, w->dev, 1);
    verdict = send_away(fd);
    rules_must(a, verdict == RULE_OK, "the other process's verdict is %d", verdict);
    rules_must(a, rules_wrong(w, 0, at, SHARED_BYTES, 13, &first) == 0, "its bytes are not here");
    close(fd);
    unmap(a, at);
    GOOD(cu.MemRelease(handle));
}

static void mapped_by_peer(struct world *w, struct answer *a)
{
    const CUmemAllocationProp prop = prop_of(w->dev[1], CU_MEM_HANDLE_TYPE_NONE);
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr at;
    uint64_t first;

    GOOD(cu.MemCreate(&handle, SHARED_BYTES, &prop, 0));
    if (a->verdict != RULE_OK) {
        return;
    }
    at = map(a, handle, w->dev, 2); /* no cuCtxEnablePeerAccess */
    rules_must(a, rules_fill(w, 0, at, SHARED_BYTES, 15), "fill");
    rules_use(w, 1);
    rules_must(a, rules_wrong(w, 1, at, SHARED_BYTES, 15, &first) == 0, "wrong bytes");
    unmap(a, at);
    GOOD(cu.MemRelease(handle));
}

static void bad_creations(struct world *w, struct answer *a)
{
    const CUmemAllocationProp prop = prop_of(w->dev[0], CU_MEM_HANDLE_TYPE_NONE);
    CUmemGenericAllocationHandle handle;
    size_t bytes = 0;
    int fd;

    GOOD(cu.MemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    rules_must(a, bytes == 2 * MIB, "granularity %zu", bytes);
    WANT(cu.MemCreate(&handle, bytes + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    GOOD(cu.MemCreate(&handle, bytes, &prop, 0));
    WANT(cu.MemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
         CUDA_ERROR_INVALID_VALUE);
    GOOD(cu.MemRelease(handle));
    WANT(cu.MemRelease(0), CUDA_ERROR_INVALID_VALUE);
}

static void fabric(struct world *w, struct answer *a)
{
    const CUmemAllocationProp prop = prop_of(w->dev[0], CU_MEM_HANDLE_TYPE_FABRIC);
    CUmemGenericAllocationHandle handle;
    int supported = 0;

    GOOD(cu.DeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED,
                               w->dev[0]));
    if (!supported || access("/dev/nvidia-caps-imex-channels/channel0", F_OK) == 0) {
        rules_skip(a, "no fabric, or a channel for it");
        return;
    }
    WANT(cu.MemCreate(&handle, SHARED_BYTES, &prop, 0), CUDA_ERROR_NOT_PERMITTED);
}

const struct rule rules_memory[] = {
    {"memory: a pinned page has the same address for host and GPU", one_address, 0, NULL},
    {"memory: portable pages are every GPU's", portable, NEEDS_TWO, NULL},
    {"memory: ordinary memory can be copied from and to", plain_memory, 0, NULL},
    {"memory: cuMemGetInfo counts", used_memory, 0, NULL},
    {"peer: copies without access are staged", copies_without_access, NEEDS_TWO, NULL},
    {"peer: enabled once, and its memory is in reach", peer_access, NEEDS_PEERS, NULL},
    {"peer: a GPU is not its own", itself_as_peer, 0, NULL},
    {"peer: refused", refused_peer, NEEDS_TWO, NULL},
    {"share: by descriptor within a process", import_here, 0, NULL},
    {"share: by descriptor with another process", other_process, 0, NULL},
    {fill_import_name, fill_import, ALONE, NULL},
    {"share: mapped memory needs no cuCtxEnablePeerAccess", mapped_by_peer, NEEDS_PEERS, NULL},
    {"share: bad creations", bad_creations, 0, NULL},
    {"share: a fabric handle needs a channel", fabric, 0, NULL},
    {NULL, NULL, 0, NULL},
};
