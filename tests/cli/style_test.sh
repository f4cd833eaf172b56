#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Form of the sources: licence line, formatting, spelling, scripts, and sizes.
# Sizes are aims (files of 300 lines, functions of 60, complexity of 15): what
# is above is reported; far above (400, 100, 25; in tests twice as much) is a
# fault. The arguments that
# every shell test gets are not used.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root" || exit 1

skip() {
    printf 'skipped: %s\n' "$1"
}

# Files of ours that match the patterns given, not the build folders'.
files() {
    local pattern args=()
    for pattern in "$@"; do
        args+=(-o -name "$pattern")
    done
    find src include kernels tests scripts cmake docs .ci CMakeLists.txt README.md -type f \
        \( "${args[@]:1}" \) 2>/dev/null | sort
}
mapfile -t c_files < <(files '*.c' '*.h')
mapfile -t cuda_files < <(files '*.cu' '*.cuh')
mapfile -t scripts < <(files '*.sh'; find .ci -type f)
mapfile -t python < <(files '*.py')
mapfile -t texts < <(files '*.md' '*.1' '*.txt' '*.awk' '*.cmake')
mapfile -t all < <(printf '%s\n' "${c_files[@]}" "${cuda_files[@]}" "${scripts[@]}" \
    "${python[@]}" "${texts[@]}" | sort -u | grep -v '^$')

# In the first line or, below what says how to run a file, in the third at most.
grep -nF 'SPDX-License-Identifier: Apache-2.0' "${c_files[@]}" "${cuda_files[@]}" "${scripts[@]}" \
    "${python[@]}" | grep -E '^[^:]+:[1-3]:' | cut -d: -f1 | sort -u |
    comm -13 - <(printf '%s\n' "${c_files[@]}" "${cuda_files[@]}" "${scripts[@]}" "${python[@]}" |
        sort -u) | verdict "the licence stands on top of every source"

# What a tool left behind is not part of the project.
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files | cut -d/ -f1 | sort -u | grep -vxF -e .ci -e .editorconfig -e .clang-format -e .clang-tidy -e .gitignore \
        -e CMakeLists.txt -e LICENSE -e README.md -e cmake -e docs -e include -e kernels -e scripts -e src \
        -e tests | verdict "nothing else is in the top folder"
else
    skip "the top folder: not a git checkout"
fi

grep -nE '[[:blank:]]+$' "${c_files[@]}" "${cuda_files[@]}" "${scripts[@]}" "${python[@]}" |
    verdict "no line ends in blanks"
for file in scripts/*; do
    [ -x "$file" ] || [ "$(head -c 2 "$file")" != '#!' ] || echo "$file cannot be called by its name"
done | verdict "scripts that say by what they run can be run"
grep -nP '^\t' "${c_files[@]}" "${cuda_files[@]}" "${python[@]}" | verdict "no tabs before code"
grep -nE '\b(TODO|FIXME|XXX)\b' "${c_files[@]}" "${cuda_files[@]}" "${scripts[@]}" "${python[@]}" |
    grep -v 'tests/cli/style_test.sh' | grep -vE '#[0-9]+' |
    verdict "nothing is left to do without an issue's number"

# Other versions of clang-format differ in details, so that only the one of
# Debian 12 decides.
if clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    clang-format --dry-run "${c_files[@]}" 2>&1 | sed -n 's/:[0-9]*:[0-9]*: warning:.*//p' | sort -u |
        sed 's/$/: run clang-format -i on it/' |
        verdict "formatted as .clang-format says"
else
    skip "formatting: no clang-format 14"
fi
if command -v codespell >/dev/null; then
    codespell --quiet-level=2 --ignore-words-list=fro,ue,ois,te,nd,inout,fo,ba,writeable "${all[@]}" |
        verdict "spelling"
else
    skip "spelling: no codespell"
fi
if command -v shellcheck >/dev/null; then
    shellcheck -S info -x -P SCRIPTDIR -P scripts "${scripts[@]}" 2>&1 | verdict "shellcheck"
else
    skip "scripts: no shellcheck"
fi
python3 -c 'import ast, sys
for name in sys.argv[1:]:
    ast.parse(open(name).read(), name)' "${python[@]}" 2>&1 | verdict "Python files are Python"

# sizes AIM LIMIT WHAT, on stdin lines "NUMBER WHERE": what is above.
sizes() {
    awk -v aim="$1" -v limit="$2" -v what="$3" '
        $1 > limit { print $2 ": " $1 " " what ", at most " limit }
        $1 > aim && $1 <= limit { print "note: " $2 ": " $1 " " what ", aim at " aim }'
}
product=() tests=()
for file in "${c_files[@]}" "${cuda_files[@]}"; do
    case $file in
    tests/*) tests+=("$file") ;;
    *) product+=("$file") ;;
    esac
done

file_lengths() {
    wc -l "$@" | grep -v ' total$'
}

# A function's body lies between a brace in the first column and the next one.
function_lengths() {
    awk '
        /^[a-zA-Z_].*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name) }
        /^\{/ { start = FNR; next }
        /^\}/ && start { print FNR - start + 1, FILENAME ":" start ":" name; start = 0 }' "$@"
}
paths() {
    pmccabe "$@" 2>/dev/null | awk '{ sub(/\([0-9]+\):?$/, "", $6); print $1, $6 ":" $7 }'
}

{
    file_lengths "${product[@]}" | sizes 300 400 lines
    file_lengths "${tests[@]}" | sizes 300 800 lines
} | verdict "no file is too long"
{
    function_lengths "${product[@]}" | sizes 60 100 lines
    function_lengths "${tests[@]}" | sizes 60 200 lines
} | verdict "no function is too long"
if command -v pmccabe >/dev/null; then
    {
        paths "${product[@]}" | sizes 15 25 paths
        paths "${tests[@]}" | sizes 15 50 paths
    } | verdict "no function is too branched"
else
    skip "branches: no pmccabe"
fi

# A fault whose line has changed is found here, not by the hour that plants them all.
python3 "$root/scripts/mutants.py" --stale 2>&1 |
    verdict "each fault that is planted has its line in the sources"

# The gates see: a function of 120 lines with 30 branches.
planted=$(mktemp -d)
trap 'rm -rf "$planted"' EXIT
{
    printf 'int f(int x)\n{\n'
    for _ in {1..30}; do
        printf '    if (x > 3) {\n        x--;\n\n    }\n'
    done
    printf '    return x;\n}\n'
} >"$planted/long.c"
{
    function_lengths "$planted/long.c" | sizes 60 100 lines | grep -q "long.c:2:f: 123 lines, at" ||
        echo "a function's length is not seen"
    function_lengths "$planted/long.c" | sizes 60 200 lines | grep -q "^note: .*, aim at 60" ||
        echo "what is only above the aim is no note"
} | verdict "the gates see a long function"
finish
