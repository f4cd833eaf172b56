#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A stream that hangs in one rank ends the job for all within 30 s, and the
# line says whose, and in what. (Most of the time is the wait for it.)
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
began=$(date +%s)
RANK_EXTRA='1 hang stream 2' LIMIT=60 \
    ranks 2 h200x2 -t multinode_device_to_device_memcpy_read_ce multinode_bisect_write_ce -b 64K -i 1
{
    [ "$status" = 1 ] || echo "status $status"
    [ $(($(date +%s) - began)) -le 30 ] || echo "took $(($(date +%s) - began)) s"
    says 'error: rank 1 \(.*\): GPU 1: .* did not end within 15 s'
    grep -q 'multinode_bisect_write_ce.*not run\|^ERROR\|not run' "$work/out" "$work/err" ||
        cat "$work/out"
} | verdict "a hung stream"
exit $failed
