#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a pair costs, however many ranks there are.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# "COLLECTIVES BYTES" a pair of the one testcase in the record, but for what it asks all ranks at its
# end: whether a GPU's errors show only then.
cost() {
    python3 - "$work/out" "$1" <<'END'
import json, sys
case = json.load(open(sys.argv[1]))["bwtool"]["testcases"][0]
pairs = int(sys.argv[2]) * (int(sys.argv[2]) - 1)
print((case["ranks"]["collectives"] - 1) / pairs, (case["ranks"]["bytes"] - 8) / pairs)
END
}

for n in 2 3 6; do
    ranks "$n" h200x8 -t multinode_device_to_device_memcpy_read_ce -b 4K -i 1 -j
    cost "$n"
done >"$work/costs" 2>&1
{
    [ "$(sort -u "$work/costs" | wc -l)" = 1 ] || cat "$work/costs"
    awk '$1 > 7 || $2 > 256' "$work/costs"
} | verdict "a pair costs as many collectives and bytes on 2, 3 and 6 ranks"
exit $failed
