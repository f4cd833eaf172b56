#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Frames over ranks, BWTOOL BUILD RANKS: all ranks' in one table, and one rank
# that cannot have them leaves all without, with its reason, and their results.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
n=$3

{
    ranks "$n" h200x8 -t shmem_all_gather_push shmem_all_gather_pull shmem_all_reduce_two_shot \
        shmem_combine_tiles shmem_barrier -b 64K -i 2 --loopCount 4 --profile -j
    [ "$status" = 0 ] || { echo "status $status"; head -n 20 "$work/err"; }
    python3 "$root/tests/cli/frames_json.py" 3 "$n" <"$work/out"
} | verdict "frames of $n ranks add up"

# The tail is in the last rank's block 2: 30 us in each remote_put.
{
    SIM_FRAME_DELAY=$((n - 1)):2:3:30000 \
        ranks "$n" h200x8 -t shmem_all_gather_push -b 256K -i 2 --loopCount 4 --profile
    [ "$status" = 0 ] || { echo "status $status"; head -n 20 "$work/err"; }
    grep -q "remote_put .*tail: block 2, SM 2, rank $((n - 1)) " "$work/out" ||
        grep -A9 '^frames' "$work/out"
    [ "$(grep -c '^frames of case 0' "$work/out")" = 1 ] || echo "more or less than one table"
} | verdict "the slowest block of $n ranks is named with its rank"

{
    RANK_EXTRA='1 fail cuLibraryLoadData 2 CUDA_ERROR_NO_BINARY_FOR_GPU' \
        ranks "$n" h200x8 -t shmem_all_gather_push -b 64K -i 2 --loopCount 4 --profile
    [ "$status" = 0 ] || { echo "status $status"; head -n 20 "$work/err"; }
    grep -Eq '^frames of case 0: .* none: rank 1 \(.*CUDA_ERROR_NO_BINARY_FOR_GPU' "$work/out" ||
        grep '^frames' "$work/out"
    grep -Eq '^ +0 +[0-9]+ +fp16 ' "$work/out" || echo "no result"
} | verdict "a rank without code for its GPU: no frames, but results, on $n ranks"
exit $failed
