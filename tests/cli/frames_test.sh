#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --profile on simulated GPUs: frames of every operator, the five faults that
# such profiles have had elsewhere, and where there are none.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=operators_lib.sh
. "$(dirname "$0")/operators_lib.sh"
need_simulator
copies=2

has() { # EXPRESSION: some line of the output is it
    grep -Eq "$1" "$work/out" || {
        echo "no line like: $1"
        grep -A20 '^frames' "$work/out"
    }
}

# What each frame was entered in a launch, "frame=min-max ...".
counts() {
    python3 -c 'import json, sys
for t in json.load(open(sys.argv[1]))["bwtool"]["testcases"]:
    for c in t["operator"]["cases"]:
        print(*(f"{r[0]}={r[1]}-{r[2]}" for r in sorted((r["frame"], r["count_min"], r["count_max"])
                for r in c["frames"]["table"])))' "$work/out"
}

# A value of the first case's frames: an expression over `f`.
value() {
    python3 -c 'import json, sys
f = json.load(open(sys.argv[1]))["bwtool"]["testcases"][0]["operator"]["cases"][0]["frames"]
print(eval(sys.argv[2].replace("\\\n", "")))' "$work/out" "$1"
}

# At least so many points have frames: rows of kernels, and those of `auto`.
# shellcheck disable=SC2086 # $rows is a list
while read -r gpus mode least rows; do
    {
        on "$gpus" -p $rows -b 2K --profile="$mode" -j
        expect 0 $?
        python3 "$root/tests/cli/frames_json.py" "$least" "$gpus" <"$work/out"
    } | verdict "rows $rows have frames that add up, $gpus ranks, $mode"
done <<'END'
1 light 8 shmem_all_reduce shmem_broadcast
2 sync 34 shmem_
4 light 8 shmem_reduce_scatter shmem_dispatch shmem_all_to_all_push shmem_barrier
END

{
    on 2 -p shmem_all_gather -b 2K --profile
    expect 0 $?
    has '^Frame +Phase +Avg us +Max core us +Count +Self +Incl +% E2E +Bottleneck$'
    has '^  remote_put +remote_put_get '
    has '^unattributed '
    has '^rank 1: kernel_us [0-9.]+, kernel_dev_us .* launch gap and drain .*timer.s tick 1 ns'
    has '^no local_compute: pure transport, no local_compute$'
    has '^perturbation: kernel_us [0-9.]+ with frames, [0-9.]+ without: [0-9.]+ x'
    has '^frames of case 0: shmem_all_gather_ce, light: none: copy engines move the data'
} | verdict "the text has the table, all ranks, and why phases are missing"

# --- the five faults --------------------------------------------------------------------------

# No fixed room for blocks; the simulator's memory ends at a forbidden page.
{
    on 2 -t shmem_all_gather_push -b 512K --ctas 200 --profile -j
    expect 0 $?
    [ "$(value '[r["blocks"] for r in f["ranks"]]')" = '[200, 200]' ] || value 'f["ranks"]'
    python3 "$root/tests/cli/frames_json.py" 1 2 <"$work/out"
} | verdict "a grid of 200 blocks is recorded whole"

# 100 us more in each of a launch's two entries.
{
    SIM_FRAME_DELAY=1:3:0:100000 on 2 -t shmem_all_gather_push -b 256K --profile -j
    expect 0 $?
    [ "$(value '[(r["max_core_us"] > 199.9, r["count_max"], r["max_core_rank"], r["max_core_block"],
        r["max_core_sm"], r["is_tail"]) for r in f["table"] if r["frame"] == "copy_in"]')" = \
        '[(True, 2, 1, 3, 3, True)]' ] || value 'f["table"]'
} | verdict "times are of a launch; the slow block is named with its SM and rank"

# The same delay inside of transport is in its incl, and not in its self.
{
    SIM_FRAME_DELAY=0:5:3:50000 on 2 -t shmem_all_gather_push -b 256K --profile -j
    expect 0 $?
    [ "$(value '[(r["max_core_us"] > 50, r["self_us"] < 0.001) for r in f["table"]
        if r["frame"] == "transport"]')" = '[(True, True)]' ] || value 'f["table"]'
    [ "$(value '[r["parents"] for r in f["table"] if r["frame"] == "remote_put"]')" = \
        "[['transport']]" ] || value 'f["table"]'
    python3 "$root/tests/cli/frames_json.py" 1 2 <"$work/out"
} | verdict "what is inside a frame is not counted twice"

{
    on 2 -t shmem_all_gather_push --sweep 4K:64K:4 --ctas 4 --profile -j
    expect 0 $?
    counts >"$work/together"
    for size in 4K 16K 64K; do
        on 2 -t shmem_all_gather_push -b "$size" --ctas 4 --profile -j
        counts
    done >"$work/alone"
    diff "$work/alone" "$work/together"
    [ "$(sort -u "$work/together" | wc -l)" -gt 1 ] || echo "all sizes alike"
    [ "$(value '[r["entry_min_us"] <= r["entry_first_us"] <= r["entry_max_us"]
        for r in f["ranks"][1]["frames"]]' | grep -c False)" -eq 0 ] || value 'f["ranks"]'
} | verdict "each case begins anew, with least and most of its own"

