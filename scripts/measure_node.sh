#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measure what there is on all GPUs of this machine, in a bounded time, and write
# one Markdown table and one JSON record. Never touches clocks, power or MIG.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
me=$(basename "$0")

usage() {
    cat <<'END'
usage: scripts/measure_node.sh [OPTION VALUE]...
  --bwtool PATH      default: build/bwtool; the environment's BWTOOL does the same
  --peer PATH        nvbandwidth v0.8 to be run beside it; or NVBANDWIDTH. Without: not compared
  --pattern PATH     own_pattern of tests/gpu, for the two-way copies by kernels of that comparison
  --out FOLDER       where node.md, node.json and what each step printed go; must be new
                     (default: bwtool-node-DATE in the current folder)
  --budget SECONDS   for everything (default 600); what does not fit is skipped and named
  --rounds N         runs of both tools each; of 2 and more the first is dropped (default 1)
  --testcases LIST   of 0 to 34 only these, by index (default: all)
  --operators LIST   only these operators, by name (default: a row of each)
  --baseline NAME    nccl (default) or none: what operators are held against
  --sweep SIZES      operators' payloads (default 1K:1G:4)
  --args WORDS       more arguments for each bwtool that copies: "-b 64M -i 3"
  --touch-gib G      host memory that is touched before the comparison (default 4)
  --skip STEPS       of growth, ranks, operators, compare
Exit status: 0 all steps ran or were skipped for a reason that is told, no value below its bound; 1 a
step failed, or had to be ended; 2 usage; 3 no usable GPU; 4 a value below its bound; 5 a value that
is not to be relied on. Of several the first of 1, 4, 5.
END
}

die() { # STATUS WORDS...
    local status=$1
    shift
    printf '%s: %s\n' "$me" "$*" >&2
    exit "$status"
}

bwtool=${BWTOOL:-$root/build/bwtool} peer=${NVBANDWIDTH-} pattern='' out='' budget=600 rounds=1
testcases=$(seq 0 34) baseline=nccl operators='' sweep=1K:1G:4 arguments='' touch_gib=4 left_out=''
command=$me
[ $# -eq 0 ] || command+=$(printf ' %q' "$@")
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --bwtool | --peer | --pattern | --out | --budget | --rounds | --testcases | --operators | --baseline | \
        --sweep | --args | --touch-gib | --skip) [ $# -gt 1 ] || die 2 "$1 needs a value; --help has them all" ;;&
    --bwtool) bwtool=$2 ;;
    --peer) peer=$2 ;;
    --pattern) pattern=$2 ;;
    --out) out=$2 ;;
    --budget) budget=$2 ;;
    --rounds) rounds=$2 ;;
    --testcases) testcases=$2 ;;
    --operators) operators=$2 ;;
    --baseline) baseline=$2 ;;
    --sweep) sweep=$2 ;;
    --args) arguments=$2 ;;
    --touch-gib) touch_gib=$2 ;;
    --skip) left_out=$2 ;;
    *) die 2 "unknown word '$1'; --help says what there is" ;;
    esac
    shift 2
done
for word in "$budget" "$rounds"; do
    [[ $word =~ ^[1-9][0-9]{0,5}$ ]] || die 2 "'$word' is no number from 1 to 999999"
done
[[ $touch_gib =~ ^[0-9]{1,6}(\.[0-9]{1,6})?$ ]] || die 2 "'$touch_gib' is no number of GiB"
for word in $testcases; do
    [[ $word =~ ^([0-9]|[12][0-9]|3[0-4])$ ]] || die 2 "'$word' is no index from 0 to 34"
done
[[ $baseline =~ ^(nccl|none)$ ]] || die 2 "'$baseline' is no baseline: nccl or none"
for word in $left_out; do
    case $word in
    growth | ranks | operators | compare) ;;
    *) die 2 "there is no step '$word' to skip: growth, ranks, operators or compare" ;;
    esac
done
for path in "$bwtool" ${peer:+"$peer"} ${pattern:+"$pattern"}; do
    [[ -x $path && ! -d $path ]] || die 2 "$path is no program; scripts/run.sh builds bwtool"
