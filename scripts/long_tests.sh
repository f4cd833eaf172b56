# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What test.sh --all does beyond what every change must pass; sourced by it.
# shellcheck disable=SC2154 # root, image, kernels, sanitized_cli: test.sh's

part 'planted faults'
lines 'planted ' python3 "$root/scripts/mutants.py" "$root/build-test"

part 'sanitized command lines'
# The kernels at all sizes; for the rest the product is sanitized and the simulator, which takes
# most of the time, is not. What a build with sanitizers costs says nothing, and some tests read
# sources only.
sanitized=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DBWTOOL_TESTS=ON -DBWTOOL_SANITIZE=ON
    -DSIM_SANITIZE=OFF "$image" "$kernels")
build "$root/build-sanitized" "${sanitized[@]}"
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:verify_asan_link_order=0
sanitized_kernels='^cli/(operators|route|rows)_test'
cases 'sanitized ' "$root/build-asan" -R "$sanitized_kernels"
cases 'sanitized ' "$root/build-sanitized" -R '^cli/' \
    -E "$sanitized_cli|$sanitized_kernels|^cli/(compare|layers|scale|style)_test"

part 'sanitized ranks'
# An MPI gives little back. What the product does not is seen by the torture of ranks.
build "$root/build-sanitized-mpi" "${sanitized[@]}" -DBWTOOL_MPI=ON
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=0:verify_asan_link_order=0
cases 'sanitized mpi ' "$root/build-sanitized-mpi" -R '^(unit/(world|pass|ranks)|mpi/)'
unset ASAN_OPTIONS

part torture
# Sanitizers make a run twice as long: they have each fifth. Leaks are looked for in all of them.
lines 'torture ' python3 "$root/tests/torture/torture.py" \
    "$root/build-test/bwtool" "$root/build-test" --all --without 5

part 'sanitized torture'
lines 'sanitized torture ' python3 "$root/tests/torture/torture.py" \
    "$root/build-sanitized/bwtool" "$root/build-sanitized" --all --stride 5

part 'torture of ranks'
lines 'torture of ranks ' python3 "$root/tests/torture/ranks.py" \
    "$root/build-mpi/bwtool" "$root/build-mpi" --all

part clang
CC=clang build "$root/build-clang" -DCMAKE_BUILD_TYPE=Debug -DBWTOOL_TESTS=ON "$image" "$kernels"
cases 'clang ' "$root/build-clang" -R '^unit/'

part libfuzzer
CC=clang build "$root/build-fuzz" -DCMAKE_BUILD_TYPE=Debug -DBWTOOL_TESTS=ON -DBWTOOL_FUZZ=ON \
    "$image" "$kernels"
cases 'libfuzzer ' "$root/build-fuzz" -R '^fuzz/'

part clang-tidy
tidy() { # FOLDER NAMES: the sources that FOLDER compiles and whose path matches NAMES
    sed -n 's|.*"file": "\(.*/src/.*\.c\)".*|\1|p' "$root/$1/compile_commands.json" | sort -u |
        grep -E "$2" >"$root/$1/sources"
    each 'clang-tidy ' "$root/$1/sources" clang-tidy --quiet -p "$root/$1"
}
tidy build-clang .
tidy build-mpi /src/world/mpi

part valgrind
printf '%s\n' "$root"/build-test/tests/*_test >"$root/build-test/programs"
each 'valgrind ' "$root/build-test/programs" valgrind --quiet --error-exitcode=1 \
    --leak-check=full --errors-for-leak-kinds=definite --child-silent-after-fork=yes

part coverage
executed_lines() {
    if "$root/scripts/coverage.sh"; then
        echo 'ok executed lines'
    else
        echo 'not ok executed lines'
    fi
}
lines '' executed_lines
