/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_NVML_H
#define BW_NVML_H

#include <stdbool.h>
#include <stddef.h>

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

/* True if the GPU is split by MIG. */
bool bw_nvml_is_mig(const char *uuid);

#endif
