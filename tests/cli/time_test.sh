#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Where the wall time goes: all of it is in the record, once; and what is asked
# of NVML is bounded. On the simulated driver. Usage: time_test.sh BWTOOL BUILD
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need_simulator

# added WORDS of simulate.sh: the phases of the run and of each testcase add up.
added() {
    run "$@" -j
    [ "$status" = 0 ] || { echo "exit status $status"; cat "$work/err"; }
    python3 -c '
import json, sys
record = json.load(open(sys.argv[1]))["bwtool"]
for part in [record] + record["testcases"]:
    spent, wall = sum(part["phase_seconds"].values()), part["wall_seconds"]
    if not wall - 0.01 - 0.02 * wall <= spent <= wall + 0.001:
        print(part.get("name", "the run"), "took", wall, "s, and its phases", spent)
    if min(part["phase_seconds"].values()) < 0:
        print(part["phase_seconds"])
first = record["testcases"][0]["phase_seconds"]
for phase in sys.argv[2].split():
    if phase not in first:
        print("no", phase, "in", first)
for phase in ("topology", "driver", "contexts", "nvml"):
    if phase not in record["phase_seconds"] or phase in first:
        print(phase, "is in", first)' "$work/out" "warm_up buffers fill queue samples verify"
}
added -g 4 -b 256K -i 2 -t 0 4 12 20 34 | verdict "all wall time is in a phase"
{
    added -g 2 -b 256K -i 2 -s -t 0 | grep -v "no verify in"
    grep -q '"verify": 0\.0*[1-9]' "$work/out" && grep '"verify"' "$work/out" | head -n 2 |
        awk -F': ' '{ sub(",", "", $2); if ($2 > 0.001) print "verifying takes " $2 " s with -s" }'
} | verdict "no time goes into what is skipped"

run -g 2 -b 64K -i 1 -j -t 0 4 7
{
    cp "$work/out" "$work/record"
    python3 -B "$root/scripts/where_time_goes.py" "$work/record" >"$work/table" || echo "it fails"
    grep -qE '^device_to_device_bidirectional_memcpy_write_ce +[0-9.]+ +2 ' "$work/table" || cat "$work/table"
    grep -qE '^starting, and between them +[0-9.]+' "$work/table" || cat "$work/table"
    grep -qE '^[0-9.]+ s: .* Starting takes [0-9.]+ s' "$work/table" || cat "$work/table"
    grep -q '^Simulated' "$work/table" || echo "it does not say that the GPUs are simulated"
    python3 -B "$root/scripts/where_time_goes.py" --markdown - <"$work/record" | grep -c '^| all |' |
        grep -qx 1 || echo "no line for all"
    echo '{}' | python3 -B "$root/scripts/where_time_goes.py" - 2>"$work/err" && echo "no record, and no complaint"
    grep -q 'no record of bwtool' "$work/err" || cat "$work/err"
} | verdict "where_time_goes.py makes a table of it"

# Once a run and GPU: what does not change. A testcase more asks for what does.
calls() {
    SIM_REPORT=1 run -g 8 -b 64K -i 1 -s "$@"
    sed -nE 's/^sim: NVML: ([0-9]+) calls.*/\1/p' "$work/err"
}
{
    one=$(calls -t 0)
    six=$(calls -t 0 1 2 3 0 1)
    echo "note: 8 GPUs: $one calls of NVML for one testcase, $six for six"
    [ "$one" -le 600 ] || echo "one testcase asks $one times"
    # Seven levels and one counter a GPU, and one call for all fields, before and behind each.
    [ $((six - one)) -le $((5 * 2 * 8 * 9 + 8 * 5 * 16)) ] || echo "five more ask $((six - one)) times"
} | verdict "what is asked of NVML does not grow with what stays as it is"
finish
