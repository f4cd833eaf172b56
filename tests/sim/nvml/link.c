/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* NVLink, C2C, the fabric, and fields, which are mostly about them. */

SIM_NVML int nvmlDeviceGetNvLinkState(struct nvml_device *device, unsigned link, unsigned *is_up);
SIM_NVML int nvmlDeviceGetNvLinkVersion(struct nvml_device *device, unsigned link,
                                        unsigned *version);
SIM_NVML int nvmlDeviceGetNvLinkCapability(struct nvml_device *device, unsigned link, int what,
                                           unsigned *has_it);
SIM_NVML int nvmlDeviceGetNvLinkErrorCounter(struct nvml_device *device, unsigned link, int kind,
                                             unsigned long long *count);
SIM_NVML int nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_device *device, unsigned link,
                                                 int *type);
SIM_NVML int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_device *device, unsigned link,
                                                 struct nvml_pci_info *info);
SIM_NVML int nvmlDeviceGetFieldValues(struct nvml_device *device, int count,
                                      struct nvml_field_value *values);
SIM_NVML int nvmlDeviceGetGpuFabricInfo(struct nvml_device *device, struct nvml_fabric_info *info);
SIM_NVML int nvmlDeviceGetGpuFabricInfoV(struct nvml_device *device,
                                         struct nvml_fabric_info_v *info);
SIM_NVML int nvmlDeviceGetC2cModeInfoV(struct nvml_device *device, struct nvml_c2c_info *info);

static int check_link(const struct nvml_device *device, unsigned link)
{
    if (nvml_gpu(device) == NULL || link >= NVML_NVLINKS_MAX) {
        return NVML_INVALID_ARGUMENT;
    }
    return nvml_has_link(device, link) ? NVML_SUCCESS : NVML_NOT_SUPPORTED;
}

int nvmlDeviceGetNvLinkState(struct nvml_device *device, unsigned link, unsigned *is_up)
{
    ENTER(nvmlDeviceGetNvLinkState, true)
    const int result = check_link(device, link);

    if (result == NVML_SUCCESS) {
        *is_up = nvml_is_up(device, link);
    }
    return result;
}

int nvmlDeviceGetNvLinkVersion(struct nvml_device *device, unsigned link, unsigned *version)
{
    ENTER(nvmlDeviceGetNvLinkVersion, true)
    const int result = check_link(device, link);

    return result == NVML_SUCCESS ? nvml_get(device, STATE_nvlink_version, version) : result;
}

int nvmlDeviceGetNvLinkCapability(struct nvml_device *device, unsigned link, int what,
                                  unsigned *has_it)
{
    ENTER(nvmlDeviceGetNvLinkCapability, true)
    const int result = check_link(device, link);

    (void)what;
    *has_it = 1;
    return result;
}

int nvmlDeviceGetNvLinkErrorCounter(struct nvml_device *device, unsigned link, int kind,
                                    unsigned long long *count)
{
    ENTER(nvmlDeviceGetNvLinkErrorCounter, true)
    static const enum sim_state_name states[] = {STATE_nvlink_replay, STATE_nvlink_recovery,
                                                 STATE_nvlink_crc, STATE_nvlink_crc};
    const int result = check_link(device, link);

    if (result != NVML_SUCCESS || kind < 0 || kind > 3) {
        return result == NVML_SUCCESS ? NVML_INVALID_ARGUMENT : result;
    }
    if (link > 0) { /* the errors that are declared are those of the first link */
        *count = 0;
        return NVML_SUCCESS;
    }
    return nvml_get_large(device, states[kind], count);
}

int nvmlDeviceGetNvLinkRemoteDeviceType(struct nvml_device *device, unsigned link, int *type)
{
    ENTER(nvmlDeviceGetNvLinkRemoteDeviceType, true)
    enum { A_GPU = 0, A_SWITCH = 2 };
    const int result = check_link(device, link);

    if (result == NVML_SUCCESS) {
        *type = nvml_state(device, STATE_nvswitch) > 0 ? A_SWITCH : A_GPU;
    }
    return result;
}

/* Without switches, links lead to the other GPUs in turn. */
int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct nvml_device *device, unsigned link,
                                        struct nvml_pci_info *info)
{
    ENTER(nvmlDeviceGetNvLinkRemotePciInfo_v2, true)
    const int result = check_link(device, link), gpus = (int)nvml_machine.gpu_count;

    if (result != NVML_SUCCESS) {
        return result;
    }
    *info = (struct nvml_pci_info){.pci_device_id = 0x10de};
    if (nvml_state(device, STATE_nvswitch) > 0) {
        info->bus = 0xc0 + link % 4;
    } else if (gpus > 1) {
        info->bus = (unsigned)((device->gpu + 1 + (int)link % (gpus - 1)) % gpus) + 1;
    }
    snprintf(info->bus_id_legacy, sizeof(info->bus_id_legacy), "0000:%02X:00.0", info->bus & 0xff);
    snprintf(info->bus_id, sizeof(info->bus_id), "00000000:%02X:00.0", info->bus & 0xff);
    return NVML_SUCCESS;
}

