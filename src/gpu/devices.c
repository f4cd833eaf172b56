/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/gpu.h"

#include "bwtool/log.h"
#include "bwtool/multicast.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What to do about it, for those answers of cuInit that have a usual cause. */
static const char *advice_on(CUresult res)
{
    switch ((int)res) {
    case CUDA_ERROR_INVALID_DEVICE:
        return "CUDA_VISIBLE_DEVICES must not name a GPU twice";
    case CUDA_ERROR_STUB_LIBRARY:
        return "libcuda.so.1 is the CUDA Toolkit's stub, not a driver: take its folder out of "
               "LD_LIBRARY_PATH";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
        return "libcuda.so.1 and the loaded kernel module are of different driver versions: "
               "reload the module or restart the machine";
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        return "the forward-compatibility libcuda.so.1 in use does not work with this GPU: take "
               "its folder out of LD_LIBRARY_PATH, or install a newer driver";
    case CUDA_ERROR_SYSTEM_NOT_READY:
        return "the system is not ready: on machines with NVSwitch, nvidia-fabricmanager must run";
    case CUDA_ERROR_OPERATING_SYSTEM:
        return "the driver cannot open its devices: see the rights on /dev/nvidia*";
    case CUDA_ERROR_DEVICE_UNAVAILABLE:
        return "the GPU is in exclusive use, or set to allow no compute processes";
    case CUDA_ERROR_UNKNOWN:
        return "the kernel module does not answer: see `nvidia-smi` and `dmesg`, and, in a "
               "container, whether the devices are mapped into it";
    default:
        return NULL;
    }
}

static enum bw_status say_no_device(void)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");

    if (visible != NULL && visible[0] == '\0') {
        bw_error("no GPU: CUDA_VISIBLE_DEVICES is set, but empty, which hides all of them");
    } else if (visible != NULL) {
        bw_error("no GPU: none is named by CUDA_VISIBLE_DEVICES='%s'", visible);
    } else {
        bw_error("no GPU: the driver finds no device");
    }
    return BW_ERR_NO_GPU;
}

/*
 * Each stream of a launch comes to its gate before that opens: two in one
 * hardware queue could not, for the second stands behind what the gate holds.
 * The driver makes 8 of them, 32 at most, and some environments ask for 1; a
 * GPU has a stream for each other one at most. Read by cuInit; each queue makes
 * a context some 15 ms later, so there are not more than are needed.
 */
void bw_gpu_ask_for_queues(void)
{
    static const char name[] = "CUDA_DEVICE_MAX_CONNECTIONS";
    const char *set = getenv(name);
    const int gpus = bw_gpu_count_traced("");
    const int wanted = gpus < 8 ? 8 : gpus > 32 ? 32 : gpus;
    const long there = set != NULL ? strtol(set, NULL, 10) : 8;
    char text[12];

    if (there >= wanted) {
        return;
    }
    if (set != NULL) {
        bw_note("%s=%s is too few for streams that are let go together: it is %d in this process",
                name, set, wanted);
    }
    (void)snprintf(text, sizeof(text), "%d", wanted);
    (void)setenv(name, text, 1); /* without memory it stays as it is */
}

static enum bw_status init(void)
{
    CUresult res = CUDA_SUCCESS;
    const char *advice = NULL;
    const char *text = NULL;

    bw_gpu_ask_for_queues();
    res = cu.Init(0);
    advice = advice_on(res);
    if (res == CUDA_SUCCESS) {
        return BW_OK;
    }
    if (res == CUDA_ERROR_NO_DEVICE) {
        return say_no_device();
    }
    if (cu.GetErrorString(res, &text) != CUDA_SUCCESS || text == NULL) {
        text = "no description";
    }
    bw_error("no usable GPU: [%s] %s in cuInit%s%s", bw_cu_error_name(res), text,
             advice != NULL ? ": " : "", advice != NULL ? advice : "");
    return BW_ERR_NO_GPU;
}

static enum bw_status ask(int *value, CUdevice_attribute which, CUdevice dev)
{
    return CU(cu.DeviceGetAttribute(value, which, dev));
}

/* An attribute that an older driver need not know: then false. */
static bool ask_if(CUdevice_attribute which, CUdevice dev)
{
    int value = 0;

    return cu.DeviceGetAttribute(&value, which, dev) == CUDA_SUCCESS && value != 0;
}

static bool has_multicast(CUdevice dev)
{
    return !bw_multicast_is_off() && ask_if(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, dev);
}

static enum bw_status describe_pci(struct bw_gpu *gpu)
{
    enum bw_status st = BW_OK;
    char id[32] = "";
    unsigned domain = 0, bus = 0, device = 0;

    TRY(CU(cu.DeviceGetPCIBusId(id, sizeof(id), gpu->dev)));
    if (sscanf(id, "%x:%x:%x", &domain, &bus, &device) != 3) {
        bw_warn("gpu %d: its PCI address '%s' cannot be read", gpu->ordinal, id);
        goto out;
    }
    snprintf(gpu->pci, sizeof(gpu->pci), "%08x:%02x:%02x", domain, bus & 0xff, device & 0xff);
    snprintf(gpu->pci_full, sizeof(gpu->pci_full), "%04x:%02x:%02x.0", domain, bus & 0xff,
             device & 0xff);
out:
    return st;
}

