#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every operator over ranks, BWTOOL BUILD RANKS: every byte right, the times
# those of one process that drives all GPUs, and the record says who and how.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
n=$3

# both ARGUMENTS...: in one process, then over ranks.
both() {
    printf 'gpus %d\ninclude %s/tests/sim/machines/h200.txt\n' "$n" "$root" >"$work/machine"
    SIM_MACHINE=$work/machine timeout 60 "$bwtool" "$@" -i 2 --loopCount 4 -j >"$work/one" \
        2>"$work/one.err" || echo "in one process: status $?"
    ranks "$n" h200x8 "$@" -i 2 --loopCount 4 -j
    [ "$status" = 0 ] || { echo "status $status"; head -n 20 "$work/err"; }
    python3 - "$work/one" "$work/out" "$n" <<'END'
import json, sys
one, all = [json.load(open(name))["bwtool"]["testcases"] for name in sys.argv[1:3]]
n = int(sys.argv[3])
if [case["name"] for case in one] != [case["name"] for case in all] or not all:
    print("other rows:", [case["name"] for case in all])
for a, b in zip(one, all):
    if a["verdict"] != b["verdict"] or b["verdict"] not in ("passed", "waived"):
        print(b["name"], b["verdict"], b["reason"], "in one process:", a["verdict"])
        continue
    if b["verdict"] == "waived":
        print(b["name"], "is waived:", b["reason"])
        continue
    if b["ranks"]["memory"] != "POSIX file descriptor":
        print(b["name"], "memory by", b["ranks"]["memory"])
    if not 0 <= b["ranks"]["start_skew_ns"] <= 10000:
        print(b["name"], "starts", b["ranks"]["start_skew_ns"], "ns apart")
    if len(a["operator"]["cases"]) != len(b["operator"]["cases"]):
        print(b["name"], "has other points")
    for p, q in zip(a["operator"]["cases"], b["operator"]["cases"]):
        for key in "row", "placement", "dtype", "n_pes", "ctas", "payload_bytes", "iterations":
            if p[key] != q[key]:
                print(b["name"], key, p[key], q[key])
        if q["rounds_checked"] != 6:
            print(b["name"], q["rounds_checked"], "rounds were checked")
        issuers = {"shmem_put": 1, "shmem_get": 1, "shmem_put_signal": 2}.get(b["name"], n)
        times = [us for us in q["kernel_us_of_ranks"] if us is not None]
        if len(q["kernel_us_of_ranks"]) != n or len(times) != issuers:
            print(b["name"], "ranks:", q["kernel_us_of_ranks"])
        for key in "kernel_us", "e2e_us", "staging_us":
            if p[key] is None and key == "staging_us" and q[key] is None:
                continue
            if p[key] is None or q[key] is None or abs(q[key] - p[key]) > 1e-3 * p[key] + 1e-6:
                print(b["name"], q["payload_bytes"], key, p[key], "in one process,", q[key], "over ranks")
END
}

# What all rows do, 2 and 3 ranks show; with more, a row of each algorithm, and what sums over many.
rows=(-p shmem_)
what="all rows"
if [ "$n" -gt 3 ]; then
    rows=(-t shmem_get shmem_barrier shmem_all_to_all_push shmem_all_gather_pull shmem_all_gather_tma
        shmem_broadcast_ce shmem_reduce_scatter_tiles shmem_all_reduce_two_shot
        shmem_all_reduce_ll shmem_reduce_scatter_poison4 shmem_all_reduce_multicast
        shmem_combine_pull)
    what="a row of each algorithm"
fi
both "${rows[@]}" -b 5001B | verdict "$what on $n ranks as in one process"
for placement in b r; do
    both -t shmem_all_gather_push shmem_broadcast_ce --placement "$placement" --sweep 2B:2000B:1000 |
        verdict "placement $placement, one element and more, on $n ranks"
done
for placement in b r; do
    both -t shmem_dispatch_pull shmem_dispatch_push shmem_combine_pull --placement "$placement" \
        --hidden 40 --tokens 50 --skew 1.5 | verdict "routes, placement $placement, on $n ranks"
done
both -t shmem_dispatch_tiles shmem_combine_tiles --hidden 40 --tokens 50 --skew one |
    verdict "all tokens to one of $n ranks"
{
    ranks "$n" h200x8 -t shmem_all_reduce -b 4K -i 1 --loopCount 4 --perf
    [ "$status" = 0 ] || { echo "status $status"; head -n 20 "$work/err"; }
    for ((r = 0; r < n; r++)); do
        grep -Ec "^\[PERF\] pe=$r e2e_us=[0-9.]+ kernel_us=[0-9.]+ .* payload_bytes=4096 " "$work/out"
    done | grep -v '^1$'
    [ "$(grep -c '^shmem_all_reduce: ' "$work/out")" = 1 ] || echo "more or less than one table"
} | verdict "a [PERF] line for each of $n ranks, all by rank 0"
{
    ranks "$n" h200x8 -t shmem_all_gather_push --placement a -b 2K
    [ "$status" = 2 ] || echo "status $status"
    says 'placement A would not be honest'
} | verdict "an impossible placement is an error that explains itself, $n ranks"
exit $failed
