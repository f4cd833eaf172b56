#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the program itself prints, where, and what it returns: with testcases
# that need no GPU, so that it is the same everywhere.
# Usage: output_test.sh BWTOOL [BUILD_FOLDER]
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

run() { # ARGUMENTS...: stdout into out, stderr into err, status into $status
    "$bwtool" "$@" >out 2>err
    status=$?
}
# shellcheck disable=SC2317 # check calls it
is_json() {
    python3 -m json.tool out >/dev/null
}
# shellcheck disable=SC2317 # check calls it
member() { # EXPRESSION over d, the document; EXPECTED
    [ "$(python3 -c "import json; d = json.load(open('out')); print($1)")" = "$2" ]
}

run -l
check "the list returns 0" [ "$status" = 0 ]
check "the list leaves stderr empty" [ ! -s err ]
check "the list begins with the testcase that always was the first" \
    grep -qx '0, host_to_device_memcpy_ce:' out
listed=$(grep -cE '^[0-9]+, [a-z0-9_]+:$' out)
run -l -j
check "the list is there as JSON" is_json
check "and as long" member 'len(d)' "$listed"

run -b 1M -i 2 -t cpu_read
check "a host testcase returns 0" [ "$status" = 0 ]
check "the first line names the version and what it is compatible with" \
    grep -qE '^bwtool Version: v[0-9.]+ \(nvbandwidth v0\.8 compatible\)$' <(head -n 1 out)
check "its sum is a number" grep -qE '^SUM cpu_read [0-9]+\.[0-9]{2}$' out
check "nothing follows the sums" grep -q '^SUM ' <(grep -v '^$' out | tail -n 1)

run -j -b 1M -i 2 -t cpu_read
check "the document is JSON" is_json
check "the first line is a bracket" [ "$(head -n 1 out)" = "{" ]
check "and so is the last" [ "$(tail -n 1 out)" = "}" ]
check "nothing is said on stderr when nothing failed" [ ! -s err ]
check "it has passed" member 'd["nvbandwidth"]["testcases"][0]["status"]' Passed
check "two samples were asked for and taken" \
    member 'd["bwtool"]["testcases"][0]["matrices"][0]["cells"][0][0]["n"]' 2
check "the command is in it" member 'd["bwtool"]["command"][-1]' cpu_read

run -b 1M -i 2 -t nosuch cpu_read
check "an unknown testcase beside a known one returns 2" [ "$status" = 2 ]
check "it has its line" grep -qx 'ERROR: Testcase nosuch not found!' out
check "and the other one runs" grep -q '^SUM cpu_read ' out

run -F perf -b 1M -i 2 -t cpu_latency
check "perf has its own sums" grep -qE '^&&&& PERF cpu_latency [0-9]+\.[0-9]{2} -ns$' out

for format in text json; do
    "$bwtool" -F "$format" -b 1M -i 2 -t cpu_read >/dev/full 2>err
    status=$?
    check "$format that cannot be written is a failure" [ "$status" = 1 ]
    check "$format that cannot be written is said" grep -q 'could not be written' err
done

finish
