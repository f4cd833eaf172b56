#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/lib.sh with a played apt-get and cmake, and scripts/cases.awk on a
# log of each kind of ending. The arguments that every shell test gets are not
# used.
# shellcheck disable=SC2016 # what is in single quotes is for other shells
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
mkdir "$work/bin"
# Words that are missing are so in every language, but apt-get's must be ours.
export LC_ALL=C

# A program in PATH that notes how it was called, then does what stdin says.
play() {
    {
        printf '#!/bin/sh\necho "%s $*" >>"%s/calls"\n' "$1" "$work"
        cat
    } >"$work/bin/$1"
    chmod +x "$work/bin/$1"
}

# What lib.sh does with some lines; its exit status, and stderr in err.
library() {
    : >"$work/calls"
    PATH=$work/bin:$PATH bash -euc '. "$0"/scripts/lib.sh; '"$1" "$root" >"$work/out" 2>"$work/err"
}

play apt-get <<<'echo "frontend $DEBIAN_FRONTEND" >>"'"$work"'/calls"; exit 0'
play sudo <<<'exec "$@"'

{
    library 'printf "a true\nb test -d /\n" | need_packages' || echo "it fails"
    [ ! -s "$work/calls" ] || cat "$work/calls"
} | verdict "nothing missing: apt-get is not called"

{
    library 'printf "a true\nb command -v no-such-command\nc false\n" | need_packages' ||
        cat "$work/err"
    grep -q '^apt-get .*install --no-install-recommends b c$' "$work/calls" || cat "$work/calls"
    grep -q '^apt-get .*update$' "$work/calls" || echo "the lists are not updated"
    grep -qv 'frontend noninteractive' <(grep '^frontend' "$work/calls") && cat "$work/calls"
} | verdict "what is missing is installed, and nothing else"

play apt-get <<<'case $* in *update) exit 0 ;; *) echo "E: no package b" >&2; exit 100 ;; esac'
{
    library 'printf "b false\n" | need_packages; echo went on' && echo "it goes on"
    grep -q 'cannot install b$' "$work/err" || cat "$work/err"
} | verdict "a package that cannot be had ends it"

for command in $(
    bash -c '. "$0"/scripts/lib.sh; packages_for_build; packages_for_tests; packages_for_all_tests' \
        "$root" | awk 'NF < 2 { print "short:" $0 }'
); do
    echo "$command"
done | verdict "every package has a way to see that it is there"

# cmake's errors as cmake prints them.
play cmake <<'END'
cat <<'LOG'
-- The C compiler identification is GNU 12.2.0
CMake Error at cmake/dependencies.cmake:7 (message):
  hwloc 2.0 or newer, with its header, is missing: install it, e.g.

  `apt-get install libhwloc-dev` (Debian, Ubuntu), and configure again
Call Stack (most recent call first):
  cmake/dependencies.cmake:15 (bwtool_need)


-- Configuring incomplete, errors occurred!
LOG
exit 1
END
{
    library 'build "'"$work"'/build"' && echo "it goes on"
    [ "$(wc -l <"$work/err")" -eq 1 ] || cat "$work/err"
    grep -q 'hwloc 2.0 or newer, .* e.g. `apt-get install libhwloc-dev` .* again$' "$work/err" ||
        cat "$work/err"
    [ ! -s "$work/out" ] || echo "stdout is not empty"
} | verdict "what the build misses is said in one line"

play cmake <<'END'
case $* in
--build*) echo "error: it does not compile"; exit 2 ;;
esac
END
{
    library 'build "'"$work"'/build"' && echo "it goes on"
    grep -q 'it does not compile' "$work/err" || cat "$work/err"
    [ ! -s "$work/out" ] || echo "stdout is not empty"
} | verdict "a build that fails shows its log on stderr"

# Another nvcc than before: its kernels have to be compiled anew.
play cmake <<'END'
case $* in
*-UNVCC*) printf 'NVCC:FILEPATH=/new/nvcc\n' >"$4/CMakeCache.txt" ;;
esac
END
{
    mkdir -p "$work/again"
    printf 'NVCC:FILEPATH=/old/nvcc\n' >"$work/again/CMakeCache.txt"
    : >"$work/again/kernels.fatbin"
    library 'build "'"$work"'/again"' || cat "$work/err"
    [ ! -e "$work/again/kernels.fatbin" ] || echo "the old kernels are kept"
    : >"$work/again/kernels.fatbin"
    library 'build "'"$work"'/again"' || cat "$work/err"
    [ -e "$work/again/kernels.fatbin" ] || echo "kernels are thrown away for nothing"
} | verdict "another CUDA Toolkit compiles the kernels anew"

