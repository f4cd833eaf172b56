#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Run bwtool on simulated GPUs. No number that it prints is a measurement.
set -eu

usage() {
    cat >&2 <<'END'
usage: scripts/simulate.sh [-g GPUS | -m MACHINE] [-x "LINE;LINE..."] [BWTOOL ARGUMENTS...]
  -g GPUS     so many GPUs behind NVSwitches (default 2)
  -m MACHINE  a machine file, or the name of one in tests/sim/machines
  -x LINES    more lines of a machine file, for example faults
The first other word, or what follows --, begins the arguments of bwtool.
The binary is build/bwtool, or BWTOOL_BUILD/bwtool; BWTOOL_TESTS must have been ON.
END
    exit 2
}

root=$(cd "$(dirname "$0")/.." && pwd)
build=${BWTOOL_BUILD:-$root/build}
machines=$root/tests/sim/machines
machine=$machines/h200.txt
begin='gpus 2'
while [ $# -gt 0 ]; do
    case $1 in
    -g | -m | -x) [ $# -gt 1 ] || usage ;;&
    -g) begin="gpus $2" machine=$machines/h200.txt ;;
    -m)
        begin='' machine=$2
        [ -f "$machine" ] || machine=$machines/${2%.txt}.txt
        ;;
    -x) export SIM_EXTRA=$2 ;;
    --)
        shift
        break
        ;;
    *) break ;;
    esac
    shift 2
done

folder=$build/sim
if [ ! -e "$folder/libcuda.so.1" ]; then
    echo "simulate.sh: no $folder/libcuda.so.1: configure with -DBWTOOL_TESTS=ON, or set BWTOOL_BUILD" >&2
    exit 2
fi
export SIM_BEGIN=$begin SIM_MACHINE=$machine
topology=$(mktemp)
trap 'rm -f "$topology"' EXIT
"$folder/topology" >"$topology"
SIM_CPUS=$("$folder/topology" cpus)
libraries=$folder
if "$folder/topology" driver | grep -qE '^1[01]'; then
    libraries=$folder/old:$folder
fi
export SIM_CPUS
# Not exec: the topology's file has to outlive the program, and not longer.
status=0
# Plugins would look for real devices, OpenCL's at the cost of a third of a short run.
HWLOC_XMLFILE=$topology HWLOC_THISSYSTEM=1 HWLOC_COMPONENTS=xml HWLOC_PLUGINS_PATH=/nonexistent \
    LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}$folder/libsimhost.so \
    LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
    "$build/bwtool" "$@" || status=$?
exit $status
