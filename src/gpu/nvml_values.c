/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks, heat, errors and the rest, as numbers; what cannot be told is -1. */
#include "nvml_table.h"

#include "bwtool/nvml.h"

#include <string.h>

/* The library's structure of a field; `scope` is a link's number where the field has links. */
struct field {
    unsigned id, scope;
    long long timestamp, latency_us;
    unsigned type;
    int result;
    union {
        double real;
        unsigned natural;
        unsigned long number;
        unsigned long long large;
        long long whole;
        int integer;
        unsigned short small;
    } value;
};

enum { FIELDS_MAX = 8, CLOCK_SM = 1, CLOCK_MEMORY = 2 };

static struct {
    int (*clock)(struct bw_nvml_device *device, int clock, unsigned *mhz);
    int (*clock_max)(struct bw_nvml_device *device, int clock, unsigned *mhz);
    int (*temperature)(struct bw_nvml_device *device, int sensor, unsigned *celsius);
    int (*reasons)(struct bw_nvml_device *device, unsigned long long *bits);
    int (*fields)(struct bw_nvml_device *device, int count, struct field *fields);
    int (*plain[BW_NVML_VALUE_COUNT])(struct bw_nvml_device *device, unsigned *value);
} api;

/* Values that a function of their own gives, in the unit that we keep. */
static const char *const plain_symbols[BW_NVML_VALUE_COUNT] = {
    [NVML_power_mw] = "nvmlDeviceGetPowerUsage",
    [NVML_pcie_gen] = "nvmlDeviceGetCurrPcieLinkGeneration",
    [NVML_pcie_width] = "nvmlDeviceGetCurrPcieLinkWidth",
    [NVML_pcie_replays] = "nvmlDeviceGetPcieReplayCounter",
    [NVML_pcie_gen_max] = "nvmlDeviceGetMaxPcieLinkGeneration",
    [NVML_pcie_width_max] = "nvmlDeviceGetMaxPcieLinkWidth",
    [NVML_memory_bus_bits] = "nvmlDeviceGetMemoryBusWidth",
    [NVML_power_limit_mw] = "nvmlDeviceGetEnforcedPowerLimit",
};

/* Values that are the sum of fields, which one call gets together. */
static const struct {
    unsigned id;
    enum bw_nvml_value value;
} field_rows[] = {
    {52, NVML_nvlink_replays},    {59, NVML_nvlink_recoveries}, {38, NVML_nvlink_crc_errors},
    {45, NVML_nvlink_crc_errors}, {3, NVML_ecc_corrected},      {4, NVML_ecc_uncorrected},
    {170, NVML_c2c_links},        {172, NVML_c2c_mbps},
};

void bw_nvml_table_fill(void)
{
    memset(&api, 0, sizeof(api));
    bw_nvml_look_up("nvmlDeviceGetClockInfo", &api.clock);
    bw_nvml_look_up("nvmlDeviceGetMaxClockInfo", &api.clock_max);
    bw_nvml_look_up("nvmlDeviceGetTemperature", &api.temperature);
    bw_nvml_look_up("nvmlDeviceGetCurrentClocksEventReasons", &api.reasons);
    if (api.reasons == NULL) { /* its name before driver 535 */
        bw_nvml_look_up("nvmlDeviceGetCurrentClocksThrottleReasons", &api.reasons);
    }
    bw_nvml_look_up("nvmlDeviceGetFieldValues", &api.fields);
    for (int i = 0; i < BW_NVML_VALUE_COUNT; i++) {
        if (plain_symbols[i] != NULL) {
            bw_nvml_look_up(plain_symbols[i], &api.plain[i]);
        }
    }
    bw_nvml_links_fill();
}

void bw_nvml_forget(struct bw_nvml_values *values)
{
    for (int i = 0; i < BW_NVML_VALUE_COUNT; i++) {
        values->of[i] = -1;
    }
}

static int64_t read_clock(struct bw_nvml_device *device, bool is_max, int clock)
{
    int (*ask)(struct bw_nvml_device *, int, unsigned *) = is_max ? api.clock_max : api.clock;
    unsigned mhz = 0;

    return ask != NULL && ask(device, clock, &mhz) == 0 ? (int64_t)mhz : -1;
}

static int64_t read_one(struct bw_nvml_device *device, enum bw_nvml_value what)
{
    unsigned long long bits = 0;
    unsigned value = 0;

    if (what == NVML_sm_mhz) {
        return read_clock(device, false, CLOCK_SM);
    }
    if (what == NVML_memory_mhz || what == NVML_memory_mhz_max) {
        return read_clock(device, what == NVML_memory_mhz_max, CLOCK_MEMORY);
    }
    if (what == NVML_temperature_c) {
        return api.temperature != NULL && api.temperature(device, 0, &value) == 0 ? (int64_t)value
                                                                                  : -1;
    }
    if (what == NVML_throttle) {
        return api.reasons != NULL && api.reasons(device, &bits) == 0 ? (int64_t)(bits & INT64_MAX)
                                                                      : -1;
    }
    return api.plain[what] != NULL && api.plain[what](device, &value) == 0 ? (int64_t)value : -1;
}

static int64_t number_of(const struct field *field)
{
    enum { NATURAL = 1, NUMBER = 2, LARGE = 3, WHOLE = 4, INTEGER = 5, SMALL = 6 };

    if (field->result != 0) {
        return -1;
    }
    switch (field->type) {
    case NATURAL:
        return field->value.natural;
    case NUMBER:
        return (int64_t)(field->value.number & INT64_MAX);
    case LARGE:
        return (int64_t)(field->value.large & INT64_MAX);
    case WHOLE:
        return field->value.whole;
    case INTEGER:
        return field->value.integer;
    case SMALL:
        return field->value.small;
    }
    return -1;
}

/* All fields of the slice by one call. */
static void read_fields(struct bw_nvml_device *device, unsigned first, unsigned end,
                        struct bw_nvml_values *values)
{
    struct field fields[FIELDS_MAX];
    unsigned value_of[FIELDS_MAX];
    int count = 0;

    memset(fields, 0, sizeof(fields));
    for (size_t i = 0; i < sizeof(field_rows) / sizeof(field_rows[0]); i++) {
        const unsigned value = (unsigned)field_rows[i].value;

        if (value >= first && value < end) {
            values->of[value] = -1;
            value_of[count] = value;
            fields[count++].id = field_rows[i].id;
        }
    }
    if (count == 0 || device == NULL || api.fields == NULL ||
        api.fields(device, count, fields) != 0) {
        return;
    }
    for (int i = 0; i < count; i++) {
        int64_t *sum = &values->of[value_of[i]];
        const int64_t more = number_of(&fields[i]);

        *sum = more < 0 ? *sum : more + (*sum < 0 ? 0 : *sum);
    }
}

static bool is_field(unsigned value)
{
    for (size_t i = 0; i < sizeof(field_rows) / sizeof(field_rows[0]); i++) {
        if ((unsigned)field_rows[i].value == value) {
            return true;
        }
    }
    return false;
}

void bw_nvml_read(struct bw_nvml_device *device, unsigned first, unsigned end,
                  struct bw_nvml_values *values)
{
    for (unsigned i = first; i < end; i++) {
        if (!is_field(i)) {
            values->of[i] = device == NULL ? -1 : read_one(device, (enum bw_nvml_value)i);
        }
    }
    read_fields(device, first, end, values);
}
