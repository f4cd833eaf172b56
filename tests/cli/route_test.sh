#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Dispatch and combine on simulated GPUs: every row of every receive area with
# 1 to 8 ranks, routes of all kinds, counted bytes, and planted faults.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=operators_lib.sh
. "$(dirname "$0")/operators_lib.sh"
need_simulator

# record EXPRESSION: true of each case c of the JSON record, with its routes r.
record() {
    python3 -c '
import json, sys
for t in json.load(open(sys.argv[1]))["bwtool"]["testcases"]:
    for c in t["operator"]["cases"]:
        r = c["route"]
        if not eval(sys.argv[2]):
            print(t["name"], "not so:", sys.argv[2], r, {k: c[k] for k in c if "bytes" in k})
' "$work/out" "$1"
}

rows=(shmem_dispatch shmem_combine)

for gpus in 1 2 3 4 8; do
    for k in 1 2 8; do
        {
            on "$gpus" -p "${rows[@]}" --hidden 24 --tokens 13 --top-k "$k"
            expect 0 $?
            grep '^Waived' "$work/out"
        } | verdict "all rows, every byte, top-$k of $gpus ranks"
    done
    {
        on "$gpus" -p "${rows[@]}" --hidden 24 --tokens 9 --skew one
        expect 0 $?
        on "$gpus" -p "${rows[@]}" --hidden 24 --tokens 9 --skew 16 --top-k 1
        expect 0 $?
    } | verdict "nothing but to one rank of $gpus"
done

for dtype in fp16 bf16 fp32 int32 int8; do
    {
        # No multiple of 16 bytes, less than one, and more than a block has under way.
        on 3 -p "${rows[@]}" --hidden 33 --tokens 17 --dtype "$dtype"
        expect 0 $?
        on 3 -p "${rows[@]}" --hidden 1 --tokens 1 --dtype "$dtype"
        expect 0 $?
        on 2 -p "${rows[@]}" --hidden 17001 --tokens 2 --dtype "$dtype"
        expect 0 $?
    } | verdict "tokens of all lengths, $dtype"
    {
        for placement in b r; do
            on 3 -t shmem_dispatch_push shmem_dispatch_pull shmem_dispatch_tma shmem_combine_pull \
                --placement "$placement" --hidden 40 --tokens 9 --skew 1 --dtype "$dtype"
            expect 0 $?
        done
        for placement in a b r; do
            on 3 -t "${rows[@]}" --placement "$placement" --hidden 40 --tokens 9 --dtype "$dtype"
            expect 0 $?
        done
    } | verdict "all placements, $dtype"
done

{
    on 3 -p "${rows[@]}" --hidden 16 --tokens 60 --ctas 1 3 16
    expect 0 $?
    [ "$(grep -c '^best of the grids' "$work/out")" -ge 8 ] || cat "$work/out"
} | verdict "grids"

{
    on 2 -t shmem_dispatch_tiles --placement b -b 2K
    expect 2 $?
    grep -q 'placement B would not be honest' "$work/err" || cat "$work/err"
    on 2 -t shmem_dispatch --top-k 9 --experts 4 -b 2K
    expect 2 $?
    grep -q 'cannot go to 9 experts where there are 8 (4 on each of 2 ranks): give' "$work/err" ||
        cat "$work/err"
    on 2 -t shmem_combine --top-k 9 --experts 8 --skew one -b 2K
    expect 2 $?
    grep -q 'cannot go to 9 experts of one rank that has 8' "$work/err" || cat "$work/err"
    on 2 -t shmem_combine --tokens 3000000 --hidden 1
    expect 2 $?
    grep -q 'give fewer --tokens' "$work/err" || cat "$work/err"
    for word in -1 17 x nan inf 1e1 ''; do
        on 2 -t shmem_combine --skew "$word"
        expect 2 $?
    done
    for option in --top-k --experts --hidden --tokens; do
        on 2 -t shmem_combine "$option" 0
        expect 2 $?
    done
} | verdict "what cannot be is an error that explains itself"

# Fault kinds are those of tests/sim/kernels/shmem_faults.h, then the rank.
while read -r fault row what; do
    {
        SIM_SHMEM_FAULT=$fault on 2 -t "$row" --hidden 64 --tokens 512
        expect 1 $?
        grep -Eq "$what" "$work/err" || cat "$work/err"
    } | verdict "fault $fault in $row is seen"
done <<'END'
1:1 shmem_dispatch_push gave up
2:1 shmem_dispatch_push gave up
1:0 shmem_dispatch_tma gave up
2:1 shmem_dispatch_pull gave up
10:0 shmem_dispatch_pull are wrong
2:1 shmem_dispatch_tiles gave up
12:0 shmem_dispatch_tiles are wrong
2:0 shmem_combine_pull gave up
10:0 shmem_combine_pull are wrong
2:0 shmem_combine_tiles gave up
12:0 shmem_combine_tiles are wrong
END

for row in shmem_dispatch_push shmem_dispatch_pull shmem_dispatch_tma shmem_dispatch_tiles \
    shmem_combine_pull shmem_combine_tiles; do
    {
        on 2 -t "$row" --hidden 64 --tokens 30 --corrupt-word 13
        expect 1 $?
        grep -q 'verification failed after the timed loop: 4 bytes are wrong, the first at offset 52 of' \
            "$work/err" || cat "$work/err"
    } | verdict "a flipped word in $row is seen"
