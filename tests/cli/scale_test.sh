#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a cell costs the product itself, whatever the number of GPUs: CPU time
# outside of the simulated driver, memory, and calls of the driver. Prints a
# table; docs/MEASUREMENTS.md has a longer one, from SCALE_GPUS="2 4 8 16 36 72"
# SCALE_TESTCASES="$(seq -s ' ' 0 34)" SCALE_BUFFER=16M.
# Usage: scale_test.sh BWTOOL BUILD_FOLDER
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need_simulator
cd "$work" || exit 1
read -r -a gpus <<<"${SCALE_GPUS-4 16}"
read -r -a testcases <<<"${SCALE_TESTCASES-6 13 22 34}"

values() { # how many cells of the JSON document in out have a value
    python3 -c '
import json
tested = json.load(open("out"))["bwtool"]["testcases"]
print(sum(cell is not None and cell.get("value") is not None for t in tested
          for m in t["matrices"] for row in m["cells"] for cell in row))'
}
number() { # PATTERN: the number that it catches in err
    sed -nE "s/$1/\1/p" err
}

# With SIM_CLOCK, time passes as it is simulated; else warming up would be all that is seen.
printf '%5s %8s %10s %10s %8s %8s\n' GPUs cells 'CPU us' 'peak KiB' calls 'wall s'
for n in "${gpus[@]}"; do
    began=$(date +%s.%N)
    SIM_CLOCK=1 SIM_REPORT=1 LD_PRELOAD=$build/tests/libfailing.so \
        run -g "$n" -x 'gpu * sm 2' -j -b "${SCALE_BUFFER-64M}" -i 3 --loopCount 2 -t "${testcases[@]}"
    check "$n GPUs are measured" [ "$status" = 0 ]
    echo "$n $(values) $(number '^sim: ([0-9.]+) ms of CPU time .*') \
        $(number '^failing: .* at most ([0-9]+) bytes: bwtool$') $(number '^sim: ([0-9]+) calls, .*') \
        $began $(date +%s.%N)" >>table
    awk 'END { printf("%5d %8d %10.1f %10.2f %8.1f %8.1f\n", $1, $2, $3 * 1e3 / $2, $4 / 1024 / $2,
            $5 / $2, $7 - $6) }' table
done
# Four times as many GPUs: what grows with them is four times as much, and time is never quite
# the same.
# shellcheck disable=SC2317 # check calls it
flat() { # COLUMN TIMES: nowhere more than so many times what it is where there are fewest GPUs
    awk -v column="$1" -v times="$2" '{ each = $column / $2 } NR == 1 { first = each }
        !(each > 0) || each > times * first { bad = 1 } END { exit bad || NR == 0 }' table
}
check "a cell costs as much CPU time with more GPUs" flat 3 3
check "and as much memory" flat 4 2

# Planning: every launch is a line or more.
plan() { # GPUS: "LINES BYTES" of printing all plans
    LD_PRELOAD=$build/tests/libfailing.so "$bwtool" --dry-run="$1" >out 2>err
    echo "1 $(wc -l <out) $(number '^failing: .* at most ([0-9]+) bytes: bwtool$')"
}
{
    plan 8
    plan 72
} >table
check "a plan for 72 GPUs takes no more memory a launch than one for 8" flat 3 2
finish
