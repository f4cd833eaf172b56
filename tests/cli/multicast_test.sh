#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Operators by multicast, one process on simulated GPUs: every byte, with 2, 3, 4
# and 8 ranks; each way to do without, in words; each step of setting up failing;
# planted faults. tests/mpi/multicast_test.sh has the same over ranks.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=operators_lib.sh
. "$(dirname "$0")/operators_lib.sh"
need_simulator
rows=(shmem_all_gather_multicast shmem_reduce_scatter_multicast shmem_all_reduce_multicast
    shmem_broadcast_multicast)

for gpus in 2 3 4 8; do
    {
        on "$gpus" -t "${rows[@]}" --sweep 1B:1001B:1001
        expect 0 $?
        [ "$(grep -Ec "^ +[01] .* $gpus +sm +multicast +R " "$work/out")" = 8 ] || cat "$work/out"
    } | verdict "one element, and counts that no rank divides, $gpus ranks"
done
while read -r placement first second; do
    {
        on 3 -t "$first" "$second" --placement "$placement" -b 20001B
        expect 0 $?
        [ "$(grep -Ec " multicast +${placement^^} " "$work/out")" = 2 ] || cat "$work/out"
    } | verdict "placement $placement, more than a block, 3 ranks"
done <<'END'
a shmem_all_gather_multicast shmem_broadcast_multicast
b shmem_reduce_scatter_multicast shmem_all_reduce_multicast
END
{
    on 2 -t shmem_all_gather_multicast --placement b
    expect 2 $?
    on 4 -t shmem_all_reduce_multicast -b 4K
    expect 0 $?
    # Summands out and a share of the sums, of which no peer counts: (n+1)/n.
    grep -Eq '^ +0 +4096 +1.5000 .* 5120 +5120 +0$' "$work/out" || cat "$work/out"
} | verdict "what would not be honest is refused, and bytes over links are the switch's"

# waived PATTERN: the row is, for that reason, and another one is measured all the same.
waived() {
    expect 0 $?
    grep -Eq "^Waived: shmem_all_reduce_multicast: $1" "$work/out" || grep Waived "$work/out"
    grep -Eq '^ +0 .* direct +R ' "$work/out" || echo "nothing was measured after it"
}
case_=(-t shmem_all_reduce_multicast shmem_put -b 2K)
{
    more='multicast off' on 2 "${case_[@]}"
    waived 'GPU 0 has no multicast: it needs NVSwitches'
    NCCL_NVLS_ENABLE=0 on 2 "${case_[@]}"
    waived 'multicast is switched off by NCCL_NVLS_ENABLE=0'
    on 2 "${case_[@]}" --no-multicast
    waived 'multicast is switched off by --no-multicast'
    on 2 "${case_[@]}" --dtype int8
    waived 'the switch adds no int8'
    on 1 -t shmem_all_reduce_multicast
    grep -q '^Waived: .*: multicast needs two GPUs, and there is one$' "$work/out" || cat "$work/out"
    on 2 --dry-run=4 --no-multicast -t shmem_all_reduce_multicast
    grep -q 'nothing to run on 4 GPUs: multicast is switched off' "$work/err" || cat "$work/err"
} | verdict "without multicast its operators are waived with the reason"
{
    more='multicast off' on 2 -t shmem_all_reduce --algorithm multicast -b 2K
    expect 0 $?
    grep -q '^Waived: shmem_all_reduce: GPU 0 has no multicast' "$work/out" || cat "$work/err"
    on 1 -t shmem_all_reduce --algorithm multicast -b 2K
    expect 0 $?
    grep -q '^Waived: shmem_all_reduce: multicast needs two GPUs' "$work/out" || cat "$work/err"
    on 2 -t shmem_all_reduce --algorithm multicast --dtype int8 -b 2K
    expect 2 $?
} | verdict "--algorithm multicast: a lack is waived, a contradiction is refused"
while read -r call nth answer; do
    {
        SIM_EXTRA="fail $call $nth $answer" on 2 "${case_[@]}"
        waived "multicast does not work here: $call .*answered [0-9]+ \\[$answer\\]"
    } | verdict "call $nth of $call fails: waived, and the run goes on"
done <<'END'
cuMulticastGetGranularity 1 CUDA_ERROR_NOT_SUPPORTED
cuMulticastCreate 1 CUDA_ERROR_NOT_SUPPORTED
cuMulticastAddDevice 2 CUDA_ERROR_UNKNOWN
cuMulticastBindMem 2 CUDA_ERROR_ILLEGAL_STATE
cuMemSetAccess 3 CUDA_ERROR_NOT_SUPPORTED
cuMemSetAccess 4 CUDA_ERROR_NOT_SUPPORTED
END
{
    SIM_EXTRA='fail cuMemCreate 2 CUDA_ERROR_OUT_OF_MEMORY' on 2 "${case_[@]}"
    waived '\[CUDA_ERROR_OUT_OF_MEMORY\]'
} | verdict "no memory to bind: waived, and the run goes on"

{
    more='gpu * memory 2GiB' on 2 -t shmem_all_gather_multicast --sweep 4M:4G:1024
    expect 1 $?
    grep -Eq '^ +0 +[0-9]+ .* multicast +R? .*[0-9] +(passed|not_judged)' "$work/out" || cat "$work/out"
    grep -Eq '^ +1 .* MiB behind a multicast address are needed' "$work/out" || cat "$work/out"
} | verdict "a size too large for what is behind a multicast address costs itself alone"

# More are in operator_faults.txt.
all_faults_seen <<'END'
1:1 shmem_all_gather_multicast gave up
10:0 shmem_reduce_scatter_multicast are wrong
END
{
    on 2 -t shmem_all_gather_multicast -b 2K --corrupt-word 77
    expect 1 $?
    grep -q 'verification failed after the timed loop: 4 bytes are wrong' "$work/err" || cat "$work/err"
} | verdict "a flipped word is seen"
finish