done
{
    # Rank 1 gets nothing: what is wrong there is a row that nothing may come to.
    on 2 -t shmem_dispatch --skew one --hidden 64 --tokens 30 --corrupt-word 13
    expect 1 $?
    grep -q 'rank 0' "$work/err" || cat "$work/err"
} | verdict "a flipped word is seen where a rank gets nothing"

{
    on 4 -j -t "${rows[@]}" --hidden 64 --tokens 256 --skew 1.5 --route-seed 11 --dtype bf16
    expect 0 $?
    record 'c["payload_bytes"] == 256 * 64 * 2 and c["dtype"] == "bf16"'
    record '(r["tokens"], r["hidden"], r["top_k"], r["experts_per_rank"]) == (256, 64, 8, 32)'
    record 'r["skew"] == 1.5 and r["seed"] == 11 and c["bus_factor_src"] == "counted"'
    record 'sum(b["sent"] for b in r["bytes_of_ranks"]) == sum(b["received"] for b in r["bytes_of_ranks"])'
    record 'max(max(b["sent"], b["received"]) for b in r["bytes_of_ranks"]) == c["bus_factor"] * c["payload_bytes"]'
    record 'r["bytes_of_ranks"][r["bus_factor_rank"]] == dict(sent=c["wire_bytes_sent"], received=c["wire_bytes_recv"], local=c["local_bytes"])'
    record 'abs(c["kernel_bus_bandwidth_GBps"] - c["kernel_algo_bandwidth_GBps"] * c["bus_factor"]) < 1e-6'
    cp "$work/out" "$work/first"
    on 4 -j -t "${rows[@]}" --hidden 64 --tokens 256 --skew 1.5 --route-seed 11 --dtype bf16
    python3 -c '
import json, sys
a, b = [[c["route"] for t in json.load(open(f))["bwtool"]["testcases"] for c in t["operator"]["cases"]]
        for f in sys.argv[1:]]
if a != b or a[0] == a[1]: print("routes differ", a, b)
if [x["sent"] for x in a[0]["bytes_of_ranks"]] != [x["received"] for x in a[1]["bytes_of_ranks"]]:
    print("combine does not bring back what dispatch sent")' "$work/first" "$work/out"
} | verdict "the record has the routes, and bytes that add up"

{
    on 4 -j -t shmem_dispatch --skew one --hidden 64 --tokens 256
    record 'r["skew"] == "one" and c["bus_factor"] == 3 and r["bus_factor_rank"] == 0'
    record 'c["wire_bytes_recv"] == 3 * c["payload_bytes"] and c["wire_bytes_sent"] == 0'
    on 1 -j -t shmem_dispatch --hidden 64 --tokens 256
    record 'c["bus_factor"] == 0 and c["bandwidth_utilization_pct"] is None'
    record 'c["local_bytes"] == c["payload_bytes"]'
} | verdict "one rank that gets all, and one rank that is all"

{
    on 2 -t shmem_dispatch --hidden 64 --tokens 256 --skew 2 --perf
    expect 0 $?
    [ "$(grep -Ec '^\[PERF\] pe=[01] .* peak_bandwidth_GBps=450.00 bus_factor_src=counted$' "$work/out")" = 2 ] ||
        cat "$work/out"
    grep -q '^routes: bus_factor_src=counted: ' "$work/out" || cat "$work/out"
} | verdict "text says that the bus factor is counted, and of which rank"

{
    on 2 -j -t shmem_combine --hidden 64 --sweep 1B:2048B
    expect 0 $?
    python3 -c '
import json, sys
t = json.load(open(sys.argv[1]))["bwtool"]["testcases"][0]
tokens = [c["route"]["tokens"] for c in t["operator"]["cases"]]
if tokens != [1, 2, 4, 8, 16]: print(tokens)' "$work/out"
    on 2 -j -t shmem_combine --hidden 64 --tokens 5 --sweep 1B:2048B
    record 'c["route"]["tokens"] == 5 and c["case_id"] == 0'
} | verdict "a sweep has each number of tokens once, and --tokens wins"

{
    "$bwtool" --dry-run=2 -t shmem_dispatch_pull --placement b --tokens 4096 >"$work/out" 2>"$work/err"
    expect 0 $?
    grep -q '^shmem_dispatch_pull 58720256 bytes fp16 e2e placement B .*: stage D0>S0 stage D0>S0 stage D0>S0 barrier dispatch S0>D\*$' "$work/out" ||
        cat "$work/out"
    "$bwtool" --dry-run=2 -t shmem_combine_pull --placement b --tokens 4096 >"$work/out" 2>"$work/err"
    grep -q ' e2e .*@0: stage D0>S0 barrier combine S0>D\*$' "$work/out" || cat "$work/out"
    "$bwtool" --dry-run=2 -t shmem_combine --top-k 64 --experts 1 >"$work/out" 2>"$work/err"
    grep -q 'nothing to run on 2 GPUs: a token cannot go to 64 experts' "$work/err" || cat "$work/err"
} | verdict "a dry run shows the copies that a placement needs"

{
    "$bwtool" --explain shmem_dispatch_pull shmem_combine >"$work/out" 2>&1
    expect 0 $?
    grep -q '^110, shmem_dispatch_pull:$' "$work/out" || cat "$work/out"
    tr -s ' \n' ' ' <"$work/out" | grep -q 'there is no route prefetch' || cat "$work/out"
} | verdict "what a testcase of the second table counts is explained under its index"
finish
