#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The order of the folders: each includes only from those after it, plan from
# none but base, and results are printed in one place. Reads the sources; the
# arguments that every shell test gets are not used.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# First may include all that follow; nothing includes from those before it.
order="cli report shmem measure plan world host gpu base"
# Folder of each contract in include/bwtool/, and of kernels/params.h.
declare -A home=(
    [options]=cli [select]=cli
    [report]=report [result]=report [compare]=report [git_version]=report
    [baseline]=shmem [baseline_json]=shmem
    [shmem]=shmem [suite]=shmem [operators]=shmem [frames]=shmem [shmem_formulas]=shmem [route]=shmem [shmem_params]=gpu [shmem_route_params]=gpu [shmem_route]=gpu
    [measure]=measure [stats]=measure [engine]=measure [gate]=measure [pool]=measure
    [verify]=measure [state]=measure [peak]=measure [outlier]=measure [sampling]=measure
    [plan]=plan [testcase]=plan
    [world]=world [pass]=world
    [topology]=host [cpu]=host
    [cu]=gpu [cu_compat]=gpu [gpu]=gpu [kernels]=gpu [memory]=gpu [share]=gpu [multicast]=gpu [nvml]=gpu [nccl]=gpu [pci]=gpu [params]=gpu [frame_params]=gpu
    [status]=base [log]=base [clock]=base [text]=base [phase]=base [host_free]=base
)

declare -A ranks=()
for folder in $order; do
    ranks[$folder]=${#ranks[@]}
done

# "FILE HEADER" for every #include "..." of the files given.
quoted_includes() {
    grep -HEo '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[^"]+"' "$@" 2>/dev/null |
        sed -E 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*"/ /; s/"$//'
}

# check_includes TREE: what breaks the order there, a line each.
check_includes() {
    local tree=$1 file header name from to
    quoted_includes "$tree"/src/*/*.[ch] "$tree"/include/bwtool/*.h | while read -r file header; do
        name=${header##*/} name=${name%.h}
        from=${file%/*} from=${from##*/}
        if [ "$from" = bwtool ]; then
            from=${file##*/} from=${home[${from%.h}]-unknown}
        fi
        if [ -e "$tree/src/$from/$header" ]; then
            to=$from # a private header of its own folder
        elif [[ $header == */* && $header != bwtool/* ]]; then
            to=${header%/*} to=${to##*/}
        else
            to=${home[$name]-unknown}
        fi
        if [ -z "${ranks[$from]-}" ]; then
            echo "$file: in no folder of the order; name it in $0"
        elif [ -z "${ranks[$to]-}" ]; then
            echo "$file: \"$header\" belongs to no folder; name it in $0"
        elif [ "${ranks[$from]}" -gt "${ranks[$to]}" ]; then
            echo "$file: $from includes \"$header\" of $to, which comes before it"
        elif [ "$from" = plan ] && [ "$to" != plan ] && [ "$to" != base ]; then
            echo "$file: plan includes \"$header\" of $to, and may include nothing but base"
        fi
    done
}

# who_includes TREE HEADER FOLDERS: files outside of FOLDERS that include <HEADER>.
who_includes() {
    local tree=$1 header=$2 folders=$3
    grep -lE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]${header}[>\"]" \
        "$tree"/src/*/*.[ch] "$tree"/include/bwtool/*.h "$tree"/kernels/*.h 2>/dev/null |
        grep -vE "/src/($folders)/|/include/bwtool/(cu|cu_compat|gpu|kernels)\.h$"
}

# Code without comments and string contents, so that words in them don't count,
# as "FILE:LINE:CODE".
code_of() {
    awk '
        FNR == 1 { inside = 0 }
        { line = $0
          gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
          while (1) {
              if (inside) {
                  end = index(line, "*/")
                  if (!end) { line = ""; break }
                  line = substr(line, end + 2); inside = 0
              }
              start = index(line, "/*")
              if (!start) break
              rest = substr(line, start + 2); end = index(rest, "*/")
              if (end) { line = substr(line, 1, start - 1) " " substr(rest, end + 2) }
              else { line = substr(line, 1, start - 1); inside = 1; break }
          }
          sub(/\/\/.*$/, "", line)
          print FILENAME ":" FNR ":" line }' "$@"
}