done
command -v python3 >/dev/null || die 2 "python3 is missing: it puts the record together"
out=${out:-$PWD/bwtool-node-$(date -u +%Y%m%d-%H%M%S)}
[ ! -e "$out" ] || die 2 "$out is there already; --out takes a new folder"
mkdir -p "$out" || die 2 "cannot make the folder $out"
[[ $bwtool == /* ]] || bwtool=$PWD/$bwtool
read -r -a more <<<"$arguments"

# Of the machine's multicast nothing is used, neither here nor by NCCL.
export NCCL_NVLS_ENABLE=0
# More ranks than a machine file has slots for, and root within a container.
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

began=$SECONDS allowed=$budget
# Each step's processes carry this, whatever group or session they make for themselves.
tag=$$-$RANDOM-$(date +%s)
running='' status=1

# The last look and the record have their time whatever the steps before took.
reserve=$((budget < 60 ? budget / 4 : 15))
seconds_left() {
    echo $((budget - reserve - (SECONDS - began)))
}

# Lines of steps: name, state, wall seconds, deadline, what is to be said; tabs between.
note() {
    printf '%s\t%s\t%s\t%s\t%s\n' "$@" >>"$out/steps"
    printf '%s: %s: %s%s\n' "$me" "$1" "$2" "${5:+: $5}" >&2
}

ours() {
    grep -lzsx "BWTOOL_NODE_STEP=$tag" /proc/[0-9]*/environ | cut -d/ -f3
}

# End what a step has left behind, by number; prints how many there were.
end_leftovers() {
    local pids signal
    for _ in 1 2 3 4 5 6 7 8 9 10; do # what is ending has a second for it
        pids=$(ours)
        [ -n "$pids" ] || {
            echo 0
            return
        }
        sleep 0.1
    done
    wc -w <<<"$pids"
    for signal in TERM KILL; do
        # shellcheck disable=SC2046 # words are meant
        kill -$signal $(ours) 2>/dev/null
        for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
            [ -n "$(ours)" ] || return
            sleep 0.1
        done
    done
}

give_up() {
    trap '' INT TERM
    [ -z "$running" ] || kill -TERM "$running" 2>/dev/null
    end_leftovers >/dev/null
    die 1 "ended by a signal; what there is lies in $out"
}
trap give_up INT TERM

# step NAME COMMAND...: in what is left of the time; $status has its status, NAME.out and NAME.err
# what it printed. Fails if it had to be ended or left something behind.
step() {
    local name=$1 deadline start wall left
    shift
    deadline=$(seconds_left)
    if [ "$deadline" -lt 5 ]; then
        note "$name" skipped 0 0 "of the $budget s no 5 are left for it"
        return 1
    fi
    printf '%s: %s, at most %d s\n' "$me" "$name" "$deadline" >&2
    start=$(date +%s.%N)
    BWTOOL_NODE_STEP=$tag timeout -k 5 "$deadline" "$@" >"$out/$name.out" 2>"$out/$name.err" </dev/null &
    running=$!
    wait "$running"
    status=$?
    running=''
    wall=$(awk -v a="$start" -v b="$(date +%s.%N)" 'BEGIN { printf "%.2f", b - a }')
    left=$(end_leftovers)
    if [ $status -eq 124 ] || [ $status -eq 137 ]; then
        note "$name" failed "$wall" "$deadline" "ended at its deadline of $deadline s"
    elif [ "$left" -ne 0 ]; then
        note "$name" failed "$wall" "$deadline" "processes that it left behind and that were ended: $left"
    elif [[ " $accepted " != *" $status "* ]]; then
        note "$name" failed "$wall" "$deadline" "exit status $status: $(tail -n 1 "$out/$name.err")"
    else
        note "$name" ran "$wall" "$deadline" "$([ $status -eq 0 ] || echo "exit status $status")"
        return 0
    fi
    return 1
}

is_wanted() {
    if [[ " $left_out " == *" $1 "* ]]; then
        note "$1" skipped 0 0 "by --skip"
        return 1
    fi
}

record() {
    python3 -B "$root/scripts/node_record.py" "$@"
}

# bwtool begins nothing new some seconds before its deadline, so that its record is written.
measure() { # NAME COMMAND WORDS...
    local name=$1 soft
    shift
    soft=$(($(seconds_left) - 5))
    step "$name" "$@" -j --max-time $((soft > 1 ? soft : 1))
}

growth() {
    local k=2 words=() visible=()
    is_wanted growth || return
    read -r -a words <<<"${testcases//$'\n'/ }"
    if [ -n "${CUDA_VISIBLE_DEVICES-}" ]; then
        IFS=, read -r -a visible <<<"$CUDA_VISIBLE_DEVICES"
    else
        read -r -a visible <<<"$(seq -s ' ' 0 $((gpus - 1)))"
    fi
    while [ $k -lt "$gpus" ]; do
        measure "growth-$k" env CUDA_VISIBLE_DEVICES="$(IFS=,; echo "${visible[*]:0:k}")" \
            "$bwtool" -t "${words[@]}" "${more[@]}"
        k=$((k * 2))
    done
    measure "growth-$gpus" "$bwtool" -t "${words[@]}" "${more[@]}"
}

ranks() {
    is_wanted ranks || return
    if [ "$gpus" -lt 2 ]; then
        note ranks skipped 0 0 "one GPU, and ranks need two"
    elif ! command -v mpirun >/dev/null; then
        note ranks skipped 0 0 "there is no mpirun"
    # Without MPI each process would print a record, into one another's.
    elif step mpi mpirun --bind-to none -n 2 "$bwtool" -t multinode_bisect_write_ce -b 1M -i 1 --no-multicast &&
        grep -q 'this build has no MPI' "$out/mpi.err"; then
        note ranks skipped 0 0 "this bwtool has no MPI (-DBWTOOL_MPI=ON)"
    else
        measure ranks mpirun --bind-to none -n "$gpus" "$bwtool" -p multinode_ --no-multicast "${more[@]}"
    fi
}

operators() {
    local names=() against=()
    is_wanted operators || return
    if [ "$gpus" -lt 2 ]; then
        note operators skipped 0 0 "one GPU, and operators need two"
        return
    fi
    if [ "$baseline" = none ]; then
        note operators-nccl skipped 0 0 "by --baseline none"
    elif "$bwtool" --help </dev/null | grep -q -e '--baseline'; then
        against=(--baseline nccl)
    else
        note operators-nccl skipped 0 0 "this bwtool has no --baseline"
    fi
    read -r -a names <<<"${operators:-$(record operators "$out/list.out")}"
    measure operators "$bwtool" -t "${names[@]}" --sweep "$sweep" --no-multicast "${against[@]}"
}

# Groups of testcases that belong together, the most telling first: copies with the host, pairs,
# fans, both ways with the host, all with the host, latencies and local copies, pairs both ways.
groups=("0 1 16 17" "4 5" "20 21" "12 13 14 15" "28 29 30 31" "2 3 18 19" "32 33 34" "8 9 10 11"
    "24 25 26 27" "6 7" "22 23")

# compare_group NAME INDICES...: both tools, if the time that the peer has taken so far lets it fit.
compare_group() {
    local name=$1 words=() expected options=()
    shift
    [ $# -gt 0 ] || return
    expected=$(record expect "$out" "$bwtool" "$gpus" "$rounds" "$@") || expected=$budget
    if [ "$expected" -gt "$(seconds_left)" ]; then
        note "$name" skipped 0 0 "testcases $*: about $expected s, and $(seconds_left) s are left"
        return 1
    fi
    read -r -a words <<<"$(record names "$out/list.out" "$@")"
    # What the peer's access pattern reaches is asked for where it explains something.
    if [ -n "$pattern" ] && [[ " $* " =~ \ (18|25)\  ]]; then
        options=(--pattern "$pattern")
    fi
    [ "$rounds" -gt 1 ] || options+=(--keep-first)
    step "$name" python3 -B "$root/scripts/compare_with_nvbandwidth.py" --peer "$peer" --bwtool "$bwtool" \
        --rounds "$rounds" --touch-gib "$touch_gib" --timeout "$(seconds_left)" --json "$out/$name.json" \
        --bwtool-args="$arguments" --testcase "${words[@]}" "${options[@]}"
    touch_gib=0
}

compare() {
    local group number=0 word indices
    is_wanted compare || return
    if [ -z "$peer" ]; then
        note compare skipped 0 0 "no --peer, so that there is nothing to compare with"
        return
    fi
    # In one go where that fits, so that both wall times are those of a whole run.
    # shellcheck disable=SC2086 # words are meant
    if [ "$(record expect "$out" "$bwtool" "$gpus" "$rounds" $testcases)" -le "$(seconds_left)" ]; then
        compare_group compare $testcases
        return
    fi
    for group in "${groups[@]}"; do
        number=$((number + 1)) indices=''
        for word in $group; do
            [[ " ${testcases//$'\n'/ } " != *" $word "* ]] || indices+=" $word"
        done
        # shellcheck disable=SC2086 # words are meant
        compare_group "compare-$number" $indices
    done
}

accepted='0 4 5'
step list "$bwtool" -l -j || die 1 "$bwtool does not work: see $out/list.err"
step look "$bwtool" -j -t device_local_copy -b 1M || {
    [ "$status" -ne 3 ] || die 3 "no usable GPU: $(tail -n 1 "$out/look.err")"
    die 1 "the GPUs cannot be used: see $out/look.err"
}
gpus=$(record gpus "$out/look.out") || die 1 "no record of the GPUs in $out/look.out"
growth
ranks
operators
# The comparison says by its record whether a value is below its bound.
accepted='0 1 5'
compare
accepted='0 4 5' budget=$((SECONDS - began + 60)) reserve=0
step idle "$bwtool" -j -t device_local_copy -b 1M
record write "$out" "$gpus" "$allowed" "$command"
