/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_NVML_H
#define BW_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * NVML, reached by dlopen("libnvidia-ml.so.1"), optional: without it, or
 * without one of its functions, values are unknown, and nothing fails. The few
 * declarations that we need are our own: not every toolkit installs nvml.h.
 */

/* False, with a note why, if NVML cannot be used; calling it again is harmless. */
bool bw_nvml_open(void);
void bw_nvml_close(void);

/* Version of the kernel driver, e.g. "570.124.06"; "" if unknown. The module's own. */
const char *bw_nvml_driver_version(void);

/* Handle of the device by UUID ("GPU-...", "MIG-..."), or NULL. */
struct bw_nvml_device;
struct bw_nvml_device *bw_nvml_device(const char *uuid);

/* Why two GPUs have no peer access, in NVML's words, e.g. "chipset not supported"; NULL if unknown.
 */
const char *bw_nvml_p2p_reason(const char *uuid_a, const char *uuid_b);

/* Where the GPU stands in an NVLink fabric. Zeroed: NVML does not say. */
struct bw_nvml_fabric {
    int is_known;
    int state;  /* 0 not supported, 1 not started, 2 in progress, 3 completed            */
    int status; /* of a completed registration: NVML's result code, 0 is success          */
    unsigned clique;
    unsigned char cluster[16]; /* all zero: no fabric */
};
struct bw_nvml_fabric bw_nvml_fabric(const char *uuid);

/* True if the GPU is split by MIG. */
bool bw_nvml_is_mig(const char *uuid);

/* Values that change, values that only rise, values that stay. Zero means zero; -1: unknown. */
/* clang-format off */
#define BW_NVML_LEVELS(V)                                                            \
    V(sm_mhz) V(memory_mhz) V(throttle) V(temperature_c) V(power_mw) V(pcie_gen) V(pcie_width)
#define BW_NVML_COUNTERS(V)                                                          \
    V(pcie_replays) V(nvlink_replays) V(nvlink_recoveries) V(nvlink_crc_errors)      \
    V(ecc_corrected) V(ecc_uncorrected)
#define BW_NVML_TRAITS(V)                                                            \
    V(pcie_gen_max) V(pcie_width_max) V(memory_mhz_max) V(memory_bus_bits)           \
    V(power_limit_mw) V(c2c_links) V(c2c_mbps)
/* clang-format on */

enum bw_nvml_value {
#define V(name) NVML_##name,
    BW_NVML_LEVELS(V) BW_NVML_COUNTERS(V) BW_NVML_TRAITS(V)
#undef V
        BW_NVML_VALUE_COUNT
};

/* Slices of the above: from the first to before the next. */
enum {
    BW_NVML_FIRST_LEVEL = NVML_sm_mhz,
    BW_NVML_FIRST_COUNTER = NVML_pcie_replays,
    BW_NVML_FIRST_TRAIT = NVML_pcie_gen_max,
};

struct bw_nvml_values {
    int64_t of[BW_NVML_VALUE_COUNT];
};

/* Bits of `throttle`: why clocks are lower than asked for. */
enum {
    BW_THROTTLE_IDLE = 0x1,
    BW_THROTTLE_CLOCKS_SETTING = 0x2,
    BW_THROTTLE_POWER_CAP = 0x4,
    BW_THROTTLE_HW_SLOWDOWN = 0x8,
    BW_THROTTLE_SYNC_BOOST = 0x10,
    BW_THROTTLE_SW_THERMAL = 0x20,
    BW_THROTTLE_HW_THERMAL = 0x40,
    BW_THROTTLE_POWER_BRAKE = 0x80,
    BW_THROTTLE_DISPLAY_CLOCKS = 0x100,
};

/* All -1. */
void bw_nvml_forget(struct bw_nvml_values *values);

/*
 * Ask for the values from `first` to before `end`; the others stay as they
 * are. Some are asked for together, so a slice costs less than its values one
 * by one. `device` NULL: all unknown.
 */
void bw_nvml_read(struct bw_nvml_device *device, unsigned first, unsigned end,
                  struct bw_nvml_values *values);

/* NVLinks of a GPU. Counts are -1 where unknown, 0 where there are none. */
struct bw_nvml_links {
    int there, active;
    int mbps;        /* of one link, one way, before line coding; -1: unknown */
    bool has_switch; /* they lead to switches, so to any GPU behind them       */
};
struct bw_nvml_links bw_nvml_links(struct bw_nvml_device *device);

/* Active NVLinks that lead straight to the GPU at `pci` ("00000000:0f:00"); -1: unknown. */
int bw_nvml_links_to(struct bw_nvml_device *device, const char *pci);

/* How far apart two GPUs are on PCIe: 0 (one board) to 50 (across sockets); -1: unknown. */
int bw_nvml_path(struct bw_nvml_device *a, struct bw_nvml_device *b);

/* Processes that compute on the GPU, ours included; -1: unknown. */
int bw_nvml_processes(struct bw_nvml_device *device);

/* The GPU that a MIG instance is of; other devices are their own. */
struct bw_nvml_device *bw_nvml_whole(struct bw_nvml_device *device);

#endif
