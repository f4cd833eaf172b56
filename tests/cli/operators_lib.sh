# shellcheck shell=bash
# shellcheck disable=SC2154 # of lib.sh
# SPDX-License-Identifier: Apache-2.0
# What the tests of operators share, beside lib.sh.

# on GPUS ARGS...: run there, small; what it says is in $work/out and $work/err. A test may set
# `more`, lines of the machine, and `copies`, those of a sample.
on() {
    local gpus=$1
    shift
    printf 'gpus %d\ninclude %s/tests/sim/machines/h200.txt\n%s\n' "$gpus" "$root" "${more-}" \
        >"$work/machine"
    LD_LIBRARY_PATH=$build/sim SIM_MACHINE=$work/machine timeout 120 \
        "$bwtool" -i 1 --loopCount "${copies:-1}" "$@" >"$work/out" 2>"$work/err"
}

expect() { # STATUS ACTUAL
    if [ "$1" -ne "$2" ]; then
        echo "exit status $2, not $1"
        cat "$work/err"
    fi
}

# Lines on stdin: a fault's kind in tests/sim/kernels/shmem_faults.h with the rank that has it, an
# operator, what is said.
all_faults_seen() {
    local fault row what
    while read -r fault row what; do
        {
            SIM_SHMEM_FAULT=$fault on 2 -t "$row" -b 2K
            expect 1 $?
            grep -Eq "$what" "$work/err" || cat "$work/err"
        } | verdict "fault $fault in $row is seen"
    done
}
