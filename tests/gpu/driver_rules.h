/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVER_RULES_H
#define DRIVER_RULES_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What bwtool and its simulator assume of the driver, a rule each: one program
 * that runs unchanged on both. A rule says ok, differs (and how) or skip (and
 * why); nothing here decides who is right.
 */

/* clang-format off */
#define RULES_API(F)                                                                        \
    F(Init) F(DriverGetVersion) F(GetErrorName) F(DeviceGetCount) F(DeviceGet)              \
    F(DeviceGetName) F(DeviceGetUuid) F(DeviceGetAttribute) F(DeviceTotalMem)               \
    F(DeviceGetPCIBusId) F(DeviceCanAccessPeer) F(DeviceGetP2PAttribute)                    \
    F(DevicePrimaryCtxRetain) F(DevicePrimaryCtxRelease) F(CtxSetCurrent) F(CtxSynchronize) \
    F(CtxEnablePeerAccess) F(CtxDisablePeerAccess) F(MemAlloc) F(MemFree) F(MemGetInfo)     \
    F(MemHostAlloc) F(MemFreeHost) F(MemHostRegister) F(MemHostUnregister)                  \
    F(MemHostGetDevicePointer) F(MemcpyAsync) F(MemcpyHtoD) F(MemcpyDtoH) F(MemsetD8Async)  \
    F(MemsetD32Async) F(MemsetD32) F(StreamCreate) F(StreamDestroy) F(StreamQuery)          \
    F(StreamSynchronize) F(StreamWaitEvent) F(StreamWaitValue32) F(StreamWriteValue32)      \
    F(EventCreate) F(EventDestroy) F(EventRecord) F(EventQuery) F(EventSynchronize)         \
    F(EventElapsedTime) F(LibraryLoadData) F(LibraryUnload) F(LibraryGetKernel)             \
    F(KernelGetFunction) F(LaunchKernel) F(MemGetAllocationGranularity) F(MemCreate)        \
    F(MemRelease) F(MemAddressReserve) F(MemAddressFree) F(MemMap) F(MemUnmap)              \
    F(MemSetAccess) F(MemExportToShareableHandle) F(MemImportFromShareableHandle)
/* clang-format on */

struct rules_api {
#define FIELD(f) __typeof__(&cu##f) f;
    RULES_API(FIELD)
#undef FIELD
};
extern struct rules_api cu;

extern const unsigned char bw_kernels_image[];

enum verdict { RULE_OK, RULE_DIFFERS, RULE_SKIPPED };
struct answer {
    enum verdict verdict;
    char note[200];
};

enum { KIB = 1 << 10, MIB = 1 << 20, GPUS = 2, STALL_MS = 300 };
enum kernel { HOLD, FILL, POISON, CHECK, COPY, CORRUPT, KERNELS };

/* What most rules need: up to two GPUs, ready. */
struct world {
    int gpus; /* at most GPUS */
    CUdevice dev[GPUS];
    CUcontext ctx[GPUS];
    CUstream stream[GPUS], other[GPUS]; /* non-blocking */
    CUlibrary library;
    CUfunction f[GPUS][KERNELS];
    CUdeviceptr memory[GPUS]; /* 4 MiB */
    uint32_t *page;           /* pinned: [0] the gate's flag, from 16 the report; KIB ... free */
    uint32_t epoch;
    bool peers;
};

enum { NEEDS_TWO = 1, NEEDS_PEERS = 2, ALONE = 4 /* in a process of its own; no world */ };

struct rule {
    const char *name;
    void (*run)(struct world *w, struct answer *a);
    unsigned needs;
    const char *visible; /* ALONE: CUDA_VISIBLE_DEVICES, if not NULL */
};

/* Each part's rules, ended by one without a name. */
extern const struct rule rules_held[], rules_order[], rules_errors[], rules_memory[],
    rules_devices[], rules_kernels[];

/* driver_rules_world.c */
bool rules_load(void);
/* False after a line on stderr. */
bool rules_open(struct world *w);
void rules_close(struct world *w);
bool rules_use(struct world *w, int gpu);
const char *rules_error(CUresult res);
/* Notes that it differs, unless it does so already. Returns whether all is well. */
bool rules_must(struct answer *a, bool holds, const char *form, ...)
    __attribute__((format(printf, 3, 4)));
bool rules_want(struct answer *a, const char *what, CUresult got, CUresult wanted);
void rules_skip(struct answer *a, const char *why);
double rules_ms(void); /* a clock */
void rules_sleep_ms(unsigned ms);

/* Hold a stream until rules_let_go(), or as long as `timeout_ms`. */
bool rules_hold(struct world *w, int gpu, CUstream stream, unsigned timeout_ms);
void rules_let_go(struct world *w);
enum { HOLD_WAITING = 1, HOLD_OPENED = 2, HOLD_TIMED_OUT = 3 };
uint32_t rules_hold_state(const struct world *w);
bool rules_launch(struct world *w, int gpu, enum kernel kernel, unsigned grid, unsigned block,
                  CUstream stream, void **args);
bool rules_fill(struct world *w, int gpu, CUdeviceptr at, uint64_t bytes, uint32_t seed);
/* Bytes that are not those of the pattern; ~0 if that cannot be told. */
uint64_t rules_wrong(struct world *w, int gpu, CUdeviceptr at, uint64_t bytes, uint32_t seed,
                     uint64_t *first);

#define WANT(call, wanted) rules_want(a, #call, call, wanted)
#define GOOD(call)         rules_want(a, #call, call, CUDA_SUCCESS)

#endif
