/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_GPU_H
#define BW_GPU_H

#include "cu.h"
#include "kernels.h"
#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The GPUs that this process sees, in the driver's order. Opened once a run:
 * contexts are the primary ones, kernels of all GPUs are resident before the
 * first gate (a first launch would wait for a held stream), peer access is
 * enabled wherever the driver says it can be.
 */

struct bw_gpu {
    int ordinal;
    CUdevice dev;
    CUcontext ctx; /* NULL until bw_gpus_open_contexts() */
    char name[96];
    char pci[20];      /* "00000000:0f:00": domain:bus:device, lower case                  */
    char pci_full[24]; /* "0000:0f:00.0" as sysfs and hwloc know it                     */
    char uuid[48];     /* "GPU-..." or "MIG-..."                                            */
    int capability_major, capability_minor;
    int sm_count;
    size_t memory_bytes;
    int max_threads_per_sm;
    int shared_bytes_per_block_optin;
    bool is_left_out; /* another rank's: no context of it is made here */
    bool has_multicast, has_fabric_handles, has_fd_handles, is_integrated;
    CUfunction functions[BW_KERNEL_COUNT]; /* by enum bw_kernel; resident */
};

struct bw_gpus {
    int driver_version; /* as cuDriverGetVersion says it, e.g. 12080 */
    int count;
    struct bw_gpu *gpus;
    bool *peer;                /* count x count, row-major: r reaches c's memory; diagonal true */
    bool *peer_native_atomics; /* the same shape; false where unknown */
    CUlibrary library;
};

/* Far more than any machine has: a driver that says so answers nonsense. */
enum { BW_GPUS_MAX = 1024 };

/*
 * Load the driver and list its GPUs; no context is made. BW_ERR_NO_GPU,
 * logged with what is missing (no driver, driver too old, no device, empty
 * CUDA_VISIBLE_DEVICES), where there is none, and where the driver cannot or
 * does not soundly tell what it drives. Close what was half opened.
 */
enum bw_status bw_gpus_open(struct bw_gpus *gpus);

/*
 * Make the contexts (in parallel), load the kernels into all of them, enable
 * peer access. A pair whose peer access cannot be enabled loses its `peer`
 * with a warning. May take some 100 ms a GPU.
 */
enum bw_status bw_gpus_open_contexts(struct bw_gpus *gpus);

/* Zeroed or half-opened is fine. All that was allocated on the GPUs must be freed before. */
void bw_gpus_close(struct bw_gpus *gpus);

/* Make the GPU's context current in this thread; error messages name it from now on. */
enum bw_status bw_gpu_use(const struct bw_gpu *gpu);

/* The ordinal last made current in this thread, -1 for none. */
int bw_gpu_current(void);

/*
 * Whether the machine shows a trace of an NVIDIA GPU, without loading the
 * driver: a display or 3D controller of PCI vendor 10de, or /dev/nvidiactl.
 * `root` is prepended to the paths, "" for the real ones (tests give another).
 */
bool bw_gpu_is_traced(const char *root);
/*
 * Before each cuInit: set CUDA_DEVICE_MAX_CONNECTIONS, unless it is enough for a launch's streams.
 * Logs a note where it was set to less.
 */
void bw_gpu_ask_for_queues(void);
/* How many GPUs the driver has device files for, without asking it; 0 if that cannot be told. */
int bw_gpu_count_traced(const char *root);

/*
 * Whether GPU testcases are to be run where none was asked for by name: the
 * machine shows a trace of a GPU, or there is a driver library whose cuInit
 * answers anything but that there is no device. Logs no more than
 * bw_gpu_ask_for_queues().
 */
bool bw_gpu_is_expected(const char *root);

#endif
