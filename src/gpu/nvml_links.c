/* SPDX-License-Identifier: Apache-2.0 */
/* Where a GPU's links lead, and who else uses it. */
#include "nvml_table.h"

#include "bwtool/nvml.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { LINKS_MAX = 36, A_GPU = 0, NOT_SUPPORTED = 3, TOO_LITTLE_ROOM = 7 };

/* The library's structures. */
struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, ids, subsystem_ids;
    char bus_id[32];
};
struct process_info {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};
struct speed_field {
    unsigned id, scope;
    long long timestamp, latency_us;
    unsigned type;
    int result;
    union {
        unsigned natural;
        unsigned long long large;
    } value;
};

static struct {
    int (*state)(struct bw_nvml_device *device, unsigned link, unsigned *is_up);
    int (*type)(struct bw_nvml_device *device, unsigned link, int *type);
    int (*remote)(struct bw_nvml_device *device, unsigned link, struct pci_info *info);
    int (*fields)(struct bw_nvml_device *device, int count, struct speed_field *fields);
    int (*ancestor)(struct bw_nvml_device *a, struct bw_nvml_device *b, int *level);
    int (*processes)(struct bw_nvml_device *device, unsigned *count, struct process_info *list);
    int (*whole)(struct bw_nvml_device *device, struct bw_nvml_device **whole);
} api;

void bw_nvml_links_fill(void)
{
    memset(&api, 0, sizeof(api));
    bw_nvml_look_up("nvmlDeviceGetNvLinkState", &api.state);
    bw_nvml_look_up("nvmlDeviceGetNvLinkRemoteDeviceType", &api.type);
    bw_nvml_look_up("nvmlDeviceGetNvLinkRemotePciInfo_v2", &api.remote);
    bw_nvml_look_up("nvmlDeviceGetFieldValues", &api.fields);
    bw_nvml_look_up("nvmlDeviceGetTopologyCommonAncestor", &api.ancestor);
    bw_nvml_look_up("nvmlDeviceGetComputeRunningProcesses_v3", &api.processes);
    bw_nvml_look_up("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", &api.whole);
}

/* 1 up, 0 down, -1 no such link, -2 unknown. */
static int state_of(struct bw_nvml_device *device, unsigned link)
{
    unsigned is_up = 0;
    const int res = api.state(device, link, &is_up);

    if (res != 0) {
        return res == NOT_SUPPORTED || link > 0 ? -1 : -2;
    }
    return is_up != 0;
}

/* The link's own field or, from older drivers, the one for all links. */
static int speed_of(struct bw_nvml_device *device, unsigned link)
{
    static const unsigned ids[] = {164, 90};

    for (size_t i = 0; api.fields != NULL && i < sizeof(ids) / sizeof(ids[0]); i++) {
        struct speed_field field;

        memset(&field, 0, sizeof(field));
        field.id = ids[i];
        field.scope = i == 0 ? link : 0;
        if (api.fields(device, 1, &field) == 0 && field.result == 0 && field.value.natural > 0 &&
            field.value.natural <= INT32_MAX) {
            return (int)field.value.natural;
        }
    }
    return -1;
}

/* A link whose other end nobody names leads to a switch that this machine does not show. */
static bool leads_to_switch(struct bw_nvml_device *device, unsigned link)
{
    int type = -1;

    return api.type == NULL || api.type(device, link, &type) != 0 || type != A_GPU;
}

struct bw_nvml_links bw_nvml_links(struct bw_nvml_device *device)
{
    struct bw_nvml_links links = {.there = -1, .active = -1, .mbps = -1};

    if (device == NULL || api.state == NULL || state_of(device, 0) == -2) {
        return links;
    }
    links.there = links.active = 0;
    for (unsigned i = 0; i < LINKS_MAX; i++) {
        const int state = state_of(device, i);

        if (state < 0) {
            break;
        }
        links.there++;
        if (state == 1 && links.active++ == 0) {
            links.mbps = speed_of(device, i);
            links.has_switch = leads_to_switch(device, i);
        }
    }
    return links;
}

/* The same place, however many zeros its domain is written with, and whatever follows. */
static bool is_same_place(const char *a, const char *b)
{
    char *rest_a = NULL;
    char *rest_b = NULL;
    const unsigned long domain_a = strtoul(a, &rest_a, 16);
    const unsigned long domain_b = strtoul(b, &rest_b, 16);

    return domain_a == domain_b && rest_a[0] == ':' && strncasecmp(rest_a, rest_b, 6) == 0;
}

int bw_nvml_links_to(struct bw_nvml_device *device, const char *pci)
{
    int count = 0;

    if (device == NULL || api.state == NULL || api.remote == NULL) {
        return -1;
    }
    for (unsigned i = 0; i < LINKS_MAX; i++) {
        struct pci_info info;
        const int state = state_of(device, i);

        memset(&info, 0, sizeof(info));
        if (state < 0) {
            break;
        }
        if (state == 1 && api.remote(device, i, &info) == 0) {
            count += is_same_place(info.bus_id, pci);
        }
    }
    return count;
}

int bw_nvml_path(struct bw_nvml_device *a, struct bw_nvml_device *b)
{
    int level = -1;

    return a != NULL && b != NULL && api.ancestor != NULL && api.ancestor(a, b, &level) == 0 ? level
                                                                                             : -1;
}

int bw_nvml_processes(struct bw_nvml_device *device)
{
    struct process_info list[64];
    unsigned count = sizeof(list) / sizeof(list[0]);
    int res = 0;

    memset(list, 0, sizeof(list));
    if (device == NULL || api.processes == NULL) {
        return -1;
    }
    res = api.processes(device, &count, list);
    return (res == 0 || res == TOO_LITTLE_ROOM) && count <= INT32_MAX ? (int)count : -1;
}

struct bw_nvml_device *bw_nvml_whole(struct bw_nvml_device *device)
{
    struct bw_nvml_device *whole = NULL;

    if (device != NULL && api.whole != NULL && api.whole(device, &whole) == 0 && whole != NULL) {
        return whole;
    }
    return device;
}
