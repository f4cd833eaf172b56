/* SPDX-License-Identifier: Apache-2.0 */
#include "core.h"

#include <stddef.h>
#include <string.h>

/* What changes: clocks, heat, links, errors. */

#define GETTER(name, state)                                         \
    SIM_NVML int name(struct nvml_device *device, unsigned *value); \
    int name(struct nvml_device *device, unsigned *value)           \
    {                                                               \
        ENTER(name, true)                                           \
        return nvml_get(device, STATE_##state, value);              \
    }
GETTER(nvmlDeviceGetMaxPcieLinkGeneration, pcie_gen_max)
GETTER(nvmlDeviceGetGpuMaxPcieLinkGeneration, pcie_gen_max)
GETTER(nvmlDeviceGetCurrPcieLinkGeneration, pcie_gen)
GETTER(nvmlDeviceGetMaxPcieLinkWidth, pcie_width_max)
GETTER(nvmlDeviceGetCurrPcieLinkWidth, pcie_width)
GETTER(nvmlDeviceGetPcieReplayCounter, pcie_replay)
GETTER(nvmlDeviceGetMemoryBusWidth, bus_width)
GETTER(nvmlDeviceGetPersistenceMode, persistence)

#define LARGE_GETTER(name, state)                                             \
    SIM_NVML int name(struct nvml_device *device, unsigned long long *value); \
    int name(struct nvml_device *device, unsigned long long *value)           \
    {                                                                         \
        ENTER(name, true)                                                     \
        return nvml_get_large(device, STATE_##state, value);                  \
    }
LARGE_GETTER(nvmlDeviceGetCurrentClocksThrottleReasons, throttle)
LARGE_GETTER(nvmlDeviceGetCurrentClocksEventReasons, throttle)

/* In thousandths of what the description has. */
#define MILLI_GETTER(name, state)                                   \
    SIM_NVML int name(struct nvml_device *device, unsigned *value); \
    int name(struct nvml_device *device, unsigned *value)           \
    {                                                               \
        ENTER(name, true)                                           \
        const int result = nvml_get(device, STATE_##state, value);  \
                                                                    \
        *value *= result == NVML_SUCCESS ? 1000 : 1;                \
        return result;                                              \
    }
MILLI_GETTER(nvmlDeviceGetPowerUsage, power)
MILLI_GETTER(nvmlDeviceGetEnforcedPowerLimit, power_limit)
MILLI_GETTER(nvmlDeviceGetPowerManagementLimit, power_limit)

/* What a machine for computing does not have. */
#define NONE(name)                                                  \
    SIM_NVML int name(struct nvml_device *device, unsigned *value); \
    int name(struct nvml_device *device, unsigned *value)           \
    {                                                               \
        ENTER(name, true)                                           \
        (void)device, (void)value;                                  \
        return NVML_NOT_SUPPORTED;                                  \
    }
NONE(nvmlDeviceGetFanSpeed)
NONE(nvmlDeviceGetDisplayMode)
NONE(nvmlDeviceGetDisplayActive)

SIM_NVML int nvmlDeviceGetClockInfo(struct nvml_device *device, int clock, unsigned *mhz);
SIM_NVML int nvmlDeviceGetMaxClockInfo(struct nvml_device *device, int clock, unsigned *mhz);
SIM_NVML int nvmlDeviceGetTemperature(struct nvml_device *device, int sensor, unsigned *celsius);
SIM_NVML int nvmlDeviceGetUtilizationRates(struct nvml_device *device,
                                           struct nvml_utilization *rates);
SIM_NVML int nvmlDeviceGetEccMode(struct nvml_device *device, unsigned *now, unsigned *pending);
SIM_NVML int nvmlDeviceGetTotalEccErrors(struct nvml_device *device, int kind, int since,
                                         unsigned long long *count);
SIM_NVML int nvmlDeviceGetMemoryErrorCounter(struct nvml_device *device, int kind, int since,
                                             int where, unsigned long long *count);
SIM_NVML int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *device, unsigned *count,
                                                     struct nvml_process *processes);
SIM_NVML int nvmlDeviceGetGraphicsRunningProcesses_v3(struct nvml_device *device, unsigned *count,
                                                      struct nvml_process *processes);

enum { CLOCK_GRAPHICS, CLOCK_SM, CLOCK_MEMORY, CLOCK_VIDEO };

int nvmlDeviceGetClockInfo(struct nvml_device *device, int clock, unsigned *mhz)
{
    ENTER(nvmlDeviceGetClockInfo, true)
    return clock < CLOCK_GRAPHICS || clock > CLOCK_VIDEO
               ? NVML_INVALID_ARGUMENT
               : nvml_get(device, clock == CLOCK_MEMORY ? STATE_memory_clock : STATE_sm_clock, mhz);
}

int nvmlDeviceGetMaxClockInfo(struct nvml_device *device, int clock, unsigned *mhz)
{
    ENTER(nvmlDeviceGetMaxClockInfo, true)
    return clock < CLOCK_GRAPHICS || clock > CLOCK_VIDEO
               ? NVML_INVALID_ARGUMENT
               : nvml_get(device,
                          clock == CLOCK_MEMORY ? STATE_memory_clock_max : STATE_sm_clock_max, mhz);
}

int nvmlDeviceGetTemperature(struct nvml_device *device, int sensor, unsigned *celsius)
{
    ENTER(nvmlDeviceGetTemperature, true)
    return sensor != 0 ? NVML_INVALID_ARGUMENT : nvml_get(device, STATE_temperature, celsius);
}

int nvmlDeviceGetUtilizationRates(struct nvml_device *device, struct nvml_utilization *rates)
{
    ENTER(nvmlDeviceGetUtilizationRates, true)
    const int result = nvml_get(device, STATE_utilization, &rates->gpu);

    rates->memory = rates->gpu;
    return result;
}

int nvmlDeviceGetEccMode(struct nvml_device *device, unsigned *now, unsigned *pending)
{
    ENTER(nvmlDeviceGetEccMode, true)
    const int result = nvml_get(device, STATE_ecc, now);

    *pending = *now;
    return result;
}

static int get_ecc(struct nvml_device *device, int kind, unsigned long long *count)
{
    if (kind < 0 || kind > 1) {
        return NVML_INVALID_ARGUMENT;
    }
    if (nvml_gpu(device) != NULL && nvml_gpu(device)->states[STATE_ecc].value <= 0) {
        return NVML_NOT_SUPPORTED;
    }
    return nvml_get_large(device, kind == 1 ? STATE_ecc_uncorrected : STATE_ecc_corrected, count);
}

int nvmlDeviceGetTotalEccErrors(struct nvml_device *device, int kind, int since,
                                unsigned long long *count)
{
    ENTER(nvmlDeviceGetTotalEccErrors, true)
    (void)since;
    return get_ecc(device, kind, count);
}

int nvmlDeviceGetMemoryErrorCounter(struct nvml_device *device, int kind, int since, int where,
                                    unsigned long long *count)
{
    ENTER(nvmlDeviceGetMemoryErrorCounter, true)
    (void)since, (void)where;
    return get_ecc(device, kind, count);
}

/* As many others as declared; process 1, so that somebody is there. */
static int get_processes(struct nvml_device *device, unsigned *count,
                         struct nvml_process *processes)
{
    const unsigned room = *count;
    const int result = nvml_get(device, STATE_processes, count);

    if (result != NVML_SUCCESS || *count == 0) {
        return result;
    }
    if (room < *count || processes == NULL) {
        return NVML_INSUFFICIENT_SIZE;
    }
    for (unsigned i = 0; i < *count; i++) {
        processes[i] = (struct nvml_process){i + 1, 1 << 20, ~0u, ~0u};
    }
    return NVML_SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v3(struct nvml_device *device, unsigned *count,
                                            struct nvml_process *processes)
{
    ENTER(nvmlDeviceGetComputeRunningProcesses_v3, true)
    return get_processes(device, count, processes);
}

int nvmlDeviceGetGraphicsRunningProcesses_v3(struct nvml_device *device, unsigned *count,
                                             struct nvml_process *processes)
{
    ENTER(nvmlDeviceGetGraphicsRunningProcesses_v3, true)
    (void)processes;
    *count = 0;
    return nvml_gpu(device) == NULL ? NVML_INVALID_ARGUMENT : NVML_SUCCESS;
}
