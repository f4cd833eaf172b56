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
compare "$work/a.json,$work/c.json"
check "a case that failed is left out, and that is said" eval 'is 0 && err "1 cases of .*c.json failed or did not run"'

finish
