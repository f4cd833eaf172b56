/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_NCCL_H
#define BW_NCCL_H

#include "cu_compat.h"
#include "status.h"

#include <stddef.h>

/*
 * NCCL, reached by dlopen("libnccl.so.2"), optional. The declarations are our
 * own, so that building needs no nccl.h; NCCL keeps its interface. Only the
 * process that measures the baseline loads it: it takes the GPUs of the
 * process over.
 */

struct bw_nccl_comm;   /* ncclComm_t points to one */
struct bw_nccl_window; /* likewise ncclWindow_t */

/* ncclDataType_t, ncclRedOp_t and flags, as far as they are used. */
enum bw_nccl_type {
    BW_NCCL_INT8 = 0,
    BW_NCCL_INT32 = 2,
    BW_NCCL_FLOAT16 = 6,
    BW_NCCL_FLOAT32 = 7,
    BW_NCCL_BFLOAT16 = 9,
};
enum { BW_NCCL_OK = 0, BW_NCCL_SUM = 0, BW_NCCL_COLL_SYMMETRIC = 1 };

/* Oldest version (2.10: bfloat16, graphs), as ncclGetVersion says it. */
enum { BW_NCCL_VERSION_MIN = 21000 };

struct bw_nccl_api {
    void *lib;
    int version; /* as ncclGetVersion says it */

    int (*GetVersion)(int *version);
    const char *(*GetErrorString)(int result);
    int (*CommInitAll)(struct bw_nccl_comm **comms, int count, const int *devices);
    int (*CommDestroy)(struct bw_nccl_comm *comm);
    int (*CommAbort)(struct bw_nccl_comm *comm); /* ends what is under way instead of waiting */
    int (*GroupStart)(void);
    int (*GroupEnd)(void);
    int (*AllReduce)(const void *in, void *out, size_t count, int type, int op,
                     struct bw_nccl_comm *comm, CUstream stream);
    int (*ReduceScatter)(const void *in, void *out, size_t count_out, int type, int op,
                         struct bw_nccl_comm *comm, CUstream stream);
    int (*AllGather)(const void *in, void *out, size_t count_in, int type,
                     struct bw_nccl_comm *comm, CUstream stream);
    int (*Broadcast)(const void *in, void *out, size_t count, int type, int root,
                     struct bw_nccl_comm *comm, CUstream stream);
    int (*Send)(const void *in, size_t count, int type, int peer, struct bw_nccl_comm *comm,
                CUstream stream);
    int (*Recv)(void *out, size_t count, int type, int peer, struct bw_nccl_comm *comm,
                CUstream stream);

    /* Optional: NULL if the library lacks it. */
    const char *(*GetLastError)(struct bw_nccl_comm *comm); /* 2.13 */
    int (*AlltoAll)(const void *in, void *out, size_t count, int type, struct bw_nccl_comm *comm,
                    CUstream stream); /* 2.28 */
    int (*MemAlloc)(void **ptr, size_t bytes);
    int (*MemFree)(void *ptr); /* 2.19 */
    int (*CommWindowRegister)(struct bw_nccl_comm *comm, void *at, size_t bytes,
                              struct bw_nccl_window **window, int flags); /* 2.27 */
    int (*CommWindowDeregister)(struct bw_nccl_comm *comm, struct bw_nccl_window *window);
};

extern struct bw_nccl_api nccl;

/* Fill the table. BW_WAIVED, logged as an error, if there is no NCCL, or one that is too old. */
enum bw_status bw_nccl_open(void);

/* "2.28.3" of a version as ncclGetVersion says it; snprintf's return value. */
int bw_nccl_version_text(int version, char *text, size_t room);

/* Pass the result of `call` ("ncclAllReduce") on as a status; an error is logged here, once.
 * BW_ERR_CUDA. */
enum bw_status bw_nccl(int result, const char *call, const char *file, int line);
#define NCCL(name, ...) bw_nccl(nccl.name(__VA_ARGS__), "nccl" #name, __FILE__, __LINE__)

#endif
