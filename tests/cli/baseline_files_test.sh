#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# NCCL alone in one file, operators in another: --compare joins them without a
# driver, and refuses what is not alike, with the reason.
# shellcheck disable=SC2016,SC2317 # words for eval; functions that it and check call
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=baseline_lib.sh
. "$(dirname "$0")/baseline_lib.sh"
need_simulator

mkdir "$work/none"
: >"$work/none/libnccl.so.2"

# shellcheck disable=SC2086 # words
nccl 2 -j -t $all shmem_barrier --sweep 1K:16K:16 --baseline nccl-only
check "NCCL alone" is 0
cp "$work/out" "$work/a.json"
check "is no operator" json "$work/a.json" 'len(cases) == 0 and len(points) == 14'
check "and what NCCL has not is waived" json "$work/a.json" \
    '[t["verdict"] for t in d["bwtool"]["testcases"]] == 7 * ["passed"] + ["waived"]'
# shellcheck disable=SC2086 # words
nccl 2 -j -t $all shmem_barrier --sweep 1K:16K:16
cp "$work/out" "$work/b.json"
compare() { # FILES: joined, without a driver
    LD_LIBRARY_PATH=$work/none "$bwtool" --compare "$1" "${@:2}" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}
compare "$work/a.json,$work/b.json"
check "two files are joined" eval 'is 0 && out "^all_gather payload_bytes=16384 .*\| passed \| A \| plain"'
cp "$work/out" "$work/first"
compare "$work/b.json,$work/a.json"
check "in either order" cmp "$work/out" "$work/first"
compare "$work/a.json,$work/b.json" -j
check "as JSON" python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not (d["compared"] == 14 and d["refused"] == 0 and d["below"] == 0))' "$work/out"

nccl 2 -j -t shmem_put -b 1K --baseline nccl
cp "$work/out" "$work/both.json"
for files in both,a a,both; do
    compare "$work/${files%,*}.json,$work/${files#*,}.json"
    check "operators are those of the file that has them: $files" eval 'is 0 && out "^put .*\| passed"'
done

nccl 2 -j -t shmem_dispatch --tokens 9 --hidden 64 --baseline nccl
cp "$work/out" "$work/d.json"
compare "$work/d.json,$work/d.json"
check "a file with both sides is compared with itself" is 0
nccl 2 -j -t shmem_dispatch --tokens 9 --hidden 64 --route-seed 5
cp "$work/out" "$work/e.json"
compare "$work/d.json,$work/e.json"
check "other routes: refused, with the reason" eval \
    'is 2 && out "refused: the baseline has no case of the same routes"'

# what NAME, a Python statement on file a (d, points, p), what is said
while IFS=';' read -r name change words; do
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
points = [p for t in d["bwtool"]["testcases"] if "operator" in t for p in t["operator"]["baselines"]]
exec(sys.argv[2])
json.dump(d, open(sys.argv[3], "w"))' "$work/a.json" "$change" "$work/c.json"
    compare "$work/c.json,$work/b.json"
    check "other $name: refused, with the reason" eval "is 2 && { out '$words' || err '$words'; }"
done <<'END'
size;[p.update(payload_bytes=4) for p in points];refused: the baseline has no case of the same size
dtype;[p.update(dtype="int8") for p in points];refused: the baseline has no case of the same dtype
ranks;[p.update(n_pes=3) or [w["kernel_us_of_ranks"].append(1.0) for w in p["ways"] if "kernel_us_of_ranks" in w] for p in points];same number of ranks
operator;[p.update(operator="broadcast") for p in points];the baseline has no case of the same operator
GPU;d["bwtool"]["devices"][1].update(name="Another");other GPUs: GPU 1 is
count of GPUs;d["bwtool"]["devices"].pop();other GPUs: .* has 2, and .* has 1
class;[p.update(ways=p["ways"][2:]) for p in points];placement A is held against plain memory, which it lacks
form;points[3].update(ways=7);entry 4 of its baselines is not of the form
root;d.pop("bwtool") and None;has no member .bwtool.
END
python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
for t in d["bwtool"]["testcases"][:-1]: # all but the barrier
    for p in t["operator"]["baselines"]:
        for w in p["ways"]:
            w["kernel_us"] = w["kernel_us"] and w["kernel_us"] / 1e6