static enum bw_status describe_uuid(struct bw_gpu *gpu)
{
    enum bw_status st = BW_OK;
    const bool is_mig = strstr(gpu->name, " MIG ") != NULL;
    CUuuid uuid = {{0}};
    char *end = gpu->uuid;

    TRY(CU(cu.DeviceGetUuid(&uuid, gpu->dev)));
    end += sprintf(end, is_mig ? "MIG-" : "GPU-");
    for (size_t i = 0; i < sizeof(uuid.bytes); i++) {
        const bool dash = i == 4 || i == 6 || i == 8 || i == 10;

        end += sprintf(end, "%s%02x", dash ? "-" : "", (unsigned char)uuid.bytes[i]);
    }
    if (is_mig) {
        bw_note("gpu %d is a MIG instance (%s): it has a part of its GPU's multiprocessors and "
                "memory, and no peer access",
                gpu->ordinal, gpu->name);
    }
out:
    return st;
}

static enum bw_status describe(struct bw_gpu *gpu, int ordinal)
{
    enum bw_status st = BW_OK;
    int integrated = 0;

    gpu->ordinal = ordinal;
    TRY(CU(cu.DeviceGet(&gpu->dev, ordinal)));
    TRY(CU(cu.DeviceGetName(gpu->name, sizeof(gpu->name), gpu->dev)));
    TRY(CU(cu.DeviceTotalMem(&gpu->memory_bytes, gpu->dev)));
    TRY(describe_pci(gpu));
    TRY(describe_uuid(gpu));
    TRY(ask(&gpu->capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu->dev));
    TRY(ask(&gpu->capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu->dev));
    TRY(ask(&gpu->sm_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu->dev));
    TRY(ask(&gpu->max_threads_per_sm, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR,
            gpu->dev));
    TRY(ask(&gpu->shared_bytes_per_block_optin,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, gpu->dev));
    TRY(ask(&integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED, gpu->dev));
    gpu->is_integrated = integrated != 0;
    gpu->has_multicast = has_multicast(gpu->dev);
    gpu->has_fabric_handles = ask_if(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED, gpu->dev);
    gpu->has_fd_handles =
        ask_if(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, gpu->dev);
out:
    return st;
}

static enum bw_status find_peers(struct bw_gpus *gpus)
{
    enum bw_status st = BW_OK;
    const int n = gpus->count;

    for (int i = 0; i < n * n; i++) {
        const CUdevice from = gpus->gpus[i / n].dev, to = gpus->gpus[i % n].dev;
        int can = i / n == i % n, atomics = can;

        if (!can) {
            TRY(CU(cu.DeviceCanAccessPeer(&can, from, to)));
        }
        if (can && from != to &&
            cu.DeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                     from, to) != CUDA_SUCCESS) {
            atomics = 0;
        }
        gpus->peer[i] = can != 0;
        gpus->peer_native_atomics[i] = can != 0 && atomics != 0;
    }
out:
    return st;
}

/* How many there are, if that can be. */
static enum bw_status count_gpus(struct bw_gpus *gpus)
{
    enum bw_status st = BW_OK;
    int count = 0;

    TRY(CU(cu.DeviceGetCount(&count)));
    if (count < 0 || count > BW_GPUS_MAX) {
        bw_error("no usable NVIDIA driver: it answers that this machine has %d GPUs: compare with "
                 "nvidia-smi -L, then load or install the driver anew",
                 count);
        return BW_ERR_NO_GPU;
    }
    gpus->count = count;
    return count == 0 ? say_no_device() : BW_OK;
out:
    return st;
}

static enum bw_status list(struct bw_gpus *gpus)
{
    enum bw_status st = BW_OK;
    size_t count = 0;

    TRY(CU(cu.DriverGetVersion(&gpus->driver_version)));
    TRY(count_gpus(gpus));
    count = (size_t)gpus->count;
    gpus->gpus = calloc(count, sizeof(*gpus->gpus));
    gpus->peer = calloc(count * count, sizeof(*gpus->peer));
    gpus->peer_native_atomics = calloc(count * count, sizeof(*gpus->peer_native_atomics));
    if (gpus->gpus == NULL || gpus->peer == NULL || gpus->peer_native_atomics == NULL) {
        return bw_errno("listing %d GPUs", gpus->count);
    }
    for (int i = 0; i < gpus->count; i++) {
        TRY(describe(&gpus->gpus[i], i));
    }
    TRY(find_peers(gpus));
out:
    return st;
}

enum bw_status bw_gpus_open(struct bw_gpus *gpus)
{
    enum bw_status st = BW_OK;

    memset(gpus, 0, sizeof(*gpus));
    TRY(bw_cu_open());
    TRY(init());
    st = list(gpus);
    /* A driver that cannot tell what it drives is of no use, whatever its error. */
    st = st == BW_ERR_CUDA || st == BW_ERR_LOST ? BW_ERR_NO_GPU : st;
out:
    return st;
}
