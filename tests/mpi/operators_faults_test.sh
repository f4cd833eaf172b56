#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Operators over ranks in which something goes wrong, BWTOOL BUILD PART [RANK]:
# it is seen, all ranks end, and the other testcases go on where they can.
# shellcheck disable=SC1091,SC2154 # lib.sh and lose.sh have what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$root/tests/mpi/lose.sh"
part=$3
rank=${4-}
# What gives up inside a kernel does so by the virtual clock: let that go on soon.
export SIM_EXTRA='patience 50 300' LIMIT=40

# failed_as PATTERN: one operator has, and says so; another one was measured after it.
failed_as() {
    [ "$status" = 1 ] || echo "status $status"
    says "$1"
    grep -Eq '^ +0 .* [0-9.]+ +[0-9.]+ .* (not_judged|passed)' "$work/out" || {
        echo "nothing was measured after it"
        cat "$work/out"
    }
}

# Fault, row, what is said: in a folder of its own.
planted() {
    work=$work/$1-$2
    mkdir "$work"
    SIM_SHMEM_FAULT=$1 ranks 2 h200x2 -t "$2" shmem_put -b 2K -i 1 --loopCount 1
    failed_as "error: rank .*$3" | verdict "fault $1 in $2 is seen"
    exit "$failed"
}

protocol() {
    local fault row what pid pids=()
    # Fault kinds are those of tests/sim/kernels/shmem_faults.h, then the rank. Most of their time
    # these wait, for patience and for mpirun: so three at once.
    while read -r fault row what; do
        [ ${#pids[@]} -lt 3 ] || {
            wait "${pids[0]}" || failed=1
            pids=("${pids[@]:1}")
        }
        (planted "$fault" "$row" "$what") </dev/null &
        pids+=($!)
    done <"$root/tests/operator_faults.txt"
    for pid in "${pids[@]}"; do
        wait "$pid" || failed=1
    done
    ranks 2 h200x2 -t shmem_all_reduce -b 2K -i 1 --corrupt-word 77
    {
        [ "$status" = 1 ] || echo "status $status"
        says 'rank 1, GPU 1: verification failed after the timed loop: 4 bytes are wrong'
    } | verdict "a flipped word is seen"
}

# The n-th call of one rank fails; all ranks say so and end.
calls() {
    local call
    for call in $1; do
        RANK_EXTRA="$rank patience 50 300; fail ${call%_*} ${call#*_} CUDA_ERROR_UNKNOWN" \
            ranks 2 h200x2 -t shmem_all_gather_ce shmem_reduce_scatter_pull -b 2K -i 1 --loopCount 1
        {
            [ "$status" = 1 ] || echo "status $status"
            says "error: rank $rank .*\[CUDA_ERROR_UNKNOWN\]"
            grep -q "rank $rank .*CUDA_ERROR_UNKNOWN" "$work/out" || {
                echo "the report does not say whose fault it was"
                cat "$work/out"
            }
        } | verdict "rank $rank: call ${call#*_} of ${call%_*} fails"
    done
}

memory() {
    RANK_EXTRA='1 patience 50 300; fail cuMemAlloc 2 CUDA_ERROR_OUT_OF_MEMORY' \
        ranks 2 h200x2 -t shmem_all_gather_ll shmem_put -b 2K -i 1 --loopCount 1
    failed_as 'rank 1 .*\[CUDA_ERROR_OUT_OF_MEMORY\]' | verdict "no memory for a rank's input"
    SIM_EXTRA='patience 50 300; gpu * memory 400MiB' ranks 2 h200x2 -t shmem_put -b 2K -i 1 \
        --loopCount 1 --sweep 1M:1G:1024
    failed_as '2050.0 MiB of symmetric memory a rank are needed, and 3[0-9][0-9].* MiB are shared' |
        verdict "a window that does not fit, and one that does"
    RANK_EXTRA='1 patience 50 300; fail cuMemCreate 3 CUDA_ERROR_OUT_OF_MEMORY' \
        ranks 2 h200x2 -t shmem_put -b 2K -i 1 --loopCount 1
    {
        [ "$status" = 1 ] || echo "status $status"
        says 'error: rank 1 .*\[CUDA_ERROR_OUT_OF_MEMORY\]'
        grep -q 'rank 1 .*CUDA_ERROR_OUT_OF_MEMORY' "$work/out" || cat "$work/out"
    } | verdict "no memory to share"
}

case $part in
protocol) protocol ;;
prepare) calls 'cuMemcpyAsync_1 cuStreamCreate_3 cuMemsetD8Async_1 cuLaunchKernel_5' ;;
measure) calls 'cuMemcpyAsync_9 cuEventCreate_1 cuLaunchKernel_14 cuEventElapsedTime_1' ;;
memory) memory ;;
lost)
    lose 1 KILL 10 'has died' 'shmem_all_reduce_two_shot, 65536 bytes' h200x2 \
        -t shmem_all_reduce_two_shot -b 64K -i 1000000 --loopCount 40 | verdict "a killed rank"
    ;;
hung)
    began=$(date +%s)
    RANK_EXTRA='1 hang stream 4' ranks 2 h200x2 -t shmem_all_gather shmem_put -b 2K -i 1
    {
        [ "$status" = 1 ] || echo "status $status"
        [ $(($(date +%s) - began)) -le 30 ] || echo "took $(($(date +%s) - began)) s"
        says 'error: rank 1 \(.*\): GPU 1: .* did not end within 15 s'
    } | verdict "a hung stream"
    ;;
esac
exit $failed
