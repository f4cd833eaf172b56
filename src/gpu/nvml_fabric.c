/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/nvml.h"
#include "nvml_table.h"

#include <string.h>

struct bw_nvml_fabric bw_nvml_fabric(const char *uuid)
{
    struct {
        unsigned char cluster[16];
        int status;
        unsigned clique;
        unsigned char state;
    } info = {.state = 0};
    int (*ask)(struct bw_nvml_device *, void *) = NULL;
    struct bw_nvml_device *device = bw_nvml_device(uuid);
    struct bw_nvml_fabric fabric = {.is_known = 0};

    bw_nvml_look_up("nvmlDeviceGetGpuFabricInfo", &ask);
    if (device != NULL && ask != NULL && ask(device, &info) == 0) {
        fabric = (struct bw_nvml_fabric){
            .is_known = 1, .state = info.state, .status = info.status, .clique = info.clique};
        memcpy(fabric.cluster, info.cluster, sizeof(fabric.cluster));
    }
    return fabric;
}
