#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The NCCL baseline, with a stand-in for NCCL on simulated GPUs: every operator
# is measured beside it and its bytes are compared; whatever goes wrong in its
# process, the run ends, says so, and leaves no process behind.
# shellcheck disable=SC2016,SC2317 # words for eval; functions that it and check call
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=baseline_lib.sh
. "$(dirname "$0")/baseline_lib.sh"
need_simulator

# left: a process of a baseline that one of this test's runs has started is still there.
export BASELINE_TEST_MARK=$work
left() {
    grep -lsa -- '--baseline-f[d]' /proc/[0-9]*/cmdline | while read -r file; do
        grep -sazxF "BASELINE_TEST_MARK=$work" "${file%cmdline}environ"
    done | grep -qa .
}

n='([0-9.]+|N/A)'
line="^\[BASELINE_PERF\] pe=[0-9]+ e2e_us=$n kernel_us=$n algo_bandwidth_GBps=$n"
line+=" e2e_bus_bandwidth_GBps=$n kernel_bus_bandwidth_GBps=$n payload_bytes=[0-9]+ bus_factor=$n"
line+=" api=nccl[A-Za-z]+ nccl_version=2\.28\.3 registered=[01] mode=(launch|graph)$"

for gpus in 2 3; do
    # shellcheck disable=SC2086 # words
    nccl "$gpus" -j -t $all --baseline nccl --sweep 4K:12K:3
    check "every operator beside NCCL, $gpus ranks" is 0
    cp "$work/out" "$work/all.json"
    check "all four ways are measured, and the bytes are right, $gpus ranks" json "$work/all.json" \
        'len(points) == 14 and all(w["kernel_us"] for p in points for w in p["ways"])'
    if [ "$gpus" -ne 3 ]; then # there a size is a multiple of 16 bytes for each rank
        check "every byte is compared, $gpus ranks" json "$work/all.json" \
            'all(p["checked"] for p in points if p["payload_bytes"] % (16 * p["n_pes"]) == 0)'
    fi
    check "the verdict is by the baseline, $gpus ranks" json "$work/all.json" \
        'all(c["baseline"]["judged_by"] == "baseline" for c in cases)'
    # The stand-in's times: 6 us, 4 on registered memory, 1 more for a launch by the host.
    check "like is held against like, in its better mode, $gpus ranks" json "$work/all.json" \
        'all(c["baseline"]["class"] == ("registered" if c["placement"] == "R" else "plain") and
             c["baseline"]["mode"] == "graph" and c["baseline"]["best_of_all"]["class"] == "registered"
             for c in cases)'
done

for dtype in fp16 bf16 fp32 int32 int8; do
    nccl 3 -p shmem_reduce_scatter_pull shmem_all_reduce_ll --dtype "$dtype" --baseline nccl -b 3K
    check "sums of $dtype are NCCL's sums" out '\| (passed|not_judged|below) \| [ABR] \| (plain|regis)'
done

nccl 2 -t shmem_put_signal shmem_barrier --baseline nccl
check "a barrier and a signal have no baseline" is 0
check "and say so" out 'NCCL has no barrier'
check "and say so of the signal" out 'NCCL has no put with a signal'

