/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators over symmetric memory; the later files use what is in the earlier
 * ones. All but the tools have frames (shmem_frames.h) and, by profile.cu, twins.
 */
#include "shmem_push.cu"
#include "shmem_tiles.cu"
#include "shmem_words.cu"

#include "shmem_multicast.cu"

#include "shmem_tma.cu"

#include "shmem_signals.cu"

#include "shmem_route.cu"
#include "shmem_route_tiles.cu"
#include "shmem_route_tma.cu"

#ifndef BW_PROFILE
#include "shmem_tools.cu"

#include "shmem_route_pack.cu"
#include "shmem_route_tools.cu"
#endif
