/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_CU_COMPAT_H
#define BW_CU_COMPAT_H

#include <cuda.h>

/*
 * What the cuda.h of early 12.x toolkits does not declare yet. The driver may
 * have it all the same: it is looked up by name.
 */

#if CUDA_VERSION < 12000
#error "cuda.h of CUDA 12.0 or newer is needed"
#endif

#if CUDA_VERSION < 12010
#define CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED ((CUdevice_attribute)132)
#define CU_MULTICAST_GRANULARITY_MINIMUM        ((CUmulticastGranularity_flags)0)
#define CU_MULTICAST_GRANULARITY_RECOMMENDED    ((CUmulticastGranularity_flags)1)

typedef unsigned int CUmulticastGranularity_flags;
typedef struct {
    unsigned int numDevices;
    size_t size;
    unsigned long long handleTypes;
    unsigned long long flags;
} CUmulticastObjectProp;

CUresult cuMulticastCreate(CUmemGenericAllocationHandle *handle, const CUmulticastObjectProp *prop);
CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle handle, CUdevice dev);
CUresult cuMulticastBindMem(CUmemGenericAllocationHandle handle, size_t offset,
                            CUmemGenericAllocationHandle memory, size_t memory_offset, size_t bytes,
                            unsigned long long flags);
CUresult cuMulticastUnbind(CUmemGenericAllocationHandle handle, CUdevice dev, size_t offset,
                           size_t bytes);
CUresult cuMulticastGetGranularity(size_t *granularity, const CUmulticastObjectProp *prop,
                                   CUmulticastGranularity_flags option);
#endif

#if CUDA_VERSION < 12030
#define CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED ((CUdevice_attribute)128)
#define CU_MEM_HANDLE_TYPE_FABRIC                        ((CUmemAllocationHandleType)8)
#define CU_IPC_HANDLE_SIZE_FABRIC                        64

typedef struct {
    unsigned char data[CU_IPC_HANDLE_SIZE_FABRIC];
} CUmemFabricHandle;
#endif

#if CUDA_VERSION < 12040
CUresult cuFuncLoad(CUfunction function);
#endif

#endif
