/* SPDX-License-Identifier: Apache-2.0 */
/* All kernels, one image. A new kernel gets a line in BW_KERNELS (bwtool/kernels.h), too. */
#include "chase.cu"
#include "copy.cu"
#include "gate.cu"
#include "pattern.cu"
