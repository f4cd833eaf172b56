#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Operators over symmetric memory on simulated GPUs: every row and every byte,
# with 1, 2, 3, 4 and 8 ranks; planted faults must be seen; lines and exit
# statuses that programs rely on.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=operators_lib.sh
. "$(dirname "$0")/operators_lib.sh"

for gpus in 1 2 3 4 8; do
    {
        on "$gpus" -p shmem_ -b 2K
        expect 0 $?
        if [ "$gpus" -gt 1 ] && grep '^Waived' "$work/out"; then
            echo "waived without need"
        fi
    } | verdict "all rows, every byte, $gpus ranks"
done

for dtype in fp16 bf16 fp32 int32 int8; do
    {
        on 3 -p shmem_reduce shmem_all --dtype "$dtype" --sweep 1B:999B:999
        expect 0 $?
    } | verdict "one element, and counts that no rank divides, 3 ranks, $dtype"
done

for row in shmem_all_gather_push shmem_reduce_scatter_pull shmem_all_reduce_two_shot \
    shmem_broadcast_ce; do
    {
        on 2 -t "$row" --placement b -b 2K
        expect 0 $?
        grep -Eq ' B +[0-9]' "$work/out" || cat "$work/out"
    } | verdict "$row with copies outside of the kernel"
done

{
    on 2 -t shmem_all_gather_push --placement a -b 2K
    expect 2 $?
    grep -q 'placement A would not be honest' "$work/err" || cat "$work/err"
} | verdict "an impossible placement is an error that explains itself"
{
    on 2 -t shmem_put_signal --sweep 96M:96M
    expect 0 $?
    grep -q '^Waived: shmem_put_signal: one block moves' "$work/out" || cat "$work/out"
    on 2 -t shmem_put_signal --sweep 128K:128M:1024 --dtype fp32
    expect 0 $?
    grep -Eq '^ +1 +33554432 +fp32 .* of more than 64 MiB' "$work/out" || cat "$work/out"
} | verdict "a size that the row cannot have is waived, alone and after others"

all_faults_seen <"$root/tests/operator_faults.txt"

{
    on 2 -t shmem_all_reduce -b 2K --corrupt-word 77
    expect 1 $?
    grep -q 'verification failed after the timed loop: 4 bytes are wrong' "$work/err" || cat "$work/err"
} | verdict "a flipped word is seen"

{
    on 2 -t shmem_all_gather -b 2K --perf
    expect 0 $?
    n='([0-9.]+|N/A)'
    line="^\[PERF\] pe=[01] e2e_us=$n kernel_us=$n algo_bandwidth_GBps=$n"
    line+=" e2e_bus_bandwidth_GBps=$n kernel_bus_bandwidth_GBps=$n bandwidth_utilization_pct=$n"
    line+=" payload_bytes=2048 bus_factor=0.500000 peak_bandwidth_GBps=450.00$"
    [ "$(grep -Ec "$line" "$work/out")" -eq 2 ] || cat "$work/out"
} | verdict "[PERF] lines have their keys in order, one a rank"

{
    on 2 --perf -t shmem_all_gather -b 2K
    cp "$work/out" "$work/as_text"
    on 2 -F perf --perf -t shmem_all_gather -b 2K
    diff -B "$work/as_text" <(grep -v '^&&&& PERF ' "$work/out")
    [ "$(grep -cE '^&&&& PERF shmem_all_gather [0-9.]+ \+GB/s$' "$work/out")" -eq 1 ] || cat "$work/out"
} | verdict "-F perf has the tables and lines of an operator, and its sum"

{
    on 4 -j -t shmem_all_reduce shmem_reduce_scatter shmem_put shmem_barrier -b 64K --ctas 4 8
    expect 0 $?
    python3 "$root/tests/cli/operators_json.py" "$work/out" 4 2>&1
} | verdict "JSON: the figures of a case follow from one another"

{ # One rank issues it: its own time is the slowest one's.
    run -g 2 -x 'jitter 0.3' -- -j -m -i 7 --loopCount 1 -t shmem_put -b 64K
    python3 -c 'import json, sys
case = json.load(open(sys.argv[1]))["bwtool"]["testcases"][0]["operator"]["cases"][0]
slowest, own = case["kernel_us_slowest_rank"], case["kernel_us_of_ranks"][0]
if slowest["mean"] == slowest["median"] or abs(own / slowest["mean"] - 1) > 1e-9 \
        or abs(case["kernel_us"] / slowest["mean"] - 1) > 1e-9:
    print(own, case["kernel_us"], slowest)' "$work/out" 2>&1
} | verdict "-m: the ranks' own times are means, too"

{
    on 2 --dry-run -t shmem_all_reduce_two_shot shmem_put -b 64K
    expect 0 $?
    for row in shmem_all_reduce_two_shot shmem_put; do
        grep -q "$row" "$work/out" || echo "no plan of $row"
    done
} | verdict "a plan of operators is printed"

