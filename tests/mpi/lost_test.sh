#!/usr/bin/env bash
# shellcheck disable=SC2046,SC2086 # words are meant to be split
# SPDX-License-Identifier: Apache-2.0
# A rank that is killed, or stopped, ends the job with a line that says which,
# and leaves no process behind.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# lose RANK SIGNAL SECONDS WORDS: hit that rank while it measures.
lose() {
    local rank=$1
    shift
    local began pid=
    LIMIT=50 ranks 2 "$machine" -t multinode_device_to_device_memcpy_read_ce -b 1M -i 1000000 \
        --loopCount 1000 &
    for _ in $(seq 100); do
        pid=$(cat "$work/pid.$rank" 2>/dev/null) && [ -n "$pid" ] && break
        sleep 0.1
    done
    sleep 2
    began=$(date +%s)
    kill "-$1" "$pid"
    wait $!
    [ $(($(date +%s) - began)) -le "$2" ] || echo "took $(($(date +%s) - began)) s"
    says "rank $rank on .* \(GPU $rank, GPU-.*\) $3; it was at: multinode_device_to_device_memcpy_read_ce, cell"
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
case $3 in
host)
    machine=h200x2
    lose 1 KILL 10 'has died' | verdict "a killed rank"
    lose 1 STOP 25 'is stopped \(by a signal or a debugger\)' | verdict "a stopped rank"
    ;;
hosts) # nobody of its own host is there to see it
    machine=imex2
    export BWTOOL_PRETEND_HOSTS=2
    lose "$4" STOP 25 'shows no sign of life' | verdict "rank $4, alone on its host, is stopped"
    ;;
esac
exit $failed
