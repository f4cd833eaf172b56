/* SPDX-License-Identifier: Apache-2.0 */
/* The second image, for --profile only: the operators' kernels once more, with frames. */
#define BW_PROFILE
#include "shmem.cu"

#include "frame_tick.cu"
