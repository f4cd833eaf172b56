#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# How much of the product the tests execute, a folder of src/ a line, and
# whether that is enough: 95 % of the lines of folders that need no driver,
# 85 % of the others. Some 15 minutes on two cores.
#
#   scripts/coverage.sh [-r PATTERN] [-k] [FOLDER...]
#
# -r PATTERN  only tests with such names; the bounds are then not judged
# -k          keep what earlier calls counted: parts of the suite add up
# FOLDER      list the lines of src/FOLDER that nothing executes
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

pattern='' keep=false
while getopts r:k word; do
    case $word in
    r) pattern=$OPTARG ;;
    k) keep=true ;;
    *) die "usage: $me [-r PATTERN] [-k] [FOLDER...]" ;;
    esac
done
shift $((OPTIND - 1))
for folder in "$@"; do
    [ -d "$root/src/$folder" ] || die "there is no folder src/$folder"
done

packages_for_build | need_packages
packages_for_tests | need_packages
packages_for_coverage | need_packages
# Kernels that were compiled before, of GPUs and of CPUs.
kernels=()
if [ -e "$root/build/kernels.fatbin" ]; then
    kernels+=("-DBWTOOL_FATBIN=$root/build/kernels.fatbin")
fi
if [ -e "$root/build-test/sim/libsim_kernels.a" ]; then
    kernels+=("-DSIM_KERNELS=$root/build-test/sim/libsim_kernels.a")
fi
one=$root/build-coverage several=$root/build-coverage-mpi
common=(-DCMAKE_BUILD_TYPE=Debug -DBWTOOL_TESTS=ON -DBWTOOL_COVERAGE=ON)
build "$one" "${common[@]}" "${kernels[@]}"
build "$several" "${common[@]}" -DBWTOOL_MPI=ON "-DBWTOOL_FATBIN=$one/kernels.fatbin" \
    "-DSIM_KERNELS=$one/sim/libsim_kernels.a" "${kernels[@]}"
if ! $keep; then
    find "$one" "$several" -name '*.gcda' -delete
fi

# measure FOLDER ALL: of the tests that run the product, those that match ALL.
# One that fails is test.sh's business, but is said.
measure() {
    ctest --test-dir "$1" -j $(($(nproc) + 1)) --timeout 600 -R "$2" \
        -E '^(sim|fuzz|gpu)|cli/(compare|layers|node|operators_threads|style)_test' \
        </dev/null >"$1/ctest.log" 2>&1 || grep -E '\((Failed|Timeout|SEGFAULT)\)' "$1/ctest.log" || true
}
measure "$one" "${pattern:-.}"
measure "$several" "${pattern:-^(unit/(world|pass|ranks)|mpi/)}"

# gcovr adds up what the two builds have of the same file.
cd "$root"
gcovr --root "$root" --filter 'src/' --object-directory "$root" --json "$one/coverage.json" \
    "$one" "$several" 2>"$one/gcovr.log" || { cat "$one/gcovr.log" >&2; die "gcovr failed"; }
python3 "$root/scripts/coverage.py" "$one/coverage.json" ${pattern:+--partly} "$@"
