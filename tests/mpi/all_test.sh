#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every testcase over ranks, BWTOOL BUILD RANKS: values as the links allow, and
# the record says who and how.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
n=$3
# Each pair costs a hundredth of a second, and of 8 ranks there are many.
[ "$n" -lt 8 ] && args=(-b 40961B -i 2) || args=(-b 8193B -i 1 --loopCount 4)

ranks "$n" h200x8 -p multinode "${args[@]}" -j
{
    [ "$status" = 0 ] || { echo "status $status"; head -n 20 "$work/err"; }
    python3 - "$work/out" "$n" <<'END'
import json, sys
record, n = json.load(open(sys.argv[1]))["bwtool"], int(sys.argv[2])
one = 400.0  # GB/s out of a GPU, and as much in
expected = {"all_to_one_write_sm": one, "all_from_one_read_sm": one, "broadcast_all_to_all_sm": None}
if [case["index"] for case in record["testcases"]] != list(range(35, 48)):
    print("the testcases are", [case["index"] for case in record["testcases"]])
for case in record["testcases"]:
    if case["verdict"] != "passed":
        print(case["name"], case["verdict"], case["reason"])
        continue
    if case["ranks"]["memory"] != "POSIX file descriptor":
        print(case["name"], "memory by", case["ranks"]["memory"])
    # The timers' zeros are 1 ms apart; a call of the driver moves them by 1 us.
    if not 0 <= case["ranks"]["start_skew_ns"] <= 10000:
        print(case["name"], "starts", case["ranks"]["start_skew_ns"], "ns apart")
    for matrix in case["matrices"]:
        want = 2 * one if matrix["key"].endswith("_total") else one
        if "broadcast_all_to_all" in case["name"]:
            want = one * n / max(1, n - 1)  # what comes in is what the others send
        labels = [f"{i}->{(i + n // 2) % n}" for i in range(n)] if "bisect" in case["name"] else None
        if matrix.get("row_labels") != labels:
            print(matrix["key"], "has rows", matrix.get("row_labels"))
        if matrix["rows"] == matrix["cols"] and matrix["rows"] > 1 and any(
                matrix["cells"][i][i]["value"] is not None for i in range(n)):
            print(matrix["key"], "has a value of a rank with itself")
        cells = [cell for row in matrix["cells"] for cell in row if cell["value"] is not None]
        count = n * (n - 1) if matrix["rows"] == matrix["cols"] == n else matrix["rows"] * matrix["cols"]
        if len(cells) != count:
            print(matrix["key"], "has", len(cells), "values, not", count)
        for cell in cells:
            if abs(cell["value"] / want - 1) > 0.02:
                print(matrix["key"], cell["value"], "instead of", want)
devices = record["devices"]
if [d["rank"] for d in devices] != list(range(n)) or len({d["uuid"] for d in devices}) != n:
    print("devices:", devices)
if any("sharing" not in d or d["sharing"]["fd_handles"] != "CUDA_SUCCESS" for d in devices):
    print("a rank's facts are missing:", devices)
if not all(d["sharing"]["sees_all_ranks"] for d in devices):
    print("all see all GPUs, and the record denies it:", devices)
if record["environment"]["ranks"] != n:
    print("ranks:", record["environment"]["ranks"])
END
} | verdict "all 13 testcases on $n ranks"
exit $failed
