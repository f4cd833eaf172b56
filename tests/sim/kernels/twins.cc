/* SPDX-License-Identifier: Apache-2.0 */
/* The operators' kernels once more, with frames; their rows are in table.cc. */
#define BW_PROFILE
#include "cuda_words.h"

#include <cmath>

#include "shmem_faults.h"

#undef BW_PROFILE /* profile.cu defines it itself */
#include "kernels/profile.cu"
