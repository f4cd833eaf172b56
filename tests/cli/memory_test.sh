#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One process on memory made as that of ranks is: the same values on simulated
# GPUs, all device buffers by cuMemCreate, none left at the end.
set -u
bwtool=$1
build=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

run() { # NAME ARGUMENTS...
    local name=$1
    shift
    LD_LIBRARY_PATH=$build/sim SIM_MACHINE=$root/tests/sim/machines/h200x2.txt \
        SIM_TRACE=1 SIM_REPORT=1 timeout 60 "$bwtool" "$@" -b 1000001B -i 2 \
        -t device_to_device_memcpy_read_ce device_to_device_bidirectional_memcpy_read_ce \
        host_to_device_memcpy_sm shmem_all_gather_push >"$dir/$name" 2>"$dir/$name.err" ||
        echo "$name: status $?"
}

{
    run plain
    run created --created-memory
    diff "$dir/plain" "$dir/created"
    for call in cuMemCreate cuMemRelease; do
        grep -q "call [0-9]*: $call " "$dir/plain.err" && echo "plain: $call was called"
    done
    made=$(grep -c 'call [0-9]*: cuMemCreate ' "$dir/created.err")
    [ "$made" -ge 6 ] || echo "created: only $made buffers"
    [ "$made" = "$(grep -c 'call [0-9]*: cuMemRelease ' "$dir/created.err")" ] ||
        echo "created: not all of $made were released"
    grep -i 'not given back' "$dir/created.err"
} >"$dir/wrong"
if [ -s "$dir/wrong" ]; then
    cat "$dir/wrong"
    echo "not ok one process on memory made by cuMemCreate"
    failed=1
else
    echo "ok one process on memory made by cuMemCreate"
fi
exit $failed
