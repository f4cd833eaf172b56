#!/usr/bin/env bash
# shellcheck disable=SC2046,SC2086 # words are meant to be split
# SPDX-License-Identifier: Apache-2.0
# Multicast over ranks: both widths, each step failing, and ways to do without.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cases='multinode_device_to_device_broadcast_one_to_all_sm multinode_device_to_device_memcpy_read_ce'
more=shmem_all_reduce_multicast

# waived PATTERN: multicast is, for that reason, and the other testcase passed.
waived() {
    [ "$status" = 0 ] || echo "status $status"
    grep -qE "^Waived: multinode_device_to_device_broadcast_one_to_all_sm: $1" "$work/out" ||
        grep -E 'Waived|broadcast' "$work/out"
    grep -qE "^Waived: $more: $1" "$work/out" || grep -A3 "$more" "$work/out"
    grep -q '^SUM multinode_device_to_device_memcpy_read_ce 800.00$' "$work/out" || echo "no other"
}

for width in 16 4; do
    ranks 2 h200x2 -t $cases -b 70001B -i 1 --multicast-width $width
    {
        [ "$status" = 0 ] || { echo "status $status"; head -n 5 "$work/err"; }
        grep -q '^SUM multinode_device_to_device_broadcast_one_to_all_sm 800.00$' "$work/out" ||
            grep broadcast "$work/out"
    } | verdict "stores of $width bytes"
done
ranks 2 h200x2 -t $cases -b 64K -i 1 --corrupt-word 17
{
    [ "$status" = 1 ] || echo "status $status"
    says 'verification failed: 4 of 65536 bytes are wrong, the first at offset 68'
} | verdict "a wrong word is seen"
ranks 2 h200x2 -t $cases $more -b 64K -i 1 --no-multicast
waived 'multicast is switched off by --no-multicast' | verdict "--no-multicast"
NCCL_NVLS_ENABLE=0 ranks 2 h200x2 -t $cases $more -b 64K -i 1
waived 'multicast is switched off by NCCL_NVLS_ENABLE=0' | verdict "NCCL_NVLS_ENABLE=0"
for fault in '0 fail cuMulticastCreate 1 CUDA_ERROR_NOT_SUPPORTED' \
    '1 fail cuMulticastAddDevice 1 CUDA_ERROR_UNKNOWN' '0 fail cuMulticastBindMem 1 CUDA_ERROR_UNKNOWN' \
    '1 fail cuMulticastBindMem 1 CUDA_ERROR_ILLEGAL_STATE'; do
    call=${fault#* fail } call=${call%% *}
    RANK_EXTRA=$fault ranks 2 h200x2 -t $cases $more -b 64K -i 1
    waived "rank ${fault%% *} .*: multicast does not work here: $call answered [0-9]+ \[CUDA_ERROR_" |
        verdict "$call fails in rank ${fault%% *}"
done
exit $failed
