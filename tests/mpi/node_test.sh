#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/measure_node.sh with a build that has ranks: BWTOOL BUILD GPUS.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
gpus=$3

printf '#!/bin/bash\nBWTOOL_BUILD=%s exec bash %s/scripts/simulate.sh -g %d -- "$@"\n' "$build" "$root" \
    "$gpus" >"$work/bwtool"
chmod +x "$work/bwtool"
bash "$root/scripts/measure_node.sh" --bwtool "$work/bwtool" --out "$work/node" --args "-b 64K -i 1 --loopCount 4" \
    --skip "growth operators" >"$work/out" 2>"$work/err" </dev/null
status=$?
{
    [ "$status" = 0 ] || { echo "status $status"; cat "$work/out" "$work/err"; }
    grep -q '^ranks  *ran' "$work/out" || cat "$work/out"
    python3 - "$work/node/node.json" "$gpus" <<'END'
import json, sys
node, gpus = json.load(open(sys.argv[1])), int(sys.argv[2])
record = node["ranks"]["bwtool"]
if record["environment"]["ranks"] != gpus:
    print("ranks:", record["environment"]["ranks"])
verdicts = [case["verdict"] for case in record["testcases"]]
if verdicts.count("passed") != 11 or verdicts.count("waived") != 2:
    print(verdicts)
if any("--no-multicast" not in case["reason"] for case in record["testcases"] if case["verdict"] == "waived"):
    print("multicast was not switched off")
END
    grep -q '^| multinode_bisect_write_ce |' "$work/node/node.md" || cat "$work/node/node.md"
} | verdict "a node of $gpus GPUs, one rank each"
exit $failed
