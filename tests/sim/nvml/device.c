/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The system, devices, and what they are. */

SIM_NVML int nvmlSystemGetDriverVersion(char *text, unsigned room);
SIM_NVML int nvmlSystemGetNVMLVersion(char *text, unsigned room);
SIM_NVML int nvmlSystemGetCudaDriverVersion(int *version);
SIM_NVML int nvmlSystemGetCudaDriverVersion_v2(int *version);
SIM_NVML int nvmlDeviceGetCount_v2(unsigned *count);
SIM_NVML int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **device);
SIM_NVML int nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_device **device);
SIM_NVML int nvmlDeviceGetHandleByPciBusId_v2(const char *id, struct nvml_device **device);
SIM_NVML int nvmlDeviceGetIndex(struct nvml_device *device, unsigned *index);
SIM_NVML int nvmlDeviceGetName(struct nvml_device *device, char *text, unsigned room);
SIM_NVML int nvmlDeviceGetUUID(struct nvml_device *device, char *text, unsigned room);
SIM_NVML int nvmlDeviceGetPciInfo_v3(struct nvml_device *device, struct nvml_pci_info *info);
SIM_NVML int nvmlDeviceGetMemoryInfo(struct nvml_device *device, struct nvml_memory *memory);
SIM_NVML int nvmlDeviceGetCudaComputeCapability(struct nvml_device *device, int *major, int *minor);
SIM_NVML int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned *now, unsigned *pending);
SIM_NVML int nvmlDeviceIsMigDeviceHandle(struct nvml_device *device, unsigned *is_instance);
SIM_NVML int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct nvml_device *instance,
                                                          struct nvml_device **device);
SIM_NVML int nvmlDeviceGetMemoryAffinity(struct nvml_device *device, unsigned room,
                                         unsigned long *nodes, unsigned scope);
SIM_NVML int nvmlDeviceGetCpuAffinity(struct nvml_device *device, unsigned room,
                                      unsigned long *cpus);
SIM_NVML int nvmlDeviceGetP2PStatus(struct nvml_device *a, struct nvml_device *b, int what,
                                    int *status);
SIM_NVML int nvmlDeviceGetTopologyCommonAncestor(struct nvml_device *a, struct nvml_device *b,
                                                 int *level);
SIM_NVML int nvmlDeviceGetNumaNodeId(struct nvml_device *device, unsigned *node);

static int put_text(char *text, unsigned room, const char *what)
{
    if (strlen(what) >= room) {
        return NVML_INSUFFICIENT_SIZE;
    }
    memcpy(text, what, strlen(what) + 1);
    return NVML_SUCCESS;
}

int nvmlSystemGetDriverVersion(char *text, unsigned room)
{
    ENTER(nvmlSystemGetDriverVersion, true)
    return put_text(text, room, nvml_machine.driver_version);
}

int nvmlSystemGetNVMLVersion(char *text, unsigned room)
{
    ENTER(nvmlSystemGetNVMLVersion, true)
    return put_text(text, room, nvml_machine.driver_version);
}

int nvmlSystemGetCudaDriverVersion(int *version)
{
    ENTER(nvmlSystemGetCudaDriverVersion, true)
    *version = (int)nvml_machine.driver;
    return NVML_SUCCESS;
}

int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    return nvmlSystemGetCudaDriverVersion(version);
}

