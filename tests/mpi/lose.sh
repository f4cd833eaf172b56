# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2046,SC2086 # words are meant to be split
# shellcheck disable=SC2154 # lib.sh has what is missing here
# A rank that is hit while it measures, for tests that have sourced lib.sh.

# The other ranks have a second to say what happened, as they do outside of tests.
unset OMPI_MCA_odls_base_sigkill_timeout

# A file with the process number of each rank is there from when it begins.
export PID_FOLDER=$work

# What is left of the job; mpirun may return a little before all are gone.
say_left() {
    local p
    for _ in $(seq 50); do
        kill -0 $(cat "$work"/pid.*) 2>/dev/null || break
        sleep 0.1
    done
    for p in "$work"/pid.*; do
        kill -0 "$(cat "$p")" 2>/dev/null && echo "process $(cat "$p") is left"
    done
}

# lose RANK SIGNAL SECONDS WORDS STEP MACHINE ARGUMENTS...: two ranks of that machine measure, and
# one gets the signal. The job ends within so many s, with a line that WORDS has become of it, and at
# which STEP.
lose() {
    local rank=$1 signal=$2 most=$3 words=$4 step=$5 began pid=
    shift 5
    rm -f "$work"/pid.*
    LIMIT=50 ranks 2 "$@" &
    for _ in $(seq 100); do
        pid=$(cat "$work/pid.$rank" 2>/dev/null) && [ -n "$pid" ] && break
        sleep 0.1
    done
    sleep 2
    began=$(date +%s)
    kill "-$signal" "$pid"
    wait $!
    [ $(($(date +%s) - began)) -le "$most" ] || echo "took $(($(date +%s) - began)) s"
    says "rank $rank on .* \(GPU $rank, GPU-.*\) $words; it was at: $step"
    say_left
    [ "$(cat "$work/status")" != 0 ] || echo "status 0"
}
