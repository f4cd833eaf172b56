#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build bwtool and pass all its tests; needs no GPU. A line a case, and at the
# end "N passed, N failed". Installs what is missing.
#
#   scripts/test.sh          everything that a change must pass
#   scripts/test.sh --all    also clang, libFuzzer, planted faults, static analysis, valgrind and
#                            coverage: an hour more, and longer
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

all=false
case "${1-}" in
'') ;;
--all) all=true ;;
*) die "unknown word '$1', the only argument there is is --all" ;;
esac

passed=0 failed=0 skipped=0

# cases PREFIX FOLDER [CTEST OPTIONS]: run the tests that FOLDER was built with.
cases() {
    local prefix=$1 folder=$2 ok bad skip
    shift 2
    # The exit status says no more than the counts do.
    { ctest --test-dir "$folder" -V -j "$(nproc)" --timeout 300 "$@" </dev/null 2>&1 || true; } |
        tee "$folder/ctest.log" |
        awk -v prefix="$prefix" -v counts="$folder/counts" -f "$root/scripts/cases.awk"
    read -r ok bad skip <"$folder/counts"
    # A folder in which no test was found proves nothing.
    if [ $((ok + bad)) -eq 0 ]; then
        printf 'FAILED %sno test ran in %s\n' "$prefix" "$folder"
        bad=1
    fi
    passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
}

# One case that is a command: its output is shown if it fails.
check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1 </dev/null); then
        printf 'ok     %s\n' "$name"
        passed=$((passed + 1))
    else
        printf 'FAILED %s\n%s\n' "$name" "$output"
        failed=$((failed + 1))
    fi
}

packages_for_build | need_packages
packages_for_tests | need_packages
# The product as run.sh builds it; its kernels serve all other builds.
build "$root/build" -DCMAKE_BUILD_TYPE=Release
image=-DBWTOOL_FATBIN=$root/build/kernels.fatbin

build "$root/build-test" -DCMAKE_BUILD_TYPE=Release -DBWTOOL_TESTS=ON "$image"
cases '' "$root/build-test" -E '^fuzz/'

# LeakSanitizer cannot work under a tracer; everywhere else it is on.
build "$root/build-asan" -DCMAKE_BUILD_TYPE=Debug -DBWTOOL_TESTS=ON -DBWTOOL_SANITIZE=ON \
    -DSIM_SANITIZE=ON "$image"
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1
cases 'sanitized ' "$root/build-asan" -R '^(unit|fuzz)/'
unset ASAN_OPTIONS UBSAN_OPTIONS

# The same sources with ranks.
build "$root/build-mpi" -DCMAKE_BUILD_TYPE=Release -DBWTOOL_TESTS=ON -DBWTOOL_MPI=ON "$image" \
    -DSIM_KERNELS="$root/build-test/sim/libsim_kernels.a"
cases 'mpi ' "$root/build-mpi" -R '^(unit|mpi)/'

if $all; then
    packages_for_all_tests | need_packages
    CC=clang build "$root/build-clang" -DCMAKE_BUILD_TYPE=Debug -DBWTOOL_TESTS=ON "$image"
    cases 'clang ' "$root/build-clang" -R '^unit/'
    CC=clang build "$root/build-fuzz" -DCMAKE_BUILD_TYPE=Debug -DBWTOOL_TESTS=ON \
        -DBWTOOL_FUZZ=ON "$image"
    cases 'libfuzzer ' "$root/build-fuzz" -R '^fuzz/'
    check "planted faults are seen" python3 "$root/scripts/mutants.py" "$root/build-test"
    check "each driver call and allocation fails in turn" python3 \
        "$root/tests/torture/torture.py" "$root/build-test/bwtool" "$root/build-test" --all
    check "sanitized, driver calls fail" python3 \
        "$root/tests/torture/torture.py" "$root/build-asan/bwtool" "$root/build-asan"
    check "executed lines" "$root/scripts/coverage.sh"
    sed -n 's|.*"file": "\(.*/src/.*\.c\)".*|\1|p' "$root/build-clang/compile_commands.json" |
        sort -u >"$root/build-clang/sources"
    while read -r source; do
        check "clang-tidy ${source#"$root"/}" clang-tidy --quiet -p "$root/build-clang" "$source"
    done <"$root/build-clang/sources"
    for program in "$root"/build-test/tests/*_test; do
        check "valgrind ${program##*/}" valgrind --quiet --error-exitcode=1 --leak-check=full \
            --errors-for-leak-kinds=definite --child-silent-after-fork=yes "$program"
    done
fi

if [ "$skipped" -gt 0 ]; then
    printf '%d skipped\n' "$skipped"
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
