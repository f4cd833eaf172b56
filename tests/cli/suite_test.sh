#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --suite shmem on simulated GPUs: the report with 2 and 4 GPUs and small sizes,
# beside NCCL, with frames, with a planted fault and without memory for size L;
# its cases as a dry run and as JSON; and what it may not be asked for with.
# shellcheck disable=SC2016,SC2317 # words for eval; functions that it and check call
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need_simulator

# Few samples of small sizes, so that it is quick: -b is the size L.
suite() { # GPUS or a machine file, ARGS...
    local machine=(-g "$1")
    [ -e "$1" ] && machine=(-m "$1")
    shift
    run "${machine[@]}" -- --suite shmem -b 4K -i 1 --loopCount 1 "$@"
}
out() { grep -Eq -- "$1" "$work/out"; }
err() { grep -Eq -- "$1" "$work/err"; }
is() { [ "$status" -eq "$1" ]; }
cases() { # GPUS: what a dry run says that there is
    run -g "$1" -- --suite shmem -b 4K --dry-run
    cp "$work/out" "$work/cases.$1"
}
report() { # GPUS CASE=RESULT...: what is wrong with it
    python3 "$root/tests/cli/suite_report.py" "$work/out" "$work/cases.$1" "${@:2}" >"$work/wrong" 2>&1
    cat "$work/wrong"
    [ ! -s "$work/wrong" ]
}

cases 4
check "a dry run lists at least 20 cases that run on 4 GPUs" \
    [ "$(grep -vc 'waived: \|^suite\|^case ' "$work/cases.4")" -ge 20 ]
suite 4 --baseline nccl
check "all cases pass on 4 GPUs, or are waived" is 0
check "the report on 4 GPUs beside NCCL holds together" report 4
check "the cases of 2 PEs run on 2 of 4 GPUs" out '^\| 2pe\.all_reduce \| [0-9]+ \| fp32 \| 2 \|'
check "with 4 GPUs the gate of 4 PEs is met" out '^\| 4 PEs \| recommended \| met'
check "and that of 8 is not" out '^\| S and L on 8 PEs \| must \| gate not met \| there are 4'
check "section 2 has a line of every way" out '^\| all_reduce \| fp32 \| 4 \| 4096 \| ncclAllReduce( \| [0-9.]+){4}'
check "NCCL is measured on 2 of 4 GPUs, too" out '^\| all_reduce \| fp32 \| 2 \| 4096 \| ncclAllReduce( \| [0-9.]+){4}'
check "the final comparison is with NCCL" out '^\| L\.R\.all_gather .*registered, graph, ncclAllGather'
check "and A with plain memory" out '^\| L\.A\.all_gather .*plain, graph, ncclAllGather'
check "simulated numbers are called so" out '^\*\*Simulated GPUs'
check "progress goes to stderr" err 'case 1 of [0-9]+: S\.put'

cases 2
suite 2 --profile --perf
check "with frames on 2 GPUs" is 0
check "the report with frames holds together" report 2
check "frames have their table" out '^\| case_id \| Frame \| Phase \| Avg us \| Max core us \| Count \| % E2E \| Bottleneck \|'
check "a class without a frame is explained" out '^\| S\.all_gather \| none \| local_compute .*pure transport'
check "a sum has the time of its frames" out '^\| [A-Za-z0-9._]+ \| [0-9]+ \| \(n-1\) .*\| frames \|'
check "[PERF] lines are there with --perf" out '^\[PERF\] pe=1 e2e_us='
check "a small L is no L, and the report says so" out "gate not met \| L is 4096 bytes of each of 2 PEs"
check "without a baseline section 2 says why" out '^There is no baseline: none was asked for'

SIM_SHMEM_FAULT=12:0 suite 2
check "without frames section 3.5 says why" out '^There are none: .*--profile'
check "wrong bytes: the exit status is 1" is 1
check "wrong bytes: the correctness gate is not met" out '^\| correctness first: .* gate not met \| .*L\.R\.all_reduce'
check "wrong bytes: the case is there with its reason, and without numbers" \
    out '^\| L\.R\.all_reduce .*N/A .* failed \| .*bytes are wrong.*: no valid performance data'
mapfile -t wrong < <(sed -n 's/^| \([A-Za-z0-9._]*\) |.* failed | .*wrong.*/\1=failed/p' "$work/out" | sort -u)
check "wrong bytes: exactly the failed cases have no data" report 2 "${wrong[@]}"
check "wrong bytes: the cases without the fault are there" [ "${#wrong[@]}" -lt 10 ]

printf 'gpus 2\ninclude %s/tests/sim/machines/h200.txt\ngpu * memory 16MiB\n' "$root" >"$work/small"
run -m "$work/small" -- --suite shmem -b 16M -i 1 --loopCount 1 -j
check "without memory for L the run fails, and S has run" is 1
cp "$work/out" "$work/small.json"
check "without memory for L its gate is not met, that of S is" python3 - "$work/small.json" <<'END'
import json, sys
d = json.load(open(sys.argv[1]))["bwtool"]
g = {x["gate"]: x for x in d["suite"]["gates"]}
large, small = [next(g[k] for k in g if k.startswith(s)) for s in ("L: ", "S: ")]
assert not large["met"] and "memory" in large["reason"].lower(), large
assert small["met"], small
c = {t["suite_case"]["case_id"]: t for t in d["testcases"]}
assert c["S.put"]["verdict"] == "passed" and c["L.put"]["verdict"] == "failed"
assert c["B1.chunk_tail"]["suite_case"]["boundary"] == 1
END

SIM_NCCL=fast suite 2 --baseline nccl
check "below 80 % of NCCL the exit status is 4" is 4
check "and the case says so" out '^\| L\.A\.all_gather .*\| 80 % of the baseline \| below \|'

run -g 2 -- --suite shmem -b 4K --max-time 1
check "out of time the exit status is 1, and the report is there" eval 'is 1 && out "^## 6\. Final"'
check "what did not run says so, and has no numbers" \
    out '^\| B1\.chunk_tail .*\| N/A \| - \| not_run \| the time that --max-time gives'

run -g 0 -- --suite shmem
check "without a GPU the exit status is 3" is 3
check "without a GPU the gates say so" out 'gate not met \| .*no usable GPU'
suite 1 -m
check "one GPU: what needs two is waived" is 0
check "means are not called medians" out '^\| repeats \| mean over samples'

while read -r words; do
    # shellcheck disable=SC2086 # words
    run -g 2 -- --suite shmem $words
    check "--suite with $words is wrong usage" is 2
    check "--suite with $words says why, in one line" eval \
        '[ ! -s "$work/out" ] && [ "$(grep -c . "$work/err")" -eq 1 ] && err "error: --suite: cannot be given"'
done <<'END'
-t shmem_put
-p shmem_
--sweep 1K:1M
--dtype fp16
--placement r
--algorithm push
--ctas 4
--tokens 7
-s
-F perf
-F text
END
run -g 2 -- --suite none
check "an unknown suite is wrong usage" eval 'is 2 && err "is not a suite \(shmem\)"'
run -g 2 -- --suite shmem -l
cp "$work/out" "$work/list"
run -g 2 -- -l
check "-l is what it is without --suite" cmp -s "$work/out" "$work/list"

finish