{
    SIM_FRAME_DELAY=3:0:6:70000 on 4 -t shmem_all_gather_push -b 64K --profile
    expect 0 $?
    has '^data_wait .*tail: block 0, SM 0, rank 3 \('
    [ "$(grep -c '^rank [0-3]: kernel_us' "$work/out")" -eq 4 ] || grep '^rank' "$work/out"
} | verdict "all ranks are profiled: a tail over ranks is seen"

# --- clocks and costs -------------------------------------------------------------------------

for tick in 32 1000; do
    {
        more=$'gpu * sm 16\n'"timer_tick $tick" on 2 -t shmem_all_gather_push -b 2M --profile
        expect 0 $?
        has "^rank 0: .*timer.s tick $tick ns"
    } | verdict "a timer that goes on in steps of $tick ns"
done

{
    more="timer_tick 10000000" on 2 -t shmem_all_gather_push -b 4K --profile
    expect 0 $?
    has "^frames of case 0: shmem_all_gather_push, light: none: rank 0: the GPU's timer made no step"
} | verdict "a timer that stands still is a reason, and no division by zero"

# A copy of the input before each pull, and a barrier: outside of blocks.
{
    more='gpu * sm 16' on 2 -t shmem_all_gather_pull -b 1M --placement b --profile -j
    expect 0 $?
    [ "$(value 'f["e2e_us"] > f["kernel_us"] * 1.1 and \
        f["unattributed_outside_us"] > f["e2e_us"] - f["kernel_us"] - 0.01')" = True ] || value 'f'
    python3 "$root/tests/cli/frames_json.py" 1 2 <"$work/out"
} | verdict "placement B: the copy outside is unattributed time of e2e"

# --- what is not there ------------------------------------------------------------------------

{
    SIM_TRACE=1 on 2 -t shmem_all_gather_push -b 4K
    grep -c cuLibraryLoadData "$work/err" | sed -n '/^1$/!s/$/ images loaded without --profile/p'
    SIM_TRACE=1 on 2 -p shmem_all_gather -b 4K --profile
    grep -c cuLibraryLoadData "$work/err" | sed -n '/^3$/!s/$/ images loaded for two GPUs/p'
} | verdict "the second image is loaded with --profile only, and once a GPU"

{
    more='fail cuLibraryLoadData 2 CUDA_ERROR_NO_BINARY_FOR_GPU' \
        on 2 -t shmem_all_gather_push -b 4K --profile
    expect 0 $?
    has '^frames of case 0: shmem_all_gather_push, light: none: .*CUDA_ERROR_NO_BINARY_FOR_GPU'
    has '^ +0 +1024 .* not_judged'
} | verdict "an image without code for the GPU: the result stands, and the reason"

{
    on 2 -t shmem_put shmem_get shmem_barrier -b 4K --profile
    expect 0 $?
    [ "$(grep -c '^frames of case 0: .*none: ' "$work/out")" -ge 2 ] || cat "$work/out"
    on 2 -t device_to_device_memcpy_read_ce -b 1M --profile
    expect 0 $?
    grep -q 'note: --profile: frames are of operators (-p shmem_)' "$work/err" || cat "$work/err"
    on 2 -t shmem_put -b 4K --profile
    ! grep 'note: --profile' "$work/err"
} | verdict "what has no frames says so"

{
    on 2 -t shmem_all_reduce shmem_all_gather_ce --dry-run=2 --profile=sync -b 64K
    expect 0 $?
    has '^shmem_all_reduce_poison frames sync: the kernel.s program once more$'
    has '^shmem_all_gather_ce frames sync: copy engines move the data'
    ! grep -q frames <("$bwtool" -t shmem_all_reduce --dry-run=2 -b 64K) || echo "unasked"
} | verdict "--dry-run says what would be measured with frames"

{
    on 2 -t shmem_all_reduce --profile=full
    expect 2 $?
    grep -q "profile: 'full' is not a way to profile (light or sync)" "$work/err" || cat "$work/err"
    on 2 -t shmem_all_reduce --profile sync
    expect 2 $?
} | verdict "an unknown mode is a usage error"

{
    SIM_TWIN_FAULT=2:1:10 on 2 -t shmem_all_gather_push -b 4K
    expect 0 $?
    SIM_TWIN_FAULT=2:1:10 on 2 -t shmem_all_gather_push -b 4K --profile
    expect 1 $?
    grep -q 'gave up after the timed loop' "$work/err" || cat "$work/err"
    has '^frames of case 0: .*none: measuring with frames failed'
} | verdict "a twin that hangs, behind ten launches of warm-up, fails the point"

# Machine code without frames: there is none in what the compiler sees of the default kernels.
seen_by_compiler() { # FILE
    c++ -E -P -x c++ -D__CUDACC__ -D__CUDA_ARCH__=900 -I"$root/kernels" - 2>"$work/err" \
        <<<"#include \"$1\""
}
{
    seen_by_compiler kernels.cu >"$work/plain"
    grep -Eo 'bw_frames?_[a-z_]+\(|frame_scope|frames_scope|clock64|smid"|_prof' "$work/plain" |
        grep -v smid | sort | uniq -c
    seen_by_compiler profile.cu >"$work/twins"
    [ "$(grep -c frame_scope_ "$work/twins")" -gt 20 ] || echo "no frames in the twins"
    plain=$(grep -Eo 'bw_shmem_[a-z0-9_]+\(const bw|bw_shmem_[a-z0-9_]+\(__grid' "$work/plain" | wc -l)
    [ "$plain" -gt 20 ] || echo "only $plain kernels seen"
} | verdict "the default kernels have no frames, the twins have"
finish