int nvmlDeviceGetCount_v2(unsigned *count)
{
    ENTER(nvmlDeviceGetCount_v2, true)
    *count = (unsigned)nvml_machine.gpu_count;
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct nvml_device **device)
{
    ENTER(nvmlDeviceGetHandleByIndex_v2, true)
    if (index >= nvml_machine.gpu_count) {
        return NVML_INVALID_ARGUMENT;
    }
    *device = nvml_device((int)index, false);
    return NVML_SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, struct nvml_device **device)
{
    ENTER(nvmlDeviceGetHandleByUUID, true)
    char own[48];

    if (uuid == NULL || device == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    for (int i = 0; i < (int)nvml_machine.gpu_count; i++) {
        const bool is_instance = nvml_machine.gpus[i].mig > 0 && *uuid == 'M';

        sim_machine_uuid(&nvml_machine.gpus[i], is_instance, own, sizeof(own));
        if (strcasecmp(own, uuid) == 0) {
            *device = nvml_device(i, is_instance);
            return NVML_SUCCESS;
        }
    }
    return NVML_NOT_FOUND;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, struct nvml_device **device)
{
    ENTER(nvmlDeviceGetHandleByPciBusId_v2, true)
    unsigned domain, bus, slot;

    if (id == NULL || sscanf(id, "%8x:%2x:%2x", &domain, &bus, &slot) < 3) {
        return NVML_INVALID_ARGUMENT;
    }
    if (domain != 0 || slot != 0 || bus < 1 || bus > nvml_machine.gpu_count) {
        return NVML_NOT_FOUND;
    }
    *device = nvml_device((int)bus - 1, false);
    return NVML_SUCCESS;
}

int nvmlDeviceGetIndex(struct nvml_device *device, unsigned *index)
{
    ENTER(nvmlDeviceGetIndex, true)
    if (nvml_gpu(device) == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    *index = (unsigned)device->gpu;
    return NVML_SUCCESS;
}

int nvmlDeviceGetName(struct nvml_device *device, char *text, unsigned room)
{
    ENTER(nvmlDeviceGetName, true)
    return nvml_gpu(device) == NULL ? NVML_INVALID_ARGUMENT
                                    : put_text(text, room, nvml_gpu(device)->name);
}

int nvmlDeviceGetUUID(struct nvml_device *device, char *text, unsigned room)
{
    ENTER(nvmlDeviceGetUUID, true)
    char own[48];

    if (nvml_gpu(device) == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    sim_machine_uuid(nvml_gpu(device), device->is_instance, own, sizeof(own));
    return put_text(text, room, own);
}

int nvmlDeviceGetPciInfo_v3(struct nvml_device *device, struct nvml_pci_info *info)
{
    ENTER(nvmlDeviceGetPciInfo_v3, true)
    if (nvml_gpu(device) == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    *info = (struct nvml_pci_info){.bus = (unsigned)device->gpu + 1, .pci_device_id = 0x10de};
    snprintf(info->bus_id_legacy, sizeof(info->bus_id_legacy), "0000:%02X:00.0", info->bus & 0xff);
    snprintf(info->bus_id, sizeof(info->bus_id), "00000000:%02X:00.0", info->bus & 0xff);
    return NVML_SUCCESS;
}

int nvmlDeviceGetMemoryInfo(struct nvml_device *device, struct nvml_memory *memory)
{
    ENTER(nvmlDeviceGetMemoryInfo, true)
    if (nvml_gpu(device) == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    memory->total = memory->free = (unsigned long long)nvml_gpu(device)->memory_bytes;
    memory->used = 0; /* of this process: CUDA's memory is not known here */
    return NVML_SUCCESS;
}

int nvmlDeviceGetCudaComputeCapability(struct nvml_device *device, int *major, int *minor)
{
    ENTER(nvmlDeviceGetCudaComputeCapability, true)
    if (nvml_gpu(device) == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    *major = (int)nvml_gpu(device)->capability[0];
    *minor = (int)nvml_gpu(device)->capability[1];
    return NVML_SUCCESS;
}

int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned *now, unsigned *pending)
{
    ENTER(nvmlDeviceGetMigMode, true)
    if (nvml_gpu(device) == NULL || device->is_instance) {
        return NVML_INVALID_ARGUMENT;
    }
    *now = *pending = nvml_gpu(device)->mig > 0;
    return NVML_SUCCESS;
}

int nvmlDeviceIsMigDeviceHandle(struct nvml_device *device, unsigned *is_instance)
{
    ENTER(nvmlDeviceIsMigDeviceHandle, true)
    *is_instance = device->is_instance;
    return nvml_gpu(device) == NULL ? NVML_INVALID_ARGUMENT : NVML_SUCCESS;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct nvml_device *instance,
                                                 struct nvml_device **device)
{
    ENTER(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, true)
    if (nvml_gpu(instance) == NULL || !instance->is_instance) {
        return NVML_INVALID_ARGUMENT;
    }
    *device = nvml_device(instance->gpu, false);
    return NVML_SUCCESS;
}

static void set_bit(unsigned long *words, unsigned room, unsigned bit)
{
    const unsigned width = 8 * sizeof(*words);

    if (bit / width < room) {
        words[bit / width] |= 1ul << bit % width;
    }
}

int nvmlDeviceGetMemoryAffinity(struct nvml_device *device, unsigned room, unsigned long *nodes,
                                unsigned scope)
{
    ENTER(nvmlDeviceGetMemoryAffinity, true)
    (void)scope;
    if (nvml_gpu(device) == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    if (nvml_gpu(device)->node < 0) {
        return NVML_NOT_SUPPORTED;
    }
    memset(nodes, 0, room * sizeof(*nodes));
    set_bit(nodes, room, (unsigned)nvml_gpu(device)->node);
    return NVML_SUCCESS;
}

int nvmlDeviceGetNumaNodeId(struct nvml_device *device, unsigned *node)
{
    ENTER(nvmlDeviceGetNumaNodeId, true)
    (void)node; /* of its own memory, where that is the system's, too: not here */
    return nvml_gpu(device) == NULL ? NVML_INVALID_ARGUMENT : NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetCpuAffinity(struct nvml_device *device, unsigned room, unsigned long *cpus)
{
    ENTER(nvmlDeviceGetCpuAffinity, true)
    const struct sim_node *node;

    if (nvml_gpu(device) == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    if (nvml_gpu(device)->node < 0) {
        return NVML_NOT_SUPPORTED;
    }
    node = &nvml_machine.nodes[(int)nvml_gpu(device)->node];
    memset(cpus, 0, room * sizeof(*cpus));
    for (double cpu = node->cpus[0]; cpu <= node->cpus[1]; cpu++) {
        set_bit(cpus, room, (unsigned)cpu);
    }
    return NVML_SUCCESS;
}

int nvmlDeviceGetP2PStatus(struct nvml_device *a, struct nvml_device *b, int what, int *status)
{
    ENTER(nvmlDeviceGetP2PStatus, true)
    enum { READ, WRITE, NVLINK, ATOMICS };
    bool over_nvlink, is_there;

    if (nvml_gpu(a) == NULL || nvml_gpu(b) == NULL || a == b) {
        return NVML_INVALID_ARGUMENT;
    }
    over_nvlink = nvml_gpu(a)->nvlink[0] > 0 && nvml_gpu(b)->nvlink[1] > 0;
    is_there =
        nvml_machine.peer[a->gpu][b->gpu] && (over_nvlink || (what != NVLINK && what != ATOMICS));
    *status = is_there ? 0 : (int)nvml_machine.peer_reason;
    return NVML_SUCCESS;
}

int nvmlDeviceGetTopologyCommonAncestor(struct nvml_device *a, struct nvml_device *b, int *level)
{
    ENTER(nvmlDeviceGetTopologyCommonAncestor, true)
    enum { NODE = 40, SYSTEM = 50 };

    if (nvml_gpu(a) == NULL || nvml_gpu(b) == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    *level = nvml_gpu(a)->node >= 0 && nvml_gpu(a)->node != nvml_gpu(b)->node ? SYSTEM : NODE;
    return NVML_SUCCESS;
}
