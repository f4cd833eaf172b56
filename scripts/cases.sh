# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# How test.sh prints and counts cases; sourced. `root` is the source tree.
# shellcheck disable=SC2154 # it is whoever sources this that sets it

passed=0 failed=0 skipped=0
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT

# cases PREFIX FOLDER [CTEST OPTIONS]: run the tests that FOLDER was built with.
cases() {
    local prefix=$1 folder=$2 ok bad skip
    shift 2
    # The exit status says no more than the counts do.
    # One more than there are CPUs, as most tests wait for something at times.
    { ctest --test-dir "$folder" -V -j $(($(nproc) + 1)) --timeout 300 "$@" </dev/null 2>&1 || true; } |
        tee "$folder/ctest.log" |
        awk -v prefix="$prefix" -v counts="$counts" -f "$root/scripts/cases.awk"
    read -r ok bad skip <"$counts"
    # A folder in which no test was found proves nothing.
    if [ $((ok + bad)) -eq 0 ]; then
        printf 'FAILED %sno test ran in %s\n' "$prefix" "$folder"
        bad=1
    fi
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

# lines PREFIX COMMAND...: lines "ok NAME" and "not ok NAME" of the command are cases; what else it
# prints is shown. A status that is not 0 is a failure, and so is a command without cases.
lines() {
    local prefix=$1 ok bad
    shift
    { "$@" </dev/null 2>&1 && echo 'status 0' || echo "status $?"; } |
        awk -v prefix="$prefix" -v counts="$counts" '
            function case_(what, name) { printf "%-6s %s%s\n", what, prefix, name; n[what]++; fflush() }
            /^ok / { case_("ok", substr($0, 4)); next }
            /^not ok / { case_("FAILED", substr($0, 8)); next }
            /^status [0-9]+$/ { status = $2; next }
            { print "       " $0 }
            END {
                if (n["ok"] + n["FAILED"] == 0) case_("FAILED", "no case")
                if (status != 0 && !n["FAILED"]) case_("FAILED", "exit status " status)
                print n["ok"] + 0, n["FAILED"] + 0 >counts
            }'
    read -r ok bad <"$counts"
    passed=$((passed + ok)) failed=$((failed + bad))
}

# each PREFIX LIST COMMAND...: the command with each line of the file LIST as its last argument, on
# all cores; each is a case.
each() {
    local prefix=$1 list=$2
    shift 2
    # shellcheck disable=SC2016 # expanded where it runs
    root=$root lines "$prefix" xargs -r -d "\n" -a "$list" -P "$(nproc)" -n 1 bash -c '
        name=${!#}
        if output=$("$@" 2>&1 </dev/null); then
            printf "ok %s\n" "${name#"$root"/}"
        else
            printf "%s\n" "not ok ${name#"$root"/}${output:+
$(sed "s/^/  /" <<<"$output")}" # at once, as others print as well
        fi' bash "$@"
}

# part NAME: what follows is called so, and what came before is at its end.
part_name='' part_from=(0 0 0)
part() {
    if [ -n "$part_name" ]; then
        printf 'part   %s: %d s, %d passed, %d failed\n' "$part_name" $((SECONDS - part_from[0])) \
            $((passed - part_from[1])) $((failed - part_from[2]))
    fi
    part_name=${1-} part_from=("$SECONDS" "$passed" "$failed")
}
