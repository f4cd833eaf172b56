/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_HOST_FREE_H
#define BW_HOST_FREE_H

#include <stddef.h>

/*
 * Host memory that this process can still get without pushing anything out:
 * the kernel's own estimate, or what its control group has left, if that is
 * less. SIZE_MAX if the system does not say. `root` is prepended to the
 * paths, "" for the real ones.
 */
size_t bw_host_free_bytes(const char *root);

#endif
