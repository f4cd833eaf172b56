/* SPDX-License-Identifier: Apache-2.0 */
#include "inventory.h"

#include "bwtool/log.h"
#include "bwtool/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bw_inventory_world(struct bw_run *run, const struct bw_world *world)
{
    run->rank_count = world->ranks;
    snprintf(run->host, sizeof(run->host), "%s", world->host);
    snprintf(run->mpi_version, sizeof(run->mpi_version), "%s", world->library);
}

void bw_inventory_nodes(struct bw_run *run, const struct bw_topology *topology)
{
    const int count = bw_topology_node_count(topology);

    run->nodes = calloc((size_t)count + 1, sizeof(*run->nodes));
    if (run->nodes == NULL) {
        return; /* the record goes without */
    }
    run->node_count = count;
    for (int i = 0; i < count; i++) {
        run->nodes[i] = (struct bw_node_info){
            .os_index = bw_topology_node_os_index(topology, i),
            .cpus = bw_topology_node_cpus(topology, i),
            .memory_bytes = bw_topology_node_memory_bytes(topology, i),
        };
    }
}

static void fill_device(struct bw_device_info *info, const struct bw_gpu *gpu,
                        const struct bw_topology *topology, const char *host)
{
    const int node = bw_topology_node_of_pci(topology, gpu->pci_full);

    *info = (struct bw_device_info){
        .ordinal = gpu->ordinal,
        .numa_node = node < 0 ? -1 : bw_topology_node_os_index(topology, node),
        .memory_bytes = gpu->memory_bytes,
        .sm_count = gpu->sm_count,
        .capability_major = gpu->capability_major,
        .capability_minor = gpu->capability_minor,
    };
    snprintf(info->name, sizeof(info->name), "%s", gpu->name);
    snprintf(info->pci, sizeof(info->pci), "%s", gpu->pci);
    snprintf(info->uuid, sizeof(info->uuid), "%s", gpu->uuid);
    snprintf(info->host, sizeof(info->host), "%s", host);
}

enum bw_status bw_inventory_gpus(struct bw_run *run, const struct bw_gpus *gpus,
                                 const struct bw_topology *topology)
{
    const size_t count = (size_t)gpus->count;

    run->cuda_version = gpus->driver_version;
    if (bw_nvml_open()) {
        snprintf(run->driver_version, sizeof(run->driver_version), "%s", bw_nvml_driver_version());
    }
    run->devices = calloc(count + 1, sizeof(*run->devices));
    run->peer = calloc(count * count + 1, sizeof(*run->peer));
    if (run->devices == NULL || run->peer == NULL) {
        return bw_errno("no memory for %zu devices", count);
    }
    run->device_count = gpus->count;
    for (size_t i = 0; i < count; i++) {
        fill_device(&run->devices[i], &gpus->gpus[i], topology, run->host);
        run->is_simulated |= strncmp(gpus->gpus[i].name, "Simulated", 9) == 0;
    }
    if (count != 0) {
        memcpy(run->peer, gpus->peer, count * count * sizeof(*run->peer));
    }
    return BW_OK;
}
