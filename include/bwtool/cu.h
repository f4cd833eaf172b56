/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CU_H
#define BW_CU_H

#include "cu_compat.h"
#include "status.h"

#include <stdbool.h>

/*
 * The driver, reached by dlopen("libcuda.so.1") through one table. Call sites
 * read TRY(CU(cu.MemAlloc(&p, bytes))). Types and symbol versions come from
 * cuda.h: a build is for drivers of its toolkit's major version and up.
 */

/* R: required; O: optional, NULL if the driver lacks it. */
/* clang-format off */
#define CU_API(R, O)                                                                        \
    R(Init) R(DriverGetVersion) R(GetErrorName) R(GetErrorString)                           \
    R(DeviceGetCount) R(DeviceGet) R(DeviceGetName) R(DeviceGetAttribute) R(DeviceTotalMem) \
    R(DeviceGetPCIBusId) R(DeviceGetUuid) R(DeviceCanAccessPeer) R(DeviceGetP2PAttribute)   \
    R(DevicePrimaryCtxRetain) R(DevicePrimaryCtxRelease) R(CtxSetCurrent)                   \
    R(CtxEnablePeerAccess) R(CtxSynchronize)                                                \
    R(MemAlloc) R(MemFree) R(MemGetInfo) R(MemHostAlloc) R(MemFreeHost)                     \
    R(MemHostRegister) R(MemHostUnregister) R(MemHostGetDevicePointer)                      \
    R(MemcpyAsync) R(MemsetD8Async) R(MemsetD32Async)                                       \
    R(StreamCreate) R(StreamDestroy) R(StreamQuery) R(StreamSynchronize) R(StreamWaitEvent) \
    R(EventCreate) R(EventDestroy) R(EventRecord) R(EventQuery) R(EventElapsedTime)         \
    R(LibraryLoadData) R(LibraryUnload) R(LibraryGetKernel) R(KernelGetFunction)            \
    R(FuncGetAttribute) R(LaunchKernel)                                                     \
    O(FuncLoad) O(FuncSetAttribute) O(LaunchKernelEx)                                                    \
    O(MemGetAllocationGranularity) O(MemCreate) O(MemRelease) O(MemAddressReserve)          \
    O(MemAddressFree) O(MemMap) O(MemUnmap) O(MemSetAccess)                                 \
    O(MemExportToShareableHandle) O(MemImportFromShareableHandle)                           \
    O(MulticastCreate) O(MulticastAddDevice) O(MulticastBindMem) O(MulticastUnbind)         \
    O(MulticastGetGranularity) O(PointerGetAttribute)                                       \
    O(StreamBeginCapture) O(StreamEndCapture) O(GraphDestroy)                               \
    O(GraphInstantiate) O(GraphLaunch) O(GraphExecDestroy)
/* clang-format on */

struct cu_api {
    void *lib;
#define FIELD(f) __typeof__(&cu##f) f;
    CU_API(FIELD, FIELD)
#undef FIELD
};

extern struct cu_api cu;

/* Oldest driver version that has all required entry points, as cuDriverGetVersion says it. */
enum { BW_CU_DRIVER_MIN = 12000 };

/*
 * Fill the table. BW_ERR_NO_GPU, logged, if there is no driver or it is too
 * old (the message says which version is needed). Calling it again is harmless.
 */
enum bw_status bw_cu_open(void);
void bw_cu_close(void);

/* "CUDA_ERROR_..." or "error <n>"; valid until the next call from the same thread. */
const char *bw_cu_error_name(CUresult res);

/* True once a call has answered that its context is gone for good. */
bool bw_cu_context_lost(void);

/*
 * From now on all contexts count as lost: a stream has hung, and calls that
 * free or destroy would wait for it.
 */
void bw_cu_give_up(void);

/*
 * Pass `res` on as a status; if it is an error, log it here, once, with the
 * call, the GPU that was last made current (gpu.h) and "[CUDA_ERROR_...]".
 * Out of memory is BW_ERR_MEMORY, a lost context BW_ERR_LOST, all else
 * BW_ERR_CUDA.
 */
enum bw_status bw_cu(CUresult res, const char *what, const char *file, int line);
/* For clean-up: logs as a warning, returns nothing; quiet when the context is lost anyway. */
void bw_cu_warn(CUresult res, const char *what, const char *file, int line);

#define CU(call)      bw_cu((call), #call, __FILE__, __LINE__)
#define CU_WARN(call) bw_cu_warn((call), #call, __FILE__, __LINE__)

#endif
