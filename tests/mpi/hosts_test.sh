#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kinds of handles, and several hosts, which are pretended: what is shared by
# what, and what is said where nothing can be.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# kind WANTED: by what memory travelled, or the reason why not.
kind() {
    python3 - "$work/out" "$1" <<'END'
import json, sys
case = json.load(open(sys.argv[1]))["bwtool"]["testcases"][0]
found = case["ranks"]["memory"] if "ranks" in case else case["verdict"] + ": " + str(case["reason"])
if sys.argv[2] not in found:
    print("found:", found)
END
}
run() { # MACHINE [TESTCASE]
    ranks 2 "$1" -t "${2:-multinode_device_to_device_memcpy_write_sm}" -b 64K -i 1 -j
    [ "$status" = 0 ] || { echo "status $status"; head -n 10 "$work/err"; }
}

{ run h200x2; kind 'POSIX file descriptor'; } | verdict "one host without IMEX: descriptors"
{ run imex2; kind 'fabric handle'; } | verdict "one host with IMEX: fabric handles"
export BWTOOL_PRETEND_HOSTS=2
{ run imex2; kind 'fabric handle'; } | verdict "two hosts of one clique: fabric handles"
{ run h200x2; kind 'between the hosts: rank 0 (pretended-host-0): [CUDA_ERROR_NOT_PERMITTED] no IMEX channel'; } |
    verdict "two hosts without IMEX: waived, and why"
{ run imex2 shmem_all_reduce; kind 'fabric handle'; } | verdict "an operator on two hosts of one clique"
{ run h200x2 shmem_all_reduce; kind 'waived: memory cannot be shared between the hosts: rank 0'; } |
    verdict "an operator on two hosts without IMEX: waived, and why"
RANK_EXTRA='1 gpu * state fabric 2' run imex2 >"$work/unused"
kind 'rank 1 (pretended-host-1): the GPU is in no NVLink fabric yet: its registration is in progress' |
    verdict "a GPU that is not registered"
unset BWTOOL_PRETEND_HOSTS
RANK_EXTRA='0 peer 0 1 off' run h200x2 >"$work/unused"
kind "cannot reach the memory of rank 1's GPU 1" | verdict "no way from one GPU to the other"

RANK_EXTRA='1 fail cuMemCreate 2 CUDA_ERROR_UNKNOWN' ranks 2 h200x2 \
    -t multinode_device_to_device_memcpy_write_sm shmem_put -b 64K -i 1 -j
{
    [ "$status" = 1 ] || echo "status $status"
    says '^bwtool: error: rank 0 .* memory cannot be shared between the ranks: rank 1 .*\[CUDA_ERROR_UNKNOWN\] cuMemCreate fails'
    [ "$(grep -c '"verdict": "failed"' "$work/out")" = 2 ] || grep '"verdict"' "$work/out"
} | verdict "a driver that fails when asked for memory to share: not waived, failed"

RANK_EXTRA='1 fail cuInit 1 CUDA_ERROR_NO_DEVICE' ranks 2 h200x2 \
    -t multinode_device_to_device_memcpy_write_sm -b 64K -i 1 -j
{
    [ "$status" = 3 ] || echo "status $status"
    grep -qE '"error": "rank 1 \(.*\): .*no GPU' "$work/out" || head -n 30 "$work/out" "$work/err"
} | verdict "a rank without a GPU: the record says which, and why"
exit $failed
