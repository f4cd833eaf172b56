#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A driver that is missing, old, broken or has no GPU: the line on stderr is the
# record's `error`, too. Usage: driver_test.sh BWTOOL BUILD_FOLDER
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need_simulator

# PATTERN WORDS of simulate.sh: as JSON and as text.
no_use() {
    local pattern=$1
    shift
    run "$@" -j -t host_to_device_memcpy_ce
    [ "$status" = 3 ] || echo "exit status $status"
    grep -qE "^bwtool: error: $pattern" "$work/err" || cat "$work/err"
    python3 -c '
import json, sys
record = json.load(open(sys.argv[1]))
said = [line.split("error: ", 1)[1].strip() for line in open(sys.argv[2]) if ": error: " in line]
for root in ("nvbandwidth", "bwtool"):
    if record[root]["error"] not in said:
        print(root, "has", record[root]["error"], "and not", said)
if record["bwtool"]["testcases"][0]["verdict"] != "not_run":
    print(record["bwtool"]["testcases"][0])' "$work/out" "$work/err"
    run "$@" -t host_to_device_memcpy_ce
    [ "$status" = 3 ] || echo "exit status $status as text"
    grep -qE "^bwtool: error: $pattern" "$work/err" || cat "$work/err"
    ! grep -q '^SUM' "$work/out" || echo "a sum without a GPU"
}

no_use '.*no .*GPU' -g 0 | verdict "a driver without a GPU"
no_use '.*driver is too old: it is for CUDA 11.4' -m old | verdict "an old driver"
no_use '.*CUDA_ERROR_SYSTEM_DRIVER_MISMATCH' -x 'fail cuInit 1 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH' |
    verdict "a driver that does not start"
{ # What was queued before the call that failed has come to its end when the next cell begins.
    run -g 1 -x 'gpu * sm 2;call 1000000;fail cuMemcpyAsync 150 CUDA_ERROR_OUT_OF_MEMORY' -b 512M -i 1 \
        --loopCount 200 -t host_to_device_memcpy_ce host_to_device_memcpy_ce
    [ "$status" = 1 ] || echo "exit status $status"
    [ "$(grep -E '^ *0 ' "$work/out" | xargs)" = '0 N/A 0 55.00' ] || cat "$work/out"
} | verdict "a copy that cannot be queued costs its own cell alone"
# What is set, what is told of it, what is there then: in one queue the second of two streams would
# never come to its gate. A machine of more than 8 GPUs has more.
if [ "$(find /dev -maxdepth 1 -name 'nvidia[0-9]*' | wc -l)" -le 8 ]; then
    while read -r set_ told there; do
        {
            unset CUDA_DEVICE_MAX_CONNECTIONS
            [ "$set_" = - ] || export CUDA_DEVICE_MAX_CONNECTIONS=$set_
            run -g 1 -j -b 64K -i 2 -t host_to_device_bidirectional_memcpy_ce
            unset CUDA_DEVICE_MAX_CONNECTIONS
            [ "$status" = 0 ] || echo "exit status $status"
            python3 -c 'import json, sys
    record = json.load(open(sys.argv[1]))["bwtool"]
    there = record["environment"]["variables"].get("CUDA_DEVICE_MAX_CONNECTIONS", "-")
    told = sum("too few for streams" in m["text"] for m in record["messages"])
    if (there, told) != (sys.argv[3], int(sys.argv[2])):
        print(there, told)' "$work/out" "$told" "$there"
        } | verdict "streams have queues of their own where '$set_' is asked for"
    done <<'END'
- 0 -
1 1 8
nonsense 1 8
8 0 8
32 0 32
END
fi
if ! ldconfig -p 2>/dev/null | grep -q libcuda.so.1; then
    {
        "$bwtool" -j -t 0 >"$work/out" 2>"$work/err"
        [ $? = 3 ] || echo "another exit status"
        grep -qF '"error": "no NVIDIA driver: libcuda.so.1: ' "$work/out" || head -n 40 "$work/out"
    } | verdict "no driver at all"
fi
finish
