#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command line as a person or a script meets it: streams and exit status.
# usage: options_test.sh BWTOOL
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
out=$work/out
err=$work/err

run() { # ARGS: sets rc
    "$bwtool" "$@" >"$out" 2>"$err" </dev/null
    rc=$?
}

# usage_error TEXT ARGS: exit 2, nothing on stdout, one line with TEXT on stderr.
usage_error() {
    local text=$1
    shift
    run "$@"
    [ "$rc" -eq 2 ] && [ ! -s "$out" ] && [ "$(wc -l <"$err")" -eq 1 ] &&
        grep -q '^bwtool: error: ' "$err" && grep -qF -- "$text" "$err"
    check "usage: $*" [ $? = 0 ]
}

usage_error "'0' is not a size" -b 0
usage_error "'-1' is not a size" -b -1
usage_error "'1.5' is not a size" -b 1.5
usage_error "write '64KiB'" -b 64KB
usage_error "'0' is not a whole number from 1" -i 0
usage_error "'-1' is not a whole number from 1" -i -1
usage_error "'0' is not a whole number from 1" --loopCount 0
usage_error "'' is not a testcase" -t ""
usage_error "'' is not the beginning" -p ""
usage_error "must be followed by a testcase" -t
usage_error "'device' belongs to no option" device
usage_error "'rest' belongs to no option" -l -- rest
usage_error "no option '--nope'" --nope
usage_error "no option '-x'" -vx
usage_error "--testcase, --testcasePrefixes or --testSamples" --test 0
usage_error "takes no value" --verbose=1
usage_error "more than once" -v -v
usage_error "together with -t" -t 0 -p host
usage_error "no testcase starts with 'qqq'" -p qqq
usage_error "contradicts" -j -F text
usage_error "text, json or perf" -F xml
usage_error "'0' is not a size" -j -b 0
usage_error "'0' is not a size" -h -b 0

run --help
[ "$rc" -eq 0 ] && [ ! -s "$err" ] && head -n 1 "$out" | grep -qE ' v[0-9]+\.[0-9]+.*nvbandwidth'
check "--help: exit 0, the version in the first line, nothing on stderr" [ $? = 0 ]
cp "$out" "$work/help"
run -h
cmp -s "$out" "$work/help"
check "-h is --help" [ $? = 0 ]
run --version
[ "$rc" -eq 0 ] && [ ! -s "$err" ] && [ "$(head -n 1 "$out")" = "$(head -n 1 "$work/help")" ]
check "--version: exit 0, the first line of the help" [ $? = 0 ]
run -l
[ "$rc" -eq 0 ] && [ ! -s "$err" ] && grep -q '^0, host_to_device_memcpy_ce:$' "$out"
check "-l: exit 0, nothing on stderr" [ $? = 0 ]
run -l -j
[ "$rc" -eq 0 ] && [ ! -s "$err" ] && python3 -m json.tool <"$out" >/dev/null
check "-l -j: exit 0, JSON, nothing on stderr" [ $? = 0 ]

# Every option of the help, short and long, is in README.
options=$(grep -oE '^  (-[a-zA-Z], |    )--[a-zA-Z-]+' "$work/help" | grep -oE '(^|[ ])-+[a-zA-Z-]+' | tr -d ' ')
[ "$(wc -l <<<"$options")" -ge 20 ]
check "the help lists the options" [ $? = 0 ]
: >"$out"
for option in $options; do
    grep -qE -- "(^|[^a-zA-Z-])$option([^a-zA-Z-]|\$)" "$root/README.md" 2>"$err" || echo "$option" >>"$out"
done
[ ! -s "$out" ]
check "README names every option" [ $? = 0 ]

# An unknown testcase: its line where clients look for it, a hint, and exit 2.
run -t device_local_cpy
[ "$rc" -eq 2 ] && grep -qx 'ERROR: Testcase device_local_cpy not found!' "$out" &&
    [ "$(grep -c device_local_copy "$err")" -eq 1 ]
check "an unknown name: ERROR on stdout, a suggestion on stderr, exit 2" [ $? = 0 ]
run -t 9999
[ "$rc" -eq 2 ] && grep -qx 'ERROR: Testcase index 9999 out of bound!' "$out" &&
    grep -qE 'indices go from 0 to [0-9]+' "$err"
check "an index too big: ERROR on stdout, exit 2" [ $? = 0 ]
run -t -1
[ "$rc" -eq 2 ] && grep -qx 'ERROR: Testcase index -1 out of bound!' "$out"
check "a negative index: ERROR on stdout, exit 2" [ $? = 0 ]
run -b 64K -i 1 -t nothing_like_it cpu_copy -t 9999
[ "$rc" -eq 2 ] && grep -qx 'ERROR: Testcase nothing_like_it not found!' "$out" &&
    grep -qx 'ERROR: Testcase index 9999 out of bound!' "$out" && grep -q '^SUM cpu_copy ' "$out"
check "beside unknown ones the known ones run" [ $? = 0 ]

finish
