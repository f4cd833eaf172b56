#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Each rank watches its own GPU, BWTOOL BUILD: what spoils there is unreliable in all of them.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
export STATUS_FOLDER=$work/each
mkdir "$STATUS_FOLDER"
cases=(-t multinode_device_to_device_memcpy_read_ce shmem_all_reduce_two_shot -b 16K -i 1 --loopCount 1)

both() { # ARGUMENTS: a testcase and an operator, over two ranks
    rm -f "$STATUS_FOLDER"/*
    ranks 2 h200x2 "${cases[@]}" "$@"
}

# each STATUS: all ranks have returned it.
each() {
    [ "$(cat "$STATUS_FOLDER"/status.* | sort | uniq -c | tr -s ' ')" = " 2 $1" ] ||
        tail "$STATUS_FOLDER"/status.*
}

# verdicts EXPECTED: of the record, a line a testcase.
verdicts() {
    python3 - "$work/out" <<'END' | diff - <(printf '%s\n' "$@")
import json, re, sys
for t in json.load(open(sys.argv[1]))["bwtool"]["testcases"]:
    doubts = {c.get("doubt") for row in t["matrices"][0]["cells"] for c in row if c["value"] is not None}
    print(t["name"], t["verdict"], re.sub(r"\(.*?\)", "(HOST)", str(t["reason"])), doubts == {t["reason"]}, len(t["state"]))
END
}

both -j
{
    each 0
    verdicts 'multinode_device_to_device_memcpy_read_ce passed None True 2' \
        'shmem_all_reduce_two_shot passed None True 2'
} | verdict "of healthy GPUs both are passed"
for throttled in 0 1; do
    RANK_EXTRA="$throttled gpu * state throttle 64" both -j
    what="rank $throttled (HOST): GPU $throttled: hardware thermal slowdown"
    {
        each 5
        verdicts "multinode_device_to_device_memcpy_read_ce unreliable $what, in each of 3 takes True 2" \
            "shmem_all_reduce_two_shot unreliable $what True 2"
    } | verdict "the GPU of rank $throttled is throttled"
done
RANK_EXTRA='1 gpu 1 state nvlink_crc 0 4 17' both -v
{
    each 0
    says 'row 0, column 1: take 1 of at most 3 is spoiled: rank 1 \(.*\): GPU 1: 17 NVLink CRC errors'
} | verdict "a cell with errors of one rank's links is taken again by all"
exit $failed