for shape in "--skew 0 --hidden 64 --dtype bf16" "--skew one --hidden 36" \
    "--skew 2 --hidden 37 --dtype int8 --top-k 1 --placement b"; do
    # shellcheck disable=SC2086 # words
    nccl 3 -j -t shmem_dispatch shmem_combine --tokens 9 $shape --baseline nccl
    cp "$work/out" "$work/routed.json"
    check "dispatch and combine beside NCCL: $shape" eval 'is 0 && json "$work/routed.json" \
        "len(points) == 2 and all(p[\"checked\"] and p[\"api\"] == \"ncclSendRecv\" and
             all(w[\"kernel_us\"] for w in p[\"ways\"]) for p in points)"'
    check "their bus factor is the operator's: $shape" json "$work/routed.json" \
        'all(c["bus_factor"] == c["baseline"]["bus_factor"] for c in cases)'
done
SIM_NCCL=wrong nccl 2 -t shmem_combine --tokens 9 --hidden 64 --dtype int32 --baseline nccl
check "a wrong byte on the way back is seen in the sum" out 'no baseline: .*verification failed'

nccl 1 -t shmem_all_reduce --baseline nccl -b 4K
check "one rank has no baseline to be held against" is 0

nccl 2 -t shmem_all_gather --baseline nccl -b 4K --perf
check "[BASELINE_PERF] lines have their keys in order, one a rank and class" \
    eval '[ "$(grep -Ec "$line" "$work/out")" -eq 4 ]'
check "the comparison has the standard's columns" out \
    '^metric \| SHMEM kernel_bus_bandwidth_GBps \| Baseline kernel_bus_bandwidth_GBps \| delta \| pass'
check "any class against the best mode of all is printed under that name" out \
    '^any class vs the best NCCL mode of all'

nccl 2 -t shmem_all_gather --baseline nccl -b 4K --placement r
check "placement R is held against registered windows" out '\| R \| registered, graph, ncclAllGather'
nccl 2 -t shmem_all_gather_push --baseline nccl -b 4K --placement b
check "placement B is held against plain buffers" out '\| B \| plain, graph, ncclAllGather'

# Words with the epoch in them: twice the bytes; the stand-in is as fast as the links here.
SIM_NCCL=fast nccl 2 -t shmem_all_gather_ll --baseline nccl -b 64K
check "below 80 % of NCCL the exit status is 4, whatever the utilization" eval 'is 4 && out "\| below \|"'
SIM_NCCL=fast run -g 2 -x 'gpu 1 state throttle 64' -- -i 1 -t shmem_all_gather_ll --baseline nccl -b 64K
check "with a throttled GPU it is 5, and nothing is below" \
    eval 'is 5 && out "\| not_judged \|" && ! out "\| below \|"'
check "that NCCL ran on it, too, is said once, and beside the case" eval \
    'err "warning: the NCCL baseline is unreliable at 1 of 1 points: GPU 1: hardware thermal slowdown" &&
     out "unreliable: GPU 1: hardware thermal slowdown$"'
run -g 2 -x 'gpu 1 state throttle 64' -- -i 1 -j -t shmem_all_gather -b 4K --baseline nccl-only
cp "$work/out" "$work/hot.json"
check "NCCL alone on a throttled GPU is unreliable: 5" is 5
check "its point says why, and so does the verdict" json "$work/hot.json" \
    '[p["doubt"] for p in points] == ["GPU 1: hardware thermal slowdown"] and
     [t["verdict"] for t in d["bwtool"]["testcases"]] == ["unreliable"]'
# Errors at a look for which only the baseline's process lives long enough.
run -g 2 -x 'gpu 1 state nvlink_crc 0 7 17' -- -i 1 -j -t shmem_all_gather_tma --sweep 1M:4M:1.2 \
    --baseline nccl
cp "$work/out" "$work/hot.json"
check "where GPUs were not well while NCCL ran alone it is 5" is 5
check "some of its points are in doubt, and some are not" json "$work/hot.json" \
    '0 < sum("doubt" in p for p in points) < len(points)'
check "of the cases, those that would have been held against them, and no other" json "$work/hot.json" \
    'all((c["pass"] == "not_judged") == ("doubt" in p) and
         c.get("doubt") == c["baseline"].get("doubt") and
         c["baseline"]["judged_by"] == ("nothing" if "doubt" in p else "baseline")
         for c, p in zip(cases, points))'
SIM_NCCL=fast nccl 2 -t shmem_all_gather_tma --baseline nccl -b 64K
check "as fast as NCCL, it is 0" eval 'is 0 && out "\| passed \|"'

nccl 2 -t shmem_all_gather -b 4K --baseline nccl --no-multicast -j
cp "$work/out" "$work/nvls.json"
check "--no-multicast turns NCCL's use of it off" json "$work/nvls.json" \
    'd["bwtool"]["baseline"]["nvls_enable"] == "0"'
NCCL_NVLS_ENABLE=1 nccl 2 -t shmem_all_gather -b 4K --baseline nccl -j
cp "$work/out" "$work/nvls.json"
check "what the environment says of it is left alone" json "$work/nvls.json" \
    'd["bwtool"]["baseline"]["nvls_enable"] == "1"'

# The fewest simulated threads move a payload that is judged. FAULT, how patient we are, where it is said (the log or, always, the table), and how.
while read -r fault patience where words; do
    SIM_NCCL=$fault nccl 2 -t shmem_all_gather_tma -b 1M --baseline nccl --baseline-patience "$patience"
    check "NCCL's fault '$fault' does not keep the operators from running" is 0
    if [ "$where" = warning ]; then
        check "fault '$fault' is said once" eval "[ \"\$(grep -Ec \"warning: .*$words\" \"\$work/err\")\" -eq 1 ]"
    fi
    check "fault '$fault' is said beside the case, which is judged by utilization" out \
        "no baseline: .*$words.*; judged by utilization"
    check "fault '$fault' leaves no process behind" eval '! left'
done <<'END'
hang 2 warning its process said nothing for 2 s, and was ended
hang_call 2 warning its process said nothing for 2 s, and was ended
die 60 warning its process was ended by signal 6
die_call 60 warning its process was ended by signal 6
fail 60 warning NCCL: internal error: planted by SIM_NCCL in ncclCommInitAll
garbage 60 warning its process told what is no such line
old 60 warning NCCL is too old: libnccl.so.2 is version 2.7.5, and the baseline needs 2.10.0
fail_call 60 table NCCL: internal error: planted by SIM_NCCL in ncclAllGather
wrong 60 table verification failed in NCCL.s output
END

SIM_NCCL=fail_launch nccl 2 -t shmem_all_gather -b 4K --baseline nccl-only
check "a call that failed costs its communicators" out 'plain +graph .*NCCL failed before its turn'
check "and new ones are made after it" out 'registered +launch +[0-9.]+ .*every byte'
check "and it is an error of a run that has nothing else" eval \
    'is 1 && err "error: shmem_all_gather, 4096 bytes: NCCL gave no value: .*ncclAllGather"'

# Of the plain class's graphs only rank 0's: its kernel waits for rank 1, under whose memory nothing may go.
run -g 2 -x 'fail cuGraphLaunch 2 CUDA_ERROR_INVALID_VALUE' -- -i 1 -t shmem_all_gather -b 4K \
    --baseline nccl-only
check "so does a graph that one GPU launched and the next did not" eval \
    'is 0 && out "plain +graph +N/A.*GraphLaunch" && out "registered +launch +[0-9.]+ .*every byte"'

SIM_NCCL=no_windows nccl 2 -t shmem_all_gather -b 4K --baseline nccl --placement r
check "memory that is not registered without an error is no baseline of R" out \
    'no baseline: NCCL did not register memory'
SIM_NCCL=noise nccl 2 -t shmem_all_gather -b 4K --baseline nccl
check "what NCCL prints is no result" eval '! out NCCL.INFO && err NCCL.INFO'

mkdir "$work/none"
: >"$work/none/libnccl.so.2"
with() { # FOLDER ARGS...: that folder's NCCL
    printf 'gpus 2\ninclude %s/tests/sim/machines/h200.txt\n' "$root" >"$work/machine"
    LD_LIBRARY_PATH=$1:$build/sim SIM_MACHINE=$work/machine timeout 120 "$bwtool" -i 1 "${@:2}" \
        >"$work/out" 2>"$work/err" </dev/null
    status=$?
}
with "$work/none" -t shmem_all_gather_tma -b 1M --baseline nccl
check "without NCCL the operators run" is 0
check "and the lack is one clear line" err 'warning: the NCCL baseline is missing: no NCCL: '
with "$work/none" -t shmem_all_gather -b 1M --baseline nccl-only
check "NCCL alone, without NCCL, is waived" eval 'is 0 && out "^Waived: shmem_all_gather: no NCCL"'
with "$build/sim/nccl_old" -t shmem_all_to_all -b 4K --baseline nccl-only --perf
check "an older NCCL is measured as far as it goes" eval \
    'is 0 && out "registered graph .*no symmetric windows" && out "api=ncclSendRecv"'
SIM_NCCL=die nccl 2 -t shmem_all_gather -b 4K --baseline nccl-only
check "NCCL alone, and it fails: so does the run" eval 'is 1 && err "NCCL was not measured: .*signal 6"'
nccl 2 -t shmem_put_signal shmem_all_gather -b 4K --baseline nccl-only
check "NCCL alone, of what it has not, is waived, and the rest is measured" eval \
    'is 0 && out "^Waived: shmem_put_signal: NCCL has no put with a signal" && out "plain +graph +[0-9.]+"'
nccl 1 -t shmem_all_gather -b 4K --baseline nccl-only
check "NCCL alone on one GPU is waived" eval \
    'is 0 && out "^Waived: shmem_all_gather: one GPU: nothing crosses a link"'
nccl 2 -t shmem_all_gather_push --placement a -b 4K --baseline nccl-only
check "NCCL alone, and a placement that would not be honest, is misuse" eval \
    'is 2 && err "error: shmem_all_gather_push: placement A would not be honest"'
nccl 2 -t shmem_all_reduce --algorithm ce -b 4K --baseline nccl-only
check "NCCL alone, and an algorithm that is none of the operator, is misuse" eval \
    'is 2 && err "error: shmem_all_reduce: .*has no algorithm .ce"'

SIM_NCCL=die_third nccl 2 -j -t shmem_all_to_all shmem_all_gather --sweep 4K:32K --baseline nccl-only
cp "$work/out" "$work/cut.json"
check "NCCL alone, and it fails between two sizes: so does the run" eval \
    'is 1 && err "error: shmem_all_gather: NCCL may not have been measured to the end: .*signal 6"'
check "the operator that it was at has failed, the one before it has not" json "$work/cut.json" \
    '[t["verdict"] for t in d["bwtool"]["testcases"]] == ["passed", "failed"]'
check "and what it had told is in the record" json "$work/cut.json" \
    'sum(p["operator"] == "all_gather" for p in points) == 2'

nccl 2 -F perf -t shmem_all_gather -b 4K --baseline nccl-only
check "NCCL's own value has a key of its own" out '^&&&& PERF shmem_all_gather_nccl [0-9.]+ \+GB/s'

# Whoever started it is gone: so is the process.
SIM_NCCL=hang BWTOOL_BUILD=$build bash "$root/scripts/simulate.sh" -g 2 -- -t shmem_put \
    --baseline nccl >/dev/null 2>&1 </dev/null &
starter=$!
for _ in {1..100}; do
    ! left || break
    sleep 0.1
done
check "the process is there while its baseline hangs" left
for pid in $(pgrep -P "$starter"); do
    kill -KILL "$pid"
done
wait "$starter" 2>/dev/null
for _ in {1..100}; do
    left || break
    sleep 0.1
done
check "and goes with who started it" eval '! left'

nccl 2 -t device_local_copy --baseline nccl
check "a baseline of no operator is misuse" eval 'is 2 && err "none of the testcases is one"'
nccl 2 -t device_local_copy shmem_put --baseline nccl-only
check "NCCL alone beside another testcase is misuse" eval 'is 2 && err "not all of the testcases are"'
nccl 2 -t shmem_put --baseline hccl
check "another baseline is misuse" eval 'is 2 && err "nccl, or nccl-only"'

# So many points take the baseline longer than the whole time that is given.
nccl 4 -j -t shmem_all_gather_push --sweep 1K:4M:1.1 --baseline nccl --max-time 6
check "half of --max-time is left for the operators" json "$work/out" \
    'any(c["kernel_us"] for c in cases)'

nccl 4 -j -t shmem_all_gather_push --sweep 1K:4M:1.1 --baseline nccl-only --max-time 5
check "of NCCL alone, what was measured in time is in the record" json "$work/out" \
    'any(w["kernel_us"] for p in points for w in p["ways"])'
check "and what was not is a failure, with the reason" json "$work/out" \
    'd["bwtool"]["exit_status"] == (not all(w["kernel_us"] for p in points for w in p["ways"]
                                            if w["class"] == "plain")) and
     all(w["kernel_us"] or "--max-time" in w["reason"] for p in points for w in p["ways"])'

