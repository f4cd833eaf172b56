#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What must hold of all frames in a record of bwtool --profile -j, read from stdin.

Prints what does not, a line each. Arguments: how many points must have frames at
the least, and how many ranks they must have.
"""
import json
import sys


def near(a, b, part=1e-6):
    return abs(a - b) <= part * max(abs(a), abs(b), 1)


def check(name, frames, ranks):
    rows = frames["table"]
    shares = sum(row["percent_of_e2e"] for row in rows) + frames["unattributed_pct"]
    if not near(shares, 100):
        yield f"{name}: shares and unattributed are {shares} %"
    for row in rows:
        if not near(row["self_us"] / frames["e2e_us"] * 100, row["percent_of_e2e"]):
            yield f"{name}: {row['frame']}: share is not that of self"
        if row["self_us"] > row["incl_us"] * (1 + 1e-9) or row["max_core_us"] < row["avg_us"] * (1 - 1e-9):
            yield f"{name}: {row['frame']}: self above incl, or max below avg"
        if row["is_tail"] != (row["avg_us"] > 0 and row["max_core_us"] / row["avg_us"] > 1.5):
            yield f"{name}: {row['frame']}: tail"
    if sum(row["is_largest_share"] for row in rows) != 1:
        yield f"{name}: not one largest share"
    if len(frames["ranks"]) != ranks:
        yield f"{name}: {len(frames['ranks'])} ranks, not {ranks}"
    for rank in frames["ranks"]:
        if rank["blocks"] < 1 or rank["launches"] < 1:
            yield f"{name}: rank {rank['rank']}: nothing recorded"
        if not near(rank["kernel_us"] - rank["kernel_dev_us"], rank["launch_gap_us"]):
            yield f"{name}: rank {rank['rank']}: launch gap"
    classes = {row["phase"] for row in rows} | set(frames["missing"])
    if classes != {"copy_in/copy_out", "remote_put_get", "signal_or_barrier_wait", "local_compute", "finalize"}:
        yield f"{name}: a phase is neither there nor explained: {sorted(classes)}"
    if not near(frames["perturbation"], frames["kernel_us"] / frames["plain_kernel_us"]):
        yield f"{name}: perturbation"


def main():
    least, ranks = int(sys.argv[1]), int(sys.argv[2])
    seen = 0
    for testcase in json.load(sys.stdin)["bwtool"]["testcases"]:
        for case in (testcase.get("operator") or {}).get("cases", []):
            frames = case.get("frames")
            if frames is None:
                if case["reason"] is None:
                    print(f"{testcase['name']}: no frames, and no reason")
            elif frames["reason"] is None:
                seen += 1
                for line in check(case["row"], frames, ranks):
                    print(line)
    if seen < least:
        print(f"{seen} points have frames, not {least}")


main()