/* Fields: which state each is; for those of links `scope` names the link. */
static const struct {
    unsigned field;
    int state;
    bool of_link;
} fields[] = {
    {1, STATE_ecc, false},
    {3, STATE_ecc_corrected, false},
    {4, STATE_ecc_uncorrected, false},
    {38, STATE_nvlink_crc, false},
    {45, STATE_nvlink_crc, false},
    {52, STATE_nvlink_replay, false},
    {59, STATE_nvlink_recovery, false},
    {90, STATE_nvlink_mbps, false},
    {91, STATE_nvlinks, false},
    {94, STATE_pcie_replay, false},
    {161, STATE_nvlink_replay, true},
    {162, STATE_nvlink_recovery, true},
    {163, STATE_nvlink_crc, true},
    {164, STATE_nvlink_mbps, true},
    {165, STATE_nvlinks_down, true},
    {166, STATE_nvlink_version, true},
    {170, STATE_c2c, false},
    {171, STATE_c2c, false},
    {172, STATE_c2c, false},
};

enum { FIELD_SWITCH_LINKS = 147, FIELD_C2C_STATUS = 171, FIELD_C2C_MBPS = 172 };
enum { C2C_MBPS = 45000, TYPE_NATURAL = 1, TYPE_LARGE = 3 };

static double field_value(struct nvml_device *device, size_t i, unsigned link)
{
    if (fields[i].state == STATE_nvlinks_down) {
        return nvml_is_up(device, link);
    }
    if (fields[i].field == FIELD_C2C_STATUS) {
        return nvml_state(device, STATE_c2c) > 0;
    }
    if (fields[i].field == FIELD_C2C_MBPS) {
        return nvml_state(device, STATE_c2c) > 0 ? C2C_MBPS : -1;
    }
    return nvml_state(device, (enum sim_state_name)fields[i].state);
}

static void get_field(struct nvml_device *device, struct nvml_field_value *v)
{
    double value = -1;

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        if (fields[i].field == v->field &&
            (!fields[i].of_link || nvml_has_link(device, v->scope))) {
            value = field_value(device, i, v->scope);
            /* One link's errors are declared: the first one's. */
            value = fields[i].of_link && v->scope > 0 && v->field <= 163 ? 0 : value;
        }
    }
    if (v->field == FIELD_SWITCH_LINKS) {
        value = nvml_state(device, STATE_nvswitch) > 0 ? nvml_state(device, STATE_nvlinks) : 0;
    }
    v->timestamp = v->latency_us = 0;
    v->result = value < 0 ? NVML_NOT_SUPPORTED : NVML_SUCCESS;
    v->type = v->field < 90 || (v->field > 147 && v->field < 164) ? TYPE_LARGE : TYPE_NATURAL;
    if (v->type == TYPE_LARGE) {
        v->value.large = value < 0 ? 0 : (unsigned long long)value;
    } else {
        v->value.large = 0;
        v->value.natural = value < 0 ? 0 : (unsigned)value;
    }
}

int nvmlDeviceGetFieldValues(struct nvml_device *device, int count, struct nvml_field_value *values)
{
    ENTER(nvmlDeviceGetFieldValues, true)
    if (nvml_gpu(device) == NULL || count <= 0 || values == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    for (int i = 0; i < count; i++) {
        get_field(device, &values[i]);
    }
    return NVML_SUCCESS;
}

/* `fabric` of the description is the state; a finished registration (3) has a cluster. */
int nvmlDeviceGetGpuFabricInfoV(struct nvml_device *device, struct nvml_fabric_info_v *info)
{
    ENTER(nvmlDeviceGetGpuFabricInfoV, true)
    unsigned state;
    const int result = nvml_get(device, STATE_fabric, &state);

    if (result != NVML_SUCCESS) {
        return result;
    }
    memset(info->cluster_uuid, state == 3 ? 'S' : 0, sizeof(info->cluster_uuid));
    info->status = NVML_SUCCESS;
    info->clique_id = 0;
    info->state = (unsigned char)state;
    info->health_mask = 0;
    return NVML_SUCCESS;
}

int nvmlDeviceGetGpuFabricInfo(struct nvml_device *device, struct nvml_fabric_info *info)
{
    struct nvml_fabric_info_v v;
    const int result = nvmlDeviceGetGpuFabricInfoV(device, &v);

    if (result == NVML_SUCCESS) {
        memcpy(info->cluster_uuid, v.cluster_uuid, sizeof(info->cluster_uuid));
        info->status = v.status;
        info->clique_id = v.clique_id;
        info->state = v.state;
    }
    return result;
}

int nvmlDeviceGetC2cModeInfoV(struct nvml_device *device, struct nvml_c2c_info *info)
{
    ENTER(nvmlDeviceGetC2cModeInfoV, true)
    if (nvml_gpu(device) == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    info->is_enabled = nvml_state(device, STATE_c2c) > 0;
    return NVML_SUCCESS;
}