# found WORDS FILE...: lines of code with one of the words.
found() {
    local words=$1
    shift
    [ $# -eq 0 ] || code_of "$@" | grep -E ":[0-9]+:(.*[^a-zA-Z0-9_])?($words)"
}

# check_prints TREE: results are printed in report/, messages in base/log.c.
# The command line prints help and hands stdout on; a plan prints itself to
# the stream it is given.
check_prints() {
    local file cli=() plan=() others=()
    local straight='(v?printf|puts|putchar|perror)[[:space:]]*\('
    local streams='(stdout|stderr)($|[^a-zA-Z0-9_])'
    for file in "$1"/src/*/*.c; do
        case $file in
        */src/report/*.c | */src/base/log.c) ;;
        */src/cli/*.c) cli+=("$file") ;;
        */src/plan/*.c | */src/shmem/plan.c) plan+=("$file") ;;
        *) others+=("$file") ;;
        esac
    done
    found "$straight" "${cli[@]}"
    found "$straight|$streams" "${plan[@]}"
    found "(v?f?printf|f?puts|f?putc|putchar|fwrite|perror)[[:space:]]*\\(|$streams" "${others[@]}"
}

# The checks can see: a tree with one mistake of each kind.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/src/{plan,gpu,measure,base,report} "$tree/include/bwtool" "$tree/kernels"
printf '#include "bwtool/gpu.h"\n#include "bwtool/plan.h"\n' >"$tree/src/plan/plan.c"
printf '#include "bwtool/measure.h"\nint x; /* printf("") */\n' >"$tree/src/gpu/gpu.c"
printf '#include <mpi.h>\n#include "own.h"\nint f(void)\n{\n    printf("x");\n}\n' \
    >"$tree/src/measure/loop.c"
: >"$tree/src/measure/own.h"
printf '#include "bwtool/nothing.h"\nprintf("fine");\n' >"$tree/src/report/text.c"
printf 'snprintf(a, 1, "printf(stdout)"); /* stdout */ // puts()\n' >"$tree/src/base/text.c"
{
    [ "$(check_includes "$tree" | wc -l)" -eq 3 ] || check_includes "$tree" | sed 's/^/found: /'
    [ "$(who_includes "$tree" mpi.h world)" = "$tree/src/measure/loop.c" ] || echo "mpi.h overlooked"
    [ "$(check_prints "$tree")" = "$tree/src/measure/loop.c:5:    printf(\"\");" ] ||
        check_prints "$tree" | sed 's/^/found: /;$a prints misjudged'
} 2>&1 | verdict "the checks find planted mistakes"

check_includes "$root" | verdict "folders include only from those after them"
who_includes "$root" mpi.h world | verdict "mpi.h is included in world alone"
who_includes "$root" hwloc.h host | verdict "hwloc.h is included in host alone"
who_includes "$root" cuda.h 'gpu|measure|shmem' |
    verdict "cuda.h is included only where GPUs are driven"
{
    # Through headers as well: with no CUDA folder given, cuda.h would be named.
    for file in "$root"/src/plan/*.c "$root"/src/cli/options.c "$root"/src/cli/select.c; do
        [ -e "$file" ] || continue
        if ! includes=$(cc -MM -MG -D_GNU_SOURCE -I"$root/include" "$file" 2>&1); then
            echo "$includes"
        fi
        echo "$includes" | tr ' ' '\n' | grep -E '(^|/)(cuda|mpi|hwloc|gpu|topology|world)\.h$' |
            sed "s|^|$file reaches |"
    done
} | verdict "plan and options reach no driver, MPI or machine"
check_prints "$root" | verdict "only report and the log print"
finish