plan() { # PATTERN COUNT: lines of the first rank's kernel that have it
    [ "$(grep -cE "kernel placement .*$1.* @0:" "$work/out")" -eq "$2" ] || {
        echo "not $2 lines with $1"
        cat "$work/out"
    }
}
{
    "$bwtool" --dry-run=2 -t shmem_all_gather_push --sweep 4M:16M --ctas 8 16 8 >"$work/out"
    plan '' 6
    plan ' (8|16)x' 6
    for bytes in 4194304 8388608 16777216; do
        [ "$(grep -c " $bytes bytes .* kernel .* @0:" "$work/out")" -eq 2 ] || echo "not $bytes"
    done
    "$bwtool" --dry-run=2 -t shmem_all_gather_push -b 64M >"$work/out"
    plan ' 264x' 1
    more='gpu * sm 6' on 2 --dry-run -t shmem_all_gather_push -b 64M
    plan ' 12x' 1
    # Bulk copies came with Hopper.
    more='gpu * capability 8 0' on 2 --dry-run -t shmem_all_gather_tma -b 64M
    grep -q . "$work/out" && cat "$work/out"
    grep -q 'shmem_all_gather_tma: nothing to run on 2 GPUs: ' "$work/err" || cat "$work/err"
    more='multicast off' on 2 --dry-run -t shmem_all_reduce_multicast --sweep 1M:8M
    grep -q . "$work/out" && cat "$work/out"
    [ "$(grep -c 'nothing to run on 2 GPUs: .*multicast' "$work/err")" -eq 1 ] || cat "$work/err"
} | verdict "a plan has every size and grid, and the ways of these GPUs"

# Bytes need not be compared; but a rank that did not wait for another one was not measured. The
# faults begin behind the warm-up.
while read -r fault row; do
    {
        SIM_SHMEM_FAULT=$fault on 2 -s -t "$row" -b 2K
        expect 1 $?
        grep -q 'gave up after the timed loop' "$work/err" || cat "$work/err"
    } | verdict "without comparing, a wait that gave up is seen: $row"
done <<'END'
2:1:20 shmem_all_reduce_two_shot
4:1:700 shmem_all_gather_ll
END

# Copies that do nothing: those from FIRST to LAST of a run that are not seen. Copies are counted from
# the first on, and kernels with both ends count.
unseen() { # FIRST LAST TESTCASE OPTIONS...
    local first=$1 last=$2 n
    shift 2
    for ((n = first; n <= last; n++)); do
        if more="skip copy $n" on 2 -t "$@"; then
            printf '%d ' "$n"
        fi
    done
}
{ # The fresh rounds: the copies in front of the kernel, and those that it makes.
    found=$(unseen 1 12 shmem_all_gather_pull --placement b -b 4K)
    [ -z "$found" ] || echo "pull: $found"
    found=$(unseen 9 12 shmem_dispatch_pull --placement b --tokens 16 --hidden 64)
    [ -z "$found" ] || echo "dispatch: $found"
} | verdict "a copy into symmetric memory that does nothing is seen"
for row in shmem_put shmem_get; do
    { # Behind 6 fresh rounds and 10 copies that warm up, of which none is compared by itself.
        found=$(unseen 45 62 "$row" -b 4K)
        [ "$(wc -w <<<"$found")" -eq 17 ] || echo "not one of them is seen: $found"
    } | verdict "the one copy that is timed is compared: $row"
done

{ # The others look on.
    on 4 --perf -t shmem_put_signal -b 4K
    [ "$(grep -o '^\[PERF\] pe=[0-9]*' "$work/out" | tr -dc '01-9')" = 01 ] || grep PERF "$work/out"
    on 4 -j -t shmem_put_signal -b 4K
    python3 -c 'import json, sys
case = json.load(open(sys.argv[1]))["bwtool"]["testcases"][0]["operator"]["cases"][0]
ranks = case["kernel_us_of_ranks"]
if abs(case["kernel_us_mean_of_ranks"] / case["kernel_us"] - 1) > 0.05 or ranks[2:] != [None, None]:
    print(case["kernel_us_mean_of_ranks"], ranks)' "$work/out" 2>&1
} | verdict "a ping-pong is of two ranks, however many there are"

{ # Twice the message is 2^32 vectors, which wrapped.
    for row in shmem_broadcast_ll shmem_all_reduce_ll; do
        "$bwtool" --dry-run=2 -t $row -b 64G >"$work/out" 2>"$work/err"
        grep -q 'nothing to run on 2 GPUs: .*give a smaller -b' "$work/err" || cat "$work/err"
    done
    "$bwtool" --dry-run=2 -t shmem_broadcast_ll -b 32G >"$work/out" 2>"$work/err"
    grep -q 'nothing to run on 2 GPUs: a message of 32.0 GiB with its flags is more' "$work/err" || cat "$work/err"
    "$bwtool" --dry-run=2 -t shmem_broadcast_ll -b 16G >"$work/out" 2>"$work/err"
    grep -q '^shmem_broadcast_ll 17179869184 bytes' "$work/out" || cat "$work/err"
} | verdict "a message that a kernel cannot count with its flags is refused"

{
    on 2 -t shmem_put -b 4M --peak nvlink=100000
    expect 4 $?
    grep -qE '^.*warning: shmem_put: below its threshold in 1 of 1 cases, first at 4MiB: [0-9.]+ GB/s on the bus$' \
        "$work/err" || cat "$work/err"
    on 2 -t shmem_put -b 4M
    expect 0 $?
} | verdict "below 20 % of the peak the exit status is 4"

# So many sizes take far longer than the time that is given; on a busy machine not even one may begin.
{
    on 2 -j -t shmem_all_gather_push --sweep 1B:1M:1.1 --max-time 3
    expect 1 $?
    grep -q 'not run: --max-time was over' "$work/out" ||
        grep -q 'the time that --max-time gives was over' "$work/out" || tail -n 5 "$work/out"
} | verdict "--max-time ends a sweep, too"

finish