json.dump(d, open(sys.argv[2], "w"))' "$work/a.json" "$work/c.json"
compare "$work/c.json,$work/b.json"
check "below 80 % of the baseline the exit status is 4" eval 'is 4 && out "\| below \|"'
# what, a Python statement on the points of file a, and one on the cases of file b, the exit status, what is said
while IFS=';' read -r name points cases status_ words; do
    python3 -c 'import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:3])
of = lambda d, k: [x for t in d["bwtool"]["testcases"] if "operator" in t for x in t["operator"].get(k, [])]
points, cases = of(a, "baselines"), of(b, "cases")
hot = "GPU 1: hardware thermal slowdown"
for statement in sys.argv[3:5]:
    exec(statement)
json.dump(a, open(sys.argv[5], "w"))
json.dump(b, open(sys.argv[6], "w"))' "$work/a.json" "$work/b.json" "$points" "$cases" "$work/c.json" "$work/f.json"
    compare "$work/c.json,$work/f.json"
    check "$name: $status_" eval 'is "$status_" && { out "$words" || err "$words"; }'
done <<'END'
a baseline in doubt is no bar;points[0]["doubt"] = hot;pass;5;not_judged .*unreliable: its baseline: GPU 1: hardware thermal slowdown$
an operator in doubt is not judged;pass;cases[0]["doubt"] = hot;5;not_judged .*unreliable: GPU 1: hardware thermal slowdown$
and how many is said;points[0]["doubt"] = hot;cases[-2]["doubt"] = hot;5;warning: --compare: 2 cases are unreliable
another one that is below is said first;[w.update(kernel_us=w["kernel_us"] / 1e6) for w in points[1]["ways"]];cases[0]["doubt"] = hot;4;\| below \|
a doubt of no form is refused;points[0]["doubt"] = 7;pass;2;entry 1 of its baselines is not of the form
a failed operator is no pass;pass;b["bwtool"]["testcases"][0]["verdict"] = "failed";1;error: --compare: 1 testcases of .*f.json failed
nor is one that was not run;pass;b["bwtool"]["testcases"][1]["verdict"] = "not_run";1;error: --compare: 1 testcases of .*f.json failed, or were not run
nor is a run of which all failed;pass;[t.update(verdict="failed") for t in b["bwtool"]["testcases"]] + [c.update(kernel_us=None) for c in cases];1;error: --compare: 8 testcases of .*f.json failed
only its own baseline was in doubt;pass;cases[0].update(doubt=hot, baseline={"doubt": hot});0;^put .*\| passed
END

compare "$work/b.json,$work/b.json"
check "two files without a baseline cannot be compared" eval 'is 2 && err "neither file has a baseline"'
compare "$work/a.json,$work/a.json"
check "nor two without operators" eval 'is 2 && err "has no operator that was measured"'
compare "$work/a.json,$work/missing.json"
check "a file that is not there" eval 'is 2 && err "missing.json: .*o such file"'
echo '{' >"$work/bad.json"
compare "$work/a.json,$work/bad.json"
check "a file that is no JSON" eval 'is 2 && err "bad.json: "'
compare "$work/a.json"
check "one file is not two" eval 'is 2 && err "two JSON files"'

python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
d["bwtool"]["testcases"][0]["operator"]["cases"][1]["kernel_us"] = None
json.dump(d, open(sys.argv[2], "w"))' "$work/b.json" "$work/c.json"
compare "$work/a.json,$work/c.json" -j
check "a case that did not run is counted" python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not (d["left_out"] == 1 and d["failed_testcases"] == 0 and d["unreliable"] == 0))' "$work/out"
compare "$work/a.json,$work/c.json"
check "it is left out, and that is said" eval 'is 0 && err "1 cases of .*c.json have no value: they are left out"'

finish
