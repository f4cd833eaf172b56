#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Many ranks on two cores, and what a pair costs: BWTOOL BUILD RANKS or "flat".
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
what=$3

# "COLLECTIVES BYTES" a pair of the one testcase in the record.
cost() {
    python3 - "$work/out" "$1" <<'END'
import json, sys
case = json.load(open(sys.argv[1]))["bwtool"]["testcases"][0]
pairs = int(sys.argv[2]) * (int(sys.argv[2]) - 1)
print(case["ranks"]["collectives"] / pairs, case["ranks"]["bytes"] / pairs)
END
}

if [ "$what" = flat ]; then
    export LIMIT=60
    for n in 2 3 6; do
        ranks "$n" h200x8 -t multinode_device_to_device_memcpy_read_ce -b 4K -i 1 -j
        cost "$n"
    done >"$work/costs" 2>&1
    {
        [ "$(sort -u "$work/costs" | wc -l)" = 1 ] || cat "$work/costs"
        awk '$1 > 6 || $2 > 256' "$work/costs"
    } | verdict "a pair costs as many collectives and bytes on 2, 3 and 6 ranks"
    exit $failed
fi

ranks "$what" h200x8 -t multinode_bisect_write_ce multinode_device_to_device_all_to_one_write_sm -b 64K -i 2
{
    [ "$status" = 0 ] || { echo "status $status"; head -n 20 "$work/err"; }
    grep -q "^SUM multinode_bisect_write_ce $((400 * what)).00$" "$work/out" || grep SUM "$work/out"
    grep -q "^SUM multinode_device_to_device_all_to_one_write_sm" "$work/out" || echo "no fan"
} | verdict "$what ranks on one host"
exit $failed
