/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels, one image. A new kernel gets a line in BW_KERNELS (bwtool/kernels.h), too. */
#include "bulk.cu"
#include "chase.cu"
#include "clock.cu"
#include "copy.cu"
#include "gate.cu"
#include "multicast.cu"
#include "oneway.cu"
#include "pattern.cu"
#include "shmem.cu"
