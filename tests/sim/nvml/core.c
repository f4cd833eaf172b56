/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sim_machine nvml_machine;
static struct nvml_device devices[SIM_GPUS_MAX], instances[SIM_GPUS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded, is_bad;
static unsigned initialised;
static unsigned long all_calls;

_Static_assert((size_t)SIM_STATE_COUNT <= sizeof(devices[0].looks) / sizeof(devices[0].looks[0]),
               "a count of looks for each state");

SIM_NVML int nvmlInit_v2(void);
SIM_NVML int nvmlInit(void);
SIM_NVML int nvmlInitWithFlags(unsigned flags);
SIM_NVML int nvmlShutdown(void);
SIM_NVML const char *nvmlErrorString(int result);

static void load(void)
{
    is_loaded = true;
    is_bad = sim_machine_from_environment(&nvml_machine) != 0;
    for (int i = 0; i < SIM_GPUS_MAX; i++) {
        devices[i].gpu = instances[i].gpu = i;
        instances[i].is_instance = true;
    }
}

int nvml_enter(const char *name, unsigned long *calls, bool need_init)
{
    pthread_mutex_lock(&lock);
    if (!is_loaded) {
        load();
    }
    ++*calls;
    all_calls++;
    if (is_bad) {
        return NVML_UNKNOWN;
    }
    for (int i = 0; i < nvml_machine.fault_count; i++) {
        const struct sim_fault *fault = &nvml_machine.faults[i];
        const bool any = strcmp(fault->entry, "nvml*") == 0;

        if (fault->kind == FAULT_FAIL && (any || strcmp(fault->entry, name) == 0) &&
            (unsigned long)fault->nth == (any ? all_calls : *calls)) {
            return fault->error;
        }
    }
    return need_init && initialised == 0 ? NVML_UNINITIALIZED : NVML_SUCCESS;
}

void nvml_leave(const int *unused)
{
    (void)unused;
    pthread_mutex_unlock(&lock);
}

int nvmlInitWithFlags(unsigned flags)
{
    ENTER(nvmlInit_v2, false)
    (void)flags; /* a machine without GPUs is fine */
    if (nvml_machine.driver <= 0) {
        return NVML_DRIVER_NOT_LOADED;
    }
    initialised++;
    return NVML_SUCCESS;
}

int nvmlInit_v2(void)
{
    return nvmlInitWithFlags(0);
}

int nvmlInit(void)
{
    return nvmlInitWithFlags(0);
}

int nvmlShutdown(void)
{
    ENTER(nvmlShutdown, true)
    initialised--;
    return NVML_SUCCESS;
}

/* With SIM_REPORT set: what was not shut down. */
__attribute__((destructor)) static void report(void)
{
    if (getenv("SIM_REPORT") != NULL && is_loaded) {
        fprintf(stderr, "sim: NVML: %lu calls; left: %u initialisations\n", all_calls, initialised);
    }
}

/* The texts are our own: nobody should compare them. */
const char *nvmlErrorString(int result)
{
    switch ((enum nvml_result)result) {
    case NVML_SUCCESS:
        return "all is well";
    case NVML_UNINITIALIZED:
        return "not initialised";
    case NVML_INVALID_ARGUMENT:
        return "a bad argument";
    case NVML_NOT_SUPPORTED:
        return "not supported";
    case NVML_NO_PERMISSION:
        return "no permission";
    case NVML_NOT_FOUND:
        return "not found";
    case NVML_INSUFFICIENT_SIZE:
        return "too little room";
    case NVML_DRIVER_NOT_LOADED:
        return "the driver is not loaded";
    case NVML_TIMEOUT:
        return "timed out";
    case NVML_FUNCTION_NOT_FOUND:
        return "no such function";
    case NVML_GPU_IS_LOST:
        return "the GPU is lost";
    case NVML_UNKNOWN:
        return "an unknown error";
    }
    return "an error that nobody knows";
}

struct nvml_device *nvml_device(int gpu, bool is_instance)
{
    return is_instance ? &instances[gpu] : &devices[gpu];
}

const struct sim_gpu *nvml_gpu(const struct nvml_device *device)
{
    const bool is_known = (device >= devices && device < devices + SIM_GPUS_MAX) ||
                          (device >= instances && device < instances + SIM_GPUS_MAX);

    return is_known && device->gpu < nvml_machine.gpu_count ? &nvml_machine.gpus[device->gpu]
                                                            : NULL;
}

double nvml_state(struct nvml_device *device, enum sim_state_name state)
{
    const struct sim_state *s = &nvml_gpu(device)->states[state];
    const double look = (double)++device->looks[state];

    return s->from > 0 && look >= s->from && look < s->until ? s->changed : s->value;
}

int nvml_get_large(struct nvml_device *device, enum sim_state_name state, unsigned long long *value)
{
    double now;

    if (nvml_gpu(device) == NULL || value == NULL) {
        return NVML_INVALID_ARGUMENT;
    }
    now = nvml_state(device, state);
    *value = (unsigned long long)now;
    return now < 0 ? NVML_NOT_SUPPORTED : NVML_SUCCESS;
}

int nvml_get(struct nvml_device *device, enum sim_state_name state, unsigned *value)
{
    unsigned long long large = 0;
    const int result =
        value == NULL ? NVML_INVALID_ARGUMENT : nvml_get_large(device, state, &large);

    if (result == NVML_SUCCESS) {
        *value = (unsigned)large;
    }
    return result;
}

bool nvml_has_link(const struct nvml_device *device, unsigned link)
{
    return link < NVML_NVLINKS_MAX && (double)link < nvml_gpu(device)->states[STATE_nvlinks].value;
}

bool nvml_is_up(struct nvml_device *device, unsigned link)
{
    return ((unsigned long)nvml_state(device, STATE_nvlinks_down) >> link & 1) == 0;
}
