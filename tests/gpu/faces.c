/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A libcuda.so.1 that shows the first GPU as several (FACES of them), so that
 * what needs more than one GPU can be run on a machine that has one. All faces
 * are one device; in one process they have one context. Each claims its share
 * of the multiprocessors, half of it free for launches that follow early, so
 * that the blocks that wait for each other are all there at once. What is not
 * here is the real driver's, which this library depends on (faces.sh). What
 * lies between faces is the GPU's own memory: no figure from here is worth
 * anything. And multicast is never there.
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#undef cuDeviceGetUuid
#undef cuDeviceTotalMem
#undef cuDevicePrimaryCtxRelease

static int faces(void)
{
    const char *text = getenv("FACES");
    const int n = text != NULL ? atoi(text) : 2;

    return n > 0 ? n : 1;
}

/* `real` is the driver's function of that name. */
#define REAL(name, ...)                    \
    CUresult (*real)(__VA_ARGS__) = NULL;  \
    void *symbol = dlsym(RTLD_NEXT, name); \
                                           \
    memcpy(&real, &symbol, sizeof(real));  \
    if (real == NULL) {                    \
        return CUDA_ERROR_NOT_FOUND;       \
    }

CUresult cuDeviceGetCount(int *count)
{
    REAL("cuDeviceGetCount", int *)
    const CUresult res = real(count);

    if (res == CUDA_SUCCESS && *count > 0) {
        *count = faces();
    }
    return res;
}

/* A face's CUdevice is its number; the real one is the first, 0. */
CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    if (ordinal < 0 || ordinal >= faces()) {
        return CUDA_ERROR_INVALID_DEVICE;
    }
    *device = ordinal;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int room, CUdevice device)
{
    REAL("cuDeviceGetName", char *, int, CUdevice)

    (void)device;
    return real(name, room, 0);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    REAL("cuDeviceGetUuid_v2", CUuuid *, CUdevice)
    const CUresult res = real(uuid, 0);

    uuid->bytes[15] = (char)(uuid->bytes[15] ^ device);
    return res;
}

CUresult cuDeviceGetPCIBusId(char *id, int room, CUdevice device)
{
    REAL("cuDeviceGetPCIBusId", char *, int, CUdevice)

    (void)device;
    return real(id, room, 0);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    REAL("cuDeviceTotalMem_v2", size_t *, CUdevice)

    (void)device;
    return real(bytes, 0);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    REAL("cuDeviceGetAttribute", int *, CUdevice_attribute, CUdevice)
    const CUresult res = real(value, attribute, 0);

    (void)device;
    if (res == CUDA_SUCCESS && attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) {
        *value = *value / (2 * faces()) > 0 ? *value / (2 * faces()) : 1;
    } else if (res == CUDA_SUCCESS && attribute == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) {
        *value = 0;
    }
    return res;
}

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    *can = device != peer;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice device,
                                 CUdevice peer)
{
    (void)device;
    (void)peer;
    *value = attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
    return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    REAL("cuDevicePrimaryCtxRetain", CUcontext *, CUdevice)

    (void)device;
    return real(context, 0);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    REAL("cuDevicePrimaryCtxRelease_v2", CUdevice)

    (void)device;
    return real(0);
}

/* The context is the same, and reaches its own memory. */
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    (void)peer;
    (void)flags;
    return CUDA_SUCCESS;
}

static CUmemAllocationProp of_first(const CUmemAllocationProp *prop)
{
    CUmemAllocationProp p = *prop;

    if (p.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        p.location.id = 0;
    }
    return p;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop,
                                       CUmemAllocationGranularity_flags option)
{
    REAL("cuMemGetAllocationGranularity", size_t *, const CUmemAllocationProp *,
         CUmemAllocationGranularity_flags)
    const CUmemAllocationProp p = of_first(prop);

    return real(bytes, &p, option);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                     const CUmemAllocationProp *prop, unsigned long long flags)
{
    REAL("cuMemCreate", CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
         unsigned long long)
    const CUmemAllocationProp p = of_first(prop);

    return real(handle, bytes, &p, flags);
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access,
                        size_t count)
{
    REAL("cuMemSetAccess", CUdeviceptr, size_t, const CUmemAccessDesc *, size_t)
    CUmemAccessDesc first = access[0];

    (void)count; /* one device: one entry says it for all */
    if (first.location.type == CU_MEM_LOCATION_TYPE_DEVICE) {
        first.location.id = 0;
    }
    return real(address, bytes, &first, 1);
}
