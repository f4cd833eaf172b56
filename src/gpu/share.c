/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/share.h"

#include "bwtool/log.h"

#include <stdint.h>
#include <string.h>

const char *bw_share_name(enum bw_share_kind kind)
{
    switch (kind) {
    case SHARE_FABRIC:
        return "fabric handle";
    case SHARE_FD:
        return "POSIX file descriptor";
    case SHARE_NONE:
        return "none";
    }
    return "?";
}

bool bw_share_is_there(void)
{
    return cu.MemGetAllocationGranularity != NULL && cu.MemCreate != NULL &&
           cu.MemRelease != NULL && cu.MemAddressReserve != NULL && cu.MemAddressFree != NULL &&
           cu.MemMap != NULL && cu.MemUnmap != NULL && cu.MemSetAccess != NULL &&
           cu.MemExportToShareableHandle != NULL && cu.MemImportFromShareableHandle != NULL;
}

static CUmemAllocationHandleType type_of(enum bw_share_kind kind)
{
    return kind == SHARE_FABRIC ? CU_MEM_HANDLE_TYPE_FABRIC
                                : CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
}

static CUmemAllocationProp properties(const struct bw_gpu *gpu, enum bw_share_kind kind)
{
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = type_of(kind),
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->dev},
    };
}

CUresult bw_share_probe(const struct bw_gpu *gpu, enum bw_share_kind kind)
{
    const CUmemAllocationProp prop = properties(gpu, kind);
    CUmemGenericAllocationHandle handle = 0;
    size_t unit = 0;
    CUresult res = CUDA_ERROR_NOT_SUPPORTED;

    if (bw_share_is_there()) {
        res = cu.MemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    }
    if (res == CUDA_SUCCESS) {
        res = cu.MemCreate(&handle, unit, &prop, 0);
    }
    if (res == CUDA_SUCCESS) {
        CU_WARN(cu.MemRelease(handle));
    }
    return res;
}

enum bw_status bw_share_granularity(const struct bw_gpu *gpu, enum bw_share_kind kind,
                                    size_t *bytes)
{
    const CUmemAllocationProp prop = properties(gpu, kind);

    return CU(cu.MemGetAllocationGranularity(bytes, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
}

enum bw_status bw_share_reserve(CUdeviceptr *ptr, size_t bytes)
{
    return CU(cu.MemAddressReserve(ptr, bytes, 0, 0, 0));
}

void bw_share_give_back(CUdeviceptr ptr, size_t bytes)
{
    if (ptr != 0 && !bw_cu_context_lost()) {
        CU_WARN(cu.MemAddressFree(ptr, bytes));
    }
}

enum bw_status bw_share_create(struct bw_share *share, const struct bw_gpu *gpu,
                               enum bw_share_kind kind, size_t bytes)
{
    const CUmemAllocationProp prop = properties(gpu, kind);
    CUresult why = CUDA_SUCCESS;
    enum bw_status st = BW_OK;

    *share = (struct bw_share){.kind = kind, .bytes = bytes, .place = share->place};
    TRY(bw_gpu_use(gpu));
    TRY(CU(cu.MemCreate(&share->handle, bytes, &prop, 0)));
    share->has_handle = true;
    st = bw_share_map(share, gpu, &why);
    if (st == BW_WAIVED) {
        st = bw_cu(why, "cuMemSetAccess to a GPU's own memory", __FILE__, __LINE__);
    }
out:
    return st;
}

enum bw_status bw_share_export(const struct bw_share *share, int *fd, struct bw_share_token *token)
{
    void *out = share->kind == SHARE_FABRIC ? (void *)token->data : (void *)fd;

    return CU(cu.MemExportToShareableHandle(out, share->handle, type_of(share->kind), 0));
}

enum bw_status bw_share_import(struct bw_share *share, enum bw_share_kind kind, int fd,
                               const struct bw_share_token *token, size_t bytes)
{
    struct bw_share_token copy = *token; /* the driver's parameter is not const */
    void *in = kind == SHARE_FABRIC ? (void *)copy.data : (void *)(intptr_t)fd;
    enum bw_status st = BW_OK;

    *share = (struct bw_share){.kind = kind, .bytes = bytes, .place = share->place};
    TRY(CU(cu.MemImportFromShareableHandle(&share->handle, in, type_of(kind))));
    share->has_handle = true;
out:
    return st;
}

enum bw_status bw_share_grant(const struct bw_share *share, const struct bw_gpu *gpu, CUresult *why)
{
    const CUmemAccessDesc access = {
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = gpu->dev},
        .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };

    *why = cu.MemSetAccess(share->ptr, share->bytes, &access, 1);
    if (*why == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED || *why == CUDA_ERROR_NOT_SUPPORTED ||
        *why == CUDA_ERROR_INVALID_DEVICE || *why == CUDA_ERROR_NOT_PERMITTED) {
        return BW_WAIVED;
    }
    return bw_cu(*why, "cuMemSetAccess", __FILE__, __LINE__);
}

enum bw_status bw_share_map(struct bw_share *share, const struct bw_gpu *gpu, CUresult *why)
{
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(gpu));
    share->ptr = share->place;
    if (share->place == 0) {
        TRY(CU(cu.MemAddressReserve(&share->ptr, share->bytes, 0, 0, 0)));
        share->reserved_bytes = share->bytes;
    }
    TRY(CU(cu.MemMap(share->ptr, share->bytes, 0, share->handle, 0)));
    share->is_mapped = true;
    st = bw_share_grant(share, gpu, why);
out:
    return st;
}

enum bw_status bw_share_allow(const struct bw_share *share, const struct bw_gpu *gpu)
{
    CUresult why = CUDA_SUCCESS;
    const enum bw_status st = bw_share_grant(share, gpu, &why);

    return st == BW_WAIVED ? bw_cu(why, "cuMemSetAccess", __FILE__, __LINE__) : st;
}

void bw_share_close(struct bw_share *share)
{
    if (!bw_cu_context_lost()) {
        if (share->is_mapped) {
            CU_WARN(cu.MemUnmap(share->ptr, share->bytes));
        }
        if (share->reserved_bytes != 0) {
            CU_WARN(cu.MemAddressFree(share->ptr, share->reserved_bytes));
        }
        if (share->has_handle) {
            CU_WARN(cu.MemRelease(share->handle));
        }
    }
    memset(share, 0, sizeof(*share));
}
