/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_NVML_H
#define SIM_NVML_H

#include <stdbool.h>

/*
 * The stand-in for NVML: as much of its interface as tools that look at links,
 * clocks and errors use, declared here so that no toolkit is needed for it.
 * Every answer comes from the machine's description.
 */

#define SIM_NVML __attribute__((visibility("default")))

enum nvml_result {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_GPU_IS_LOST = 15,
    NVML_UNKNOWN = 999,
};

enum { NVML_NVLINKS_MAX = 18 };

/* A device handle is the address of one of these. */
struct nvml_device {
    int gpu;
    bool is_instance;
    unsigned long looks[64]; /* at each of its states, by place */
};

struct nvml_pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};

struct nvml_memory {
    unsigned long long total, free, used;
};

struct nvml_utilization {
    unsigned gpu, memory;
};

struct nvml_process {
    unsigned pid;
    unsigned long long used_bytes;
    unsigned gpu_instance, compute_instance;
};

struct nvml_field_value {
    unsigned field, scope;
    long long timestamp, latency_us;
    unsigned type;
    int result;
    union {
        double real;
        int integer;
        unsigned natural;
        unsigned long number;
        unsigned long long large;
        signed long long signed_large;
    } value;
};

struct nvml_fabric_info {
    unsigned char cluster_uuid[16];
    int status;
    unsigned clique_id;
    unsigned char state;
};

struct nvml_fabric_info_v {
    unsigned version;
    unsigned char cluster_uuid[16];
    int status;
    unsigned clique_id;
    unsigned char state;
    unsigned health_mask;
};

struct nvml_c2c_info {
    unsigned is_enabled;
};

#endif
