#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A rank that is killed, or stopped, ends the job with a line that says which,
# and leaves no process behind.
# shellcheck disable=SC1091,SC2154 # lib.sh and lose.sh have what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
. "$root/tests/mpi/lose.sh"

# hit RANK SIGNAL SECONDS WORDS, on $machine.
hit() {
    lose "$@" 'multinode_device_to_device_memcpy_read_ce, cell' "$machine" \
        -t multinode_device_to_device_memcpy_read_ce -b 1M -i 1000000 --loopCount 1000
}
case $3 in
host)
    machine=h200x2
    hit 1 KILL 10 'has died' | verdict "a killed rank"
    hit 1 STOP 25 'is stopped \(by a signal or a debugger\)' | verdict "a stopped rank"
    ;;
hosts) # nobody of its own host is there to see it
    machine=imex2
    export BWTOOL_PRETEND_HOSTS=2
    hit "$4" STOP 25 'shows no sign of life' | verdict "rank $4, alone on its host, is stopped"
    ;;
esac
exit $failed
