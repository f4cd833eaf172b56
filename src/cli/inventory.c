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
    snprintf(run->mpi_version, sizeof(run->mpi_version), "%s", world->mpi_version);
}

void bw_inventory_nodes(struct bw_run *run, const struct bw_topology *topology)
{
    const int count = bw_topology_node_count(topology);

    run->nodes = calloc((size_t)count + 1, sizeof(*run->nodes));
    if (run->nodes == NULL) {
        bw_warn("no memory for the NUMA nodes: the record goes without");
        return;
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

/* What the machine says, whatever the number of ranks. */
static void find_driver(struct bw_run *run, const struct bw_gpus *gpus)
{
    run->cuda_version = gpus->driver_version;
    if (bw_nvml_open()) {
        snprintf(run->driver_version, sizeof(run->driver_version), "%s", bw_nvml_driver_version());
    }
}

enum bw_status bw_inventory_ranks_all(struct bw_run *run, struct bw_world *world,
                                      const struct bw_gpus *gpus, enum bw_status found,
                                      const struct bw_topology *topology)
{
    struct bw_device_info mine;
    enum bw_status st = BW_OK;
    int own = 0;

    memset(&mine, 0, sizeof(mine));
    run->devices = calloc((size_t)world->ranks, sizeof(*run->devices));
    if (run->devices == NULL) {
        st = bw_errno("no memory for %d devices", world->ranks);
    } else {
        st = found == BW_OK ? bw_session_choose_gpu(world, gpus, &own) : found;
    }
    if (st == BW_OK) {
        find_driver(run, gpus);
        fill_device(&mine, &gpus->gpus[own], topology, run->host);
        mine.rank = world->rank;
    }
    TRY(bw_world_agree_all(world, st, "finding every rank's GPU"));
    TRY(bw_world_gather_all(world, &mine, run->devices, sizeof(mine)));
    run->device_count = world->ranks;
    for (int i = 0; i < world->ranks; i++) {
        run->is_simulated |= strncmp(run->devices[i].name, "Simulated", 9) == 0;
    }
out:
    return st;
}

void bw_inventory_sharing(struct bw_run *run, const struct bw_session *session)
{
    for (int i = 0; i < run->device_count; i++) {
        struct bw_device_info *device = &run->devices[i];
        struct bw_rank_info info;

        if (!bw_session_rank(session, device->rank, &info)) {
            return;
        }
        device->has_sharing = true;
        device->visible_gpus = info.visible;
        device->sees_all = info.sees_all;
        device->has_multicast = info.has_multicast;
        device->has_imex_channel = info.has_imex_channel;
        device->fabric_state = info.fabric_state;
        device->fabric_clique = info.clique;
        snprintf(device->fabric_answer, sizeof(device->fabric_answer), "%s", info.fabric_answer);
        snprintf(device->fd_answer, sizeof(device->fd_answer), "%s", info.fd_answer);
        snprintf(device->fabric_cluster, sizeof(device->fabric_cluster), "%s", info.cluster);
    }
}

enum bw_status bw_inventory_gpus(struct bw_run *run, const struct bw_gpus *gpus,
                                 const struct bw_topology *topology)
{
    const size_t count = (size_t)gpus->count;

    find_driver(run, gpus);
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
