/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/multicast.h"

#include <stdlib.h>
#include <string.h>

bool bw_multicast_is_there(void)
{
    return cu.MulticastCreate != NULL && cu.MulticastAddDevice != NULL &&
           cu.MulticastBindMem != NULL && cu.MulticastUnbind != NULL &&
           cu.MulticastGetGranularity != NULL && bw_share_is_there();
}

bool bw_multicast_is_off(void)
{
    const char *nvls = getenv("NCCL_NVLS_ENABLE");

    return nvls != NULL && strcmp(nvls, "0") == 0;
}

static CUmulticastObjectProp properties(enum bw_share_kind kind, int gpus, size_t bytes)
{
    return (CUmulticastObjectProp){
        .numDevices = (unsigned)gpus,
        .size = bytes,
        .handleTypes = kind == SHARE_FABRIC ? CU_MEM_HANDLE_TYPE_FABRIC
                                            : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    };
}

CUresult bw_multicast_granularity(enum bw_share_kind kind, int gpus, size_t bytes,
                                  size_t *granularity)
{
    const CUmulticastObjectProp prop = properties(kind, gpus, bytes);

    return cu.MulticastGetGranularity(granularity, &prop, CU_MULTICAST_GRANULARITY_MINIMUM);
}

CUresult bw_multicast_create(struct bw_share *share, enum bw_share_kind kind, int gpus,
                             size_t bytes)
{
    const CUmulticastObjectProp prop = properties(kind, gpus, bytes);
    CUresult res = CUDA_SUCCESS;

    *share = (struct bw_share){.kind = kind, .bytes = bytes};
    res = cu.MulticastCreate(&share->handle, &prop);
    share->has_handle = res == CUDA_SUCCESS;
    return res;
}

CUresult bw_multicast_join(const struct bw_share *share, const struct bw_gpu *gpu)
{
    return cu.MulticastAddDevice(share->handle, gpu->dev);
}

CUresult bw_multicast_bind(const struct bw_share *share, const struct bw_share *memory)
{
    return cu.MulticastBindMem(share->handle, 0, memory->handle, 0, memory->bytes, 0);
}

void bw_multicast_unbind(const struct bw_share *share, const struct bw_gpu *gpu)
{
    if (!bw_cu_context_lost()) {
        CU_WARN(cu.MulticastUnbind(share->handle, gpu->dev, 0, share->bytes));
    }
}