# The nvcc of PATH may be a script in a folder of its own: the toolkit that it
# calls is the one whose header is used.
rm "$work/bin/cmake"
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc)
printf '#!/bin/sh\nexec "%s" "$@"\n' "$nvcc" >"$work/bin/nvcc"
chmod +x "$work/bin/nvcc"
{
    PATH=$work/bin:/usr/bin:/bin cmake -S "$root" -B "$work/wrapped" >"$work/out" 2>&1 ||
        cat "$work/out"
    grep -q "CUDA Toolkit .*: $work/bin/nvcc" "$work/out" || cat "$work/out"
} | verdict "an nvcc that is a script calling another is good enough"

# ctest -V, cut down to the lines that matter.
cat >"$work/log" <<'END'
test 1
      Start  1: unit/good

1: Test command: /b/good
1: [==========] Running 2 test(s).
1: [ RUN      ] a_b
1: [       OK ] a_b
1: [       OK ] c
1: [  PASSED  ] 2 test(s).
test 2
      Start  2: unit/bad
 1/6 Test  #1: unit/good ........................   Passed    0.00 sec
2: [       OK ] x
2: [  ERROR   ] --- 1 != 2
2: [  FAILED  ] y
2: [  FAILED  ] 1 test(s), listed below:
2: [  FAILED  ] y
 2/6 Test  #2: unit/bad .........................***Failed    0.01 sec
      Start  3: unit/crash
3: [       OK ] z
 3/6 Test  #3: unit/crash .......................***Exception: SegFault  0.15 sec
      Start  4: cli/lines
4: ok one thing
4: not ok another thing
 4/6 Test  #4: cli/lines ........................***Failed    0.01 sec
      Start  5: quiet
 5/6 Test  #5: quiet ............................   Passed    0.00 sec
      Start  6: cli/slow
 6/6 Test  #6: cli/slow .........................***Timeout   1.00 sec
END
awk -v prefix='sanitized ' -v counts="$work/counts" -f "$root/scripts/cases.awk" "$work/log" \
    >"$work/cases"
{
    [ "$(cat "$work/counts")" = "6 4 0" ] || cat "$work/counts"
    grep -v '^  ' "$work/cases" | diff - <(
        cat <<'END'
ok     sanitized unit/good: a_b
ok     sanitized unit/good: c
ok     sanitized unit/bad: x
FAILED sanitized unit/bad: y
ok     sanitized unit/crash: z
FAILED sanitized unit/crash: (Exception: SegFault)
ok     sanitized cli/lines: one thing
FAILED sanitized cli/lines: another thing
ok     sanitized quiet
FAILED sanitized cli/slow: (Timeout)
END
    )
    grep -q -- '--- 1 != 2' "$work/cases" || echo "a failing program's output is not shown"
} | verdict "a line a case, and each ending is counted"

# In a shell of its own: it counts in variables of the same names.
# shellcheck disable=SC2016
root=$root work=$work bash -euc '. "$root/scripts/cases.sh"
    part first
    lines "a " printf "ok one\nnot ok two\nwhy\n"
    lines "b " sh -c "echo ok one; exit 3"
    lines "c " true
    printf "%s\n" "$root/src" "$root/no such" >"$work/list"
    part second
    each "d " "$work/list" test -d
    : >"$work/list"
    each "e " "$work/list" test -d
    part
    echo "$passed $failed"' >"$work/cases" 2>&1 </dev/null
sed 's/: [0-9]* s,/: S s,/' "$work/cases" | sort >"$work/sorted"
sort <<'END' | diff - "$work/sorted" | verdict "cases of commands are counted"
ok     a one
FAILED a two
       why
ok     b one
FAILED b exit status 3
FAILED c no case
part   first: S s, 2 passed, 3 failed
ok     d src
FAILED d no such
FAILED e no case
part   second: S s, 1 passed, 2 failed
3 5
END

{
    "$root/scripts/test.sh" --some </dev/null >"$work/out" 2>&1 && echo "it is taken"
    grep -q "unknown word '--some'" "$work/out" || cat "$work/out"
} | verdict "test.sh refuses a word that it does not know"
finish
