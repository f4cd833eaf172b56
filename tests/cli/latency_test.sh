#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Latencies are those of loads, whatever reading the GPU's timer around them
# costs. On the simulated driver. Usage: latency_test.sh BWTOOL BUILD_FOLDER
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need_simulator

# Values of one testcase on two GPUs of few multiprocessors, a line each.
latencies() { # TESTCASE LINES of a machine file
    run -g 2 -x "gpu * sm 132;$2" -F json -i 1 -t "$1"
    [ "$status" = 0 ] || cat "$work/err"
    python3 -c 'import json, sys
for row in json.load(open(sys.argv[1]))["bwtool"]["testcases"][0]["matrices"][0]["cells"]:
    for cell in row:
        if cell["value"] is not None:
            print("%.3f" % cell["value"])' "$work/out"
}

for testcase in host_device_latency_sm device_to_device_latency_sm device_to_device_latency_tma; do
    latencies $testcase 'timer 0' >"$work/free"
    for ns in 32 1000; do
        {
            [ "$(wc -l <"$work/free")" = 2 ] || cat "$work/free"
            latencies $testcase "timer $ns" | diff "$work/free" -
        } | verdict "$testcase: a timer that takes $ns ns to read is no part of it"
    done
done
finish
