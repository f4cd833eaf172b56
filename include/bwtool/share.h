/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SHARE_H
#define BW_SHARE_H

#include "gpu.h"
#include "status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * GPU memory that other processes map: created, exported, imported and mapped
 * in separate steps, each of which can fail by itself. How a handle gets to
 * the other process is the caller's business.
 */

enum bw_share_kind {
    SHARE_NONE,
    SHARE_FABRIC, /* a fabric handle: any process of the same NVLink clique, by IMEX */
    SHARE_FD,     /* a POSIX file descriptor: processes of one host                  */
};

/* One allocation, or a multicast object, as this process sees it. Zeroed is closed. */
struct bw_share {
    enum bw_share_kind kind;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr ptr;   /* where it is mapped */
    CUdeviceptr place; /* where it shall be, set before the rest: addresses that the caller has
                          reserved; 0: anywhere */
    size_t bytes;      /* a multiple of the granularity */
    size_t reserved_bytes;
    bool has_handle, is_mapped;
};

/* A fabric handle's bytes, to be sent as they are. */
struct bw_share_token {
    unsigned char data[64];
};

/* "fabric handle", "POSIX file descriptor", "none". */
const char *bw_share_name(enum bw_share_kind kind);

/* True if the driver has the entry points that this needs. */
bool bw_share_is_there(void);

/* What cuMemCreate answers to that kind of handle here; what it made is released again. */
CUresult bw_share_probe(const struct bw_gpu *gpu, enum bw_share_kind kind);

/* Sizes are multiples of this. */
enum bw_status bw_share_granularity(const struct bw_gpu *gpu, enum bw_share_kind kind,
                                    size_t *bytes);

/* Addresses to be places for shares, which come and go before they are given back. */
enum bw_status bw_share_reserve(CUdeviceptr *ptr, size_t bytes);
void bw_share_give_back(CUdeviceptr ptr, size_t bytes);

/* Memory of `gpu` itself, mapped. On failure, too: close it. */
enum bw_status bw_share_create(struct bw_share *share, const struct bw_gpu *gpu,
                               enum bw_share_kind kind, size_t bytes);

/* `fd` (the caller's to close) or `token`, as the kind has it. */
enum bw_status bw_share_export(const struct bw_share *share, int *fd, struct bw_share_token *token);

/* Another process's memory, not mapped yet. The descriptor can be closed afterwards. */
enum bw_status bw_share_import(struct bw_share *share, enum bw_share_kind kind, int fd,
                               const struct bw_share_token *token, size_t bytes);

/*
 * Map it for `gpu`. BW_WAIVED, not logged, with the driver's answer in `*why`,
 * if the GPU cannot reach that memory.
 */
enum bw_status bw_share_map(struct bw_share *share, const struct bw_gpu *gpu, CUresult *why);

/* Let another GPU of this process reach what is mapped; that it cannot is as with bw_share_map().
 */
enum bw_status bw_share_grant(const struct bw_share *share, const struct bw_gpu *gpu,
                              CUresult *why);
/* The same where it must be able to. */
enum bw_status bw_share_allow(const struct bw_share *share, const struct bw_gpu *gpu);

/* In the reverse order; nobody may use it any more. */
void bw_share_close(struct bw_share *share);

#endif
