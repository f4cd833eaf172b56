#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The operators' flag protocols under ThreadSanitizer: no access that no signal
# orders; and that a signal left out is noticed.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

{
    "${CXX:-g++}" -std=c++17 -O1 -g -fsanitize=thread -pthread -Wall -Wno-unused-function \
        -Wno-unknown-pragmas -I"$root/kernels" "$root/tests/threads/operators.cc" \
        -o "$work/operators" 2>"$work/err" || cat "$work/err"
} | verdict "operators can be built as threads"
{
    TSAN_OPTIONS=exitcode=66 timeout 280 "$work/operators" >"$work/out" 2>"$work/err" ||
        echo "exit status $?"
    grep -v ' 0 wrong' "$work/out"
    grep SUMMARY "$work/err" | sort | uniq -c
} | verdict "no data race in the operators' kernels"
while read -r kind name; do
    {
        TSAN_OPTIONS=exitcode=66 timeout 60 "$work/operators" "$kind" "$name" >/dev/null 2>&1 &&
            echo "nothing is noticed"
    } | verdict "without signals of kind $kind, $name: noticed"
done <<'END'
10 push all_gather
11 push all_to_all
11 multicast all_gather
10 multicast all_reduce
12 tiles reduce_scatter
11 push dispatch
10 pull dispatch
12 tiles dispatch
12 tiles combine
END
finish
