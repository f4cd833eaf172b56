/* SPDX-License-Identifier: Apache-2.0 */
/* What spoils a measurement, and what is only worth a note. */
#include "bwtool/state.h"

#include <stdio.h>
#include <string.h>

/* By place of the bit. What the user or the driver's rules ask for is no fault. */
static const struct {
    const char *name;
    const char *fault; /* in words, if it spoils */
} reasons[] = {
    {"idle", NULL},
    {"clocks_setting", NULL},
    {"power_cap", NULL},
    {"hw_slowdown", "hardware slowdown"},
    {"sync_boost", NULL},
    {"sw_thermal", "thermal slowdown"},
    {"hw_thermal", "hardware thermal slowdown"},
    {"power_brake", "power brake"},
    {"display_clocks", NULL},
};

enum { REASON_COUNT = sizeof(reasons) / sizeof(reasons[0]) };

static const char *const counters[] = {
    [NVML_pcie_replays - BW_NVML_FIRST_COUNTER] = "PCIe replays",
    [NVML_nvlink_replays - BW_NVML_FIRST_COUNTER] = "NVLink replays",
    [NVML_nvlink_recoveries - BW_NVML_FIRST_COUNTER] = "NVLink recoveries",
    [NVML_nvlink_crc_errors - BW_NVML_FIRST_COUNTER] = "NVLink CRC errors",
    [NVML_ecc_corrected - BW_NVML_FIRST_COUNTER] = "corrected memory errors",
    [NVML_ecc_uncorrected - BW_NVML_FIRST_COUNTER] = "uncorrected memory errors",
};

const char *bw_state_throttle_name(int bit)
{
    return bit >= 0 && bit < REASON_COUNT ? reasons[bit].name : NULL;
}

/* Append a part, with a comma before all but the first; what does not fit is cut. */
static void append(char *text, size_t room, const char *part)
{
    const size_t length = strlen(text);

    snprintf(text + length, room - length, "%s%s", length == 0 ? "" : ", ", part);
}

bool bw_state_judge(const struct bw_nvml_values *start, const struct bw_nvml_values *end,
                    int64_t throttle, char *text, size_t room)
{
    char part[80];

    text[0] = '\0';
    for (int i = 0; throttle > 0 && i < REASON_COUNT; i++) {
        /* The general bit comes with those that say more. */
        const bool is_said = (1 << i) == BW_THROTTLE_HW_SLOWDOWN &&
                             (throttle & (BW_THROTTLE_HW_THERMAL | BW_THROTTLE_POWER_BRAKE)) != 0;

        if ((throttle >> i & 1) != 0 && reasons[i].fault != NULL && !is_said) {
            append(text, room, reasons[i].fault);
        }
    }
    for (int i = BW_NVML_FIRST_COUNTER; i < BW_NVML_FIRST_TRAIT; i++) {
        const int64_t from = start->of[i];
        const int64_t to = end->of[i];

        if (from >= 0 && to > from) { /* less: somebody has reset it */
            snprintf(part, sizeof(part), "%lld %s", (long long)(to - from),
                     counters[i - BW_NVML_FIRST_COUNTER]);
            append(text, room, part);
        }
    }
    return text[0] != '\0';
}
