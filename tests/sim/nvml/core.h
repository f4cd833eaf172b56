/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_NVML_CORE_H
#define SIM_NVML_CORE_H

#include "machine.h"
#include "nvml.h"

/* The inside of the stand-in: one lock, a machine, and how often each state was looked at. */

extern struct sim_machine nvml_machine;

/* First thing in an entry point: count the call, plant faults. NVML_SUCCESS, or what to return. */
int nvml_enter(const char *name, unsigned long *calls, bool need_init);
void nvml_leave(const int *unused);
#define ENTER(name, need_init)                                    \
    __attribute__((cleanup(nvml_leave))) const int entered_ = 0;  \
    static unsigned long calls_;                                  \
    {                                                             \
        const int early_ = nvml_enter(#name, &calls_, need_init); \
        (void)entered_;                                           \
        if (early_ != NVML_SUCCESS) {                             \
            return early_;                                        \
        }                                                         \
    }

/* NULL if the handle is none. */
const struct sim_gpu *nvml_gpu(const struct nvml_device *device);
/* A state's present value: one more look at it. */
double nvml_state(struct nvml_device *device, enum sim_state_name state);
/* The same into `value`; NVML_NOT_SUPPORTED where it is -1. */
int nvml_get(struct nvml_device *device, enum sim_state_name state, unsigned *value);
int nvml_get_large(struct nvml_device *device, enum sim_state_name state,
                   unsigned long long *value);
/* Whether that NVLink is there at all, and whether it is up. */
bool nvml_has_link(const struct nvml_device *device, unsigned link);
bool nvml_is_up(struct nvml_device *device, unsigned link);
/* The handle of a GPU, or of its instance. */
struct nvml_device *nvml_device(int gpu, bool is_instance);

#endif
