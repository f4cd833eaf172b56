#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each step of one rank fails: BWTOOL BUILD RANK PART. All ranks end, at once,
# with one line that says what happened to whom, and a status that is not 0.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
rank=$3
case $4 in
share) calls='cuMemCreate_3 cuMemExportToShareableHandle_1 cuMemImportFromShareableHandle_1
    cuMemAddressReserve_1 cuMemMap_1 cuMemMap_2 cuMemSetAccess_1 cuMemSetAccess_2' ;;
queue) calls='cuDevicePrimaryCtxRetain_1 cuStreamCreate_1 cuStreamCreate_2 cuMemGetInfo_1 cuLaunchKernel_1
    cuLaunchKernel_2 cuLaunchKernel_3' ;;
finish) calls='cuMemcpyAsync_1 cuMemcpyAsync_5 cuEventRecord_1 cuEventRecord_2 cuEventElapsedTime_1
    cuStreamQuery_1 cuStreamQuery_4 cuEventQuery_1' ;;
esac
# Where one of the GPUs has nothing to do, the other gives up by the virtual clock: let that go on soon.
export SIM_EXTRA='patience 50 300'
for call in $calls; do
    RANK_EXTRA="$rank $SIM_EXTRA; fail ${call%_*} ${call#*_} CUDA_ERROR_UNKNOWN" LIMIT=40 \
        ranks 2 h200x2 -t multinode_device_to_device_memcpy_read_ce -b 16K -i 1
    {
        [ "$status" = 1 ] || echo "status $status"
        says "error: rank $rank .*\[CUDA_ERROR_UNKNOWN\]"
    } | verdict "rank $rank: call ${call#*_} of ${call%_*} fails"
done
exit $failed
