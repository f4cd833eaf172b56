#!/usr/bin/env bash
# shellcheck disable=SC2046,SC2086 # words are meant to be split
# SPDX-License-Identifier: Apache-2.0
# A rank that is killed, or stopped, ends the job with a line that says which,
# and leaves no process behind.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# lose SIGNAL SECONDS WORDS: hit rank 1 while it measures.
lose() {
    local began pid=
    LIMIT=50 ranks 2 h200x2 -t multinode_device_to_device_memcpy_read_ce -b 1M -i 1000000 \
        --loopCount 1000 &
    for _ in $(seq 100); do
        pid=$(cat "$work/pid.1" 2>/dev/null) && [ -n "$pid" ] && break
        sleep 0.1
    done
    sleep 2
    began=$(date +%s)
    kill "-$1" "$pid"
    wait $!
    [ $(($(date +%s) - began)) -le "$2" ] || echo "took $(($(date +%s) - began)) s"
    says "rank 1 on .* \(GPU 1, GPU-.*\) $3; it was at: multinode_device_to_device_memcpy_read_ce, cell"
    for _ in $(seq 50); do # mpirun may return a little before they are gone
        kill -0 $(cat "$work"/pid.*) 2>/dev/null || break
        sleep 0.1
    done
    for p in "$work"/pid.*; do
        kill -0 "$(cat "$p")" 2>/dev/null && echo "process $(cat "$p") is left"
    done
    [ -s "$work/status" ] && [ "$(cat "$work/status")" = 0 ] && echo "status 0"
    rm -f "$work"/pid.*
}
export PID_FOLDER=$work
lose KILL 10 'has died' | verdict "a killed rank"
lose STOP 25 'is stopped \(by a signal or a debugger\)' | verdict "a stopped rank"
exit $failed