nccl 2 -j --suite shmem -b 64K --baseline nccl-only
cp "$work/out" "$work/suite.json"
check "NCCL alone at the sizes of a suite" is 0
check "each of its cases has NCCL's value of its own size, or none" json "$work/suite.json" \
    'all(len(t["matrices"][0]["cells"]) == 1 for t in d["bwtool"]["testcases"] if t["verdict"] == "passed")'
check "what needs more GPUs is waived, and says so" json "$work/suite.json" \
    '{t.get("reason") for t in d["bwtool"]["testcases"] if t["suite_case"]["n_pes"] == 8} ==
     {"needs 8 GPUs, and there are 2"} and
     {t["verdict"] for t in d["bwtool"]["testcases"] if t["suite_case"]["n_pes"] == 8} == {"waived"}'
check "and nothing of it stands with others" json "$work/suite.json" \
    'not any(t.get("reason") for t in d["bwtool"]["testcases"] if t["verdict"] == "passed")'
SIM_NCCL=fail_again nccl 3 -j --suite shmem -b 64K --baseline nccl-only
check "communicators of fewer ranks that cannot be made are a failure, with the reason" json "$work/out" \
    'd["bwtool"]["exit_status"] == 1 and
     any("ncclCommInitAll" in (w["reason"] or "") for p in points if p["n_pes"] == 2 for w in p["ways"])'

# As soon as the first are made, the time is over.
SIM_NCCL=late nccl 3 -j --suite shmem -b 64K --baseline nccl-only --max-time 1
check "communicators of fewer ranks are not made when the time is over" json "$work/out" \
    'any(p["n_pes"] == 2 for p in points) and
     all("--max-time" in w["reason"] for p in points if not p["reason"] for w in p["ways"])'

run -g 2 -- --baseline-fd 9 -t shmem_put 9>&-
check "a process of a baseline that has nobody to tell fails" is 1
run -g 2 -- --baseline-fd 9 -t shmem_put 9>/dev/full
check "so does one that cannot tell" is 1

finish
