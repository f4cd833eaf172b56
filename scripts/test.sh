#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build bwtool and pass all its tests; needs no GPU. A line a case, and at the
# end "N passed, N failed". Installs what is missing.
#
#   scripts/test.sh          everything that a change must pass
#   scripts/test.sh --all    also all command lines and ranks with sanitizers, clang, libFuzzer,
#                            planted faults, every driver call and allocation failing in turn,
#                            coverage, static analysis and valgrind: 75 minutes at most on two idle
#                            cores
#
# After each part a line says how long it took and what it counted.
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=cases.sh
. "$(dirname "$0")/cases.sh"

all=false
case "${1-}" in
'') ;;
--all) all=true ;;
*) die "unknown word '$1', the only argument there is is --all" ;;
esac

part packages
packages_for_build | need_packages
packages_for_tests | need_packages
if $all; then
    packages_for_all_tests | need_packages
    packages_for_coverage | need_packages
fi

part build
# The product as run.sh builds it; its kernels serve all other builds.
build "$root/build" -DCMAKE_BUILD_TYPE=Release
image=-DBWTOOL_FATBIN=$root/build/kernels.fatbin
build "$root/build-test" -DCMAKE_BUILD_TYPE=Release -DBWTOOL_TESTS=ON "$image"
kernels=-DSIM_KERNELS=$root/build-test/sim/libsim_kernels.a

part tests
cases '' "$root/build-test" -E '^fuzz/'

part sanitized
# LeakSanitizer cannot work under a tracer; everywhere else it is on. Libraries that play CPUs come
# before the sanitizer's.
build "$root/build-asan" -DCMAKE_BUILD_TYPE=Debug -DBWTOOL_TESTS=ON -DBWTOOL_SANITIZE=ON \
    -DSIM_SANITIZE=ON "$image"
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:verify_asan_link_order=0
export UBSAN_OPTIONS=print_stacktrace=1
sanitized_cli='^cli/(driver|golden|latency|multicast|options|output)_test'
cases 'sanitized ' "$root/build-asan" -R "^(unit|fuzz)/|$sanitized_cli"
unset ASAN_OPTIONS UBSAN_OPTIONS

part mpi
# The same sources with ranks.
build "$root/build-mpi" -DCMAKE_BUILD_TYPE=Release -DBWTOOL_TESTS=ON -DBWTOOL_MPI=ON "$image" \
    "$kernels"
cases 'mpi ' "$root/build-mpi" -R '^(unit|mpi)/'

if $all; then
    # shellcheck source-path=SCRIPTDIR source=long_tests.sh
    . "$root/scripts/long_tests.sh"
fi
part

if [ "$skipped" -gt 0 ]; then
    printf '%d skipped\n' "$skipped"
fi
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
