#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The operators' flag protocols under ThreadSanitizer: no access that no signal
# orders; and that a signal left out is noticed.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

if ! "${CXX:-g++}" -std=c++17 -O1 -g -fsanitize=thread -pthread -Wall -Wno-unused-function \
    -Wno-unknown-pragmas -I"$root/kernels" "$root/tests/threads/operators.cc" -o "$dir/operators" \
    2>"$dir/err"; then
    cat "$dir/err"
    echo "not ok operators as threads: no build"
    exit 1
fi
if TSAN_OPTIONS=exitcode=66 timeout 280 "$dir/operators" >"$dir/out" 2>"$dir/err" &&
    ! grep -v ' 0 wrong' "$dir/out"; then
    echo "ok no data race in $(wc -l <"$dir/out") runs of the operators' kernels"
else
    grep SUMMARY "$dir/err" | sort | uniq -c
    tail -1 "$dir/out"
    echo "not ok operators as threads"
    failed=1
fi
while read -r kind name; do
    if TSAN_OPTIONS=exitcode=66 timeout 60 "$dir/operators" "$kind" "$name" >/dev/null 2>&1; then
        echo "not ok without signals of kind $kind, $name: nothing noticed"
        failed=1
    else
        echo "ok without signals of kind $kind, $name: noticed"
    fi
done <<'END'
10 push all_gather
11 push all_to_all
12 tiles reduce_scatter
END
exit $failed
