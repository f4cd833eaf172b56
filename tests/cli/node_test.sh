#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/measure_node.sh on 2, 4 and 8 simulated GPUs, beside a peer that is
# played here; and what it does when something does not fit, fails or hangs.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_simulator

# bwtool on GPUS simulated GPUs.
cat >"$work/bwtool" <<END
#!/bin/bash
[ -z "\${STRAY-}" ] || [ "\$2" != 0 ] || { setsid sleep 300 & }
BWTOOL_BUILD=$build exec bash $root/scripts/simulate.sh -g "\${GPUS:-2}" -- "\$@"
END
# nvbandwidth: every testcase has the sum PEER_VALUE, after PEER_S seconds.
cat >"$work/peer" <<'END'
#!/bin/bash
[ -z "${PEER_S-}" ] || sleep "$PEER_S"
printf 'nvbandwidth Version: v0.8\n\nDriver Version: 1.2\n\nhost\nDevice 0: GPU X (0000)\n\n'
[ -z "${PEER_BREAKS-}" ] || mkdir -p "$PEER_BREAKS" # where a file should be written
while [ $# -gt 1 ]; do
    printf 'Running %s.\nx\n\nSUM %s %s\n\n' "$2" "$2" "${PEER_VALUE:-10.00}"
    shift 2
done
END
chmod +x "$work/bwtool" "$work/peer"

# node STATUS WORDS...: a new folder each time, few and small copies.
node() {
    local want=$1
    shift
    rm -rf "$work/node"
    bash "$root/scripts/measure_node.sh" --bwtool "$work/bwtool" --out "$work/node" --touch-gib 0 \
        --args "-b 64K -i 1" --sweep 1K:2K "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
    [ "$status" -eq "$want" ] || echo "exit status $status instead of $want"
}

says() { # PATTERN...: each on some line of stdout
    local pattern
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$work/out" || {
            echo "no line is like: $pattern"
            cat "$work/out" "$work/err"
        }
    done
}

# tells PYTHON: of the record, as `node`.
tells() {
    python3 -c 'import json, sys
node = json.load(open(sys.argv[1]))
assert eval(sys.argv[2]), "not so: " + sys.argv[2]' "$work/node/node.json" "$1" 2>&1 | tail -n 1
}

no_process() { # of a step
    grep -lzs '^BWTOOL_NODE_STEP=' /proc/[0-9]*/environ | sed 's/$/: is left/'
}

for gpus in 2 4 8; do
    {
        # NCCL needs its time to settle: once is enough.
        baseline=none
        [ "$gpus" != 2 ] || baseline=nccl
        GPUS=$gpus node 0 --peer "$work/peer" --testcases "0 4 12" --operators shmem_put --baseline $baseline
        if [ $baseline = nccl ]; then
            grep -q "^NCCL's latency, of the class" "$work/node/node.md" || cat "$work/node/node.md"
            tells "node['operators']['bwtool']['baseline']['kind'] == 'nccl'"
        else
            says '^operators-nccl +skipped .* by --baseline none$'
        fi
        says '^look +ran ' "^growth-$gpus +ran" '^operators +ran' '^compare +ran' '^idle +ran' \
            '^both ran 3 testcases: nvbandwidth [0-9.]+ s, bwtool [0-9.]+ s, ratio [0-9.]+$' \
            "^$gpus GPUs: $((gpus * gpus + gpus)) cells in [0-9.]+ s, [0-9.]+ ms a cell\$" 'exit status 0$'
        tells "node['gpus'] == $gpus and node['exit_status'] == 0 and not node['faults']"
        tells "sorted(map(int, node['growth'])) == [k for k in (2, 4, 8) if k <= $gpus]"
        tells "[len(r['bwtool']['devices']) for r in node['growth'].values()] == [int(k) for k in node['growth']]"
        tells "all(c['verdict'] == 'passed' for c in node['growth']['$gpus']['bwtool']['testcases'])"
        tells "{len(c['operator']['cases']) for c in node['operators']['bwtool']['testcases']} == {2}"
        tells "[r['testcase'] for r in node['comparisons'][0]['rows']] == ['host_to_device_memcpy_ce',
            'device_to_device_memcpy_read_ce', 'all_to_one_write_ce']"
        tells "node['look']['bwtool']['environment']['variables']['NCCL_NVLS_ENABLE'] == '0'"
        grep -q "^| host_to_device_memcpy_ce | 10.00 | $((55 * gpus)).00 |" "$work/node/node.md" ||
            cat "$work/node/node.md"
        grep -qE "^$gpus GPUs: [0-9.]+ s: .* Starting takes [0-9.]+ s" "$work/node/node.md" || cat "$work/node/node.md"
        grep -q '^| shmem_put | 400.00 | 400.00 |$' "$work/node/node.md" || cat "$work/node/node.md"
        no_process
    } | verdict "$gpus GPUs: every step, one page, one record"
done

{
    PEER_VALUE=200.00 node 4 --peer "$work/peer" --testcases "0" --skip "operators ranks growth"
    says '^below their bound: host_to_device_memcpy_ce$' 'exit status 4$' '^growth +skipped .* by --skip$' \
        '^operators +skipped .* by --skip$'
} | verdict "a value below its bound is named"

{
    node 0 --testcases 0 --skip "operators growth"
    says '^compare +skipped .* no --peer' '^ranks +skipped'
} | verdict "what is missing is skipped, and why is said"

{
    PEER_S=4 GPUS=8 node 0 --budget 50 --peer "$work/peer" --testcases "0 22" \
        --skip "operators ranks growth"
    says '^compare-1 +ran' '^compare-11 +skipped .* testcases 22: about [0-9]+ s, and [0-9]+ s are left'
    tells "len(node['comparisons']) == 1"
} | verdict "what does not fit into the budget is skipped, by what the peer took before"

{
    PEER_S=200 node 1 --budget 13 --peer "$work/peer" --testcases 0 --skip "operators ranks growth"
    says '^compare +failed .* ended at its deadline of [0-9]+ s' '^idle +ran'
    no_process
} | verdict "a peer that hangs is ended, and the last look is taken"

{
    PEER_BREAKS=$work/node/compare.json node 1 --peer "$work/peer" --testcases 0 \
        --skip "operators ranks growth"
    says '^compare +failed .* there is no record of it' '^idle +ran'
    for word in inf nan -1 x 1e3; do
        node 2 --touch-gib "$word"
    done
} | verdict "a comparison that dies is no success"

{
    STRAY=1 node 1 --testcases 0 --skip "operators ranks compare"
    says '^growth-2 +failed .* left behind and that were ended: 1$'
    no_process
} | verdict "a process that is left behind is seen and ended"

{
    node 1 --testcases 0 --skip "operators ranks compare" --args "-b 1Z"
    says '^growth-2 +failed .* exit status 2: .*1Z'
} | verdict "a step that fails is one, with its reason"

# change WORDS...: what the step growth-2 said, and a Python statement on its record d, its cases c.
change() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1] + "/growth-2.out"))
c = d["bwtool"]["testcases"]
late = dict(c[0], name="late", verdict="not_run", matrices=[],
            reason="the time that --max-time gives was over before its turn")
exec(sys.argv[3])
d["bwtool"]["exit_status"] = 1
json.dump(d, open(sys.argv[1] + "/growth-2.out", "w"))
lines = [line.split("\t") for line in open(sys.argv[1] + "/steps").read().splitlines()]
for line in lines:
    if line[0] == "growth-2":
        line[1], line[4] = "failed", sys.argv[2]
open(sys.argv[1] + "/steps", "w").writelines("\t".join(line) + "\n" for line in lines)' "$work/node" "$@"
    python3 -B "$root/scripts/node_record.py" write "$work/node" 2 60 none >"$work/out" 2>"$work/err"
    status=$?
}
{
    node 0 --testcases 0 --skip "operators ranks compare"
    cp -r "$work/node" "$work/kept"
    cut='c[0]["verdict"] = "failed"; c[0]["matrices"][0]["cells"][0][1].update(status="timeout", reason="not run: --max-time was over")'
    change 'exit status 1: x' "c.append(late); $cut"
    [ "$status" = 0 ] || echo "exit status $status"
    says '^growth-2 +ran .* the time was over: host_to_device_memcpy_ce late$'
    while IFS=';' read -r note statement; do
        rm -rf "$work/node"
        cp -r "$work/kept" "$work/node"
        change "$note" "c.append(late); $statement"
        [ "$status" = 1 ] || echo "exit status $status: $statement"
        says '^growth-2 +failed .* the time was over: late$'
    done <<'END'
exit status 1: x;c[0]["verdict"] = "failed"; c[0]["matrices"][0]["cells"][0][1].update(status="verify", reason="1 byte is wrong")
exit status 1: x;c[0].update(verdict="not_run", reason="the GPUs were lost before its turn")
processes that it left behind and that were ended: 1;pass
END
    rm -rf "$work/kept"
} | verdict "want of time is no failure, and hides none"

printf '#!/bin/bash\nBWTOOL_BUILD=%s exec bash %s/scripts/simulate.sh -g 0 -- "$@"\n' "$build" "$root" \
    >"$work/none"
chmod +x "$work/none"
{
    node 3 --bwtool "$work/none"
    grep -q 'no usable GPU' "$work/err" || cat "$work/err"
} | verdict "without a GPU"

{
    for words in '--budget 0' '--testcases 35' '--skip all' '--peer /nowhere' '--sweep' 'word' "--out $work"; do
        # shellcheck disable=SC2086 # words are meant
        node 2 $words
        [ "$(wc -l <"$work/err")" -eq 1 ] || cat "$work/err"
        [ ! -e "$work/node" ] || echo "$words: a folder is made"
    done
} | verdict "wrong words run nothing"

{
    rm -rf "$work/node"
    PEER_S=200 bash "$root/scripts/measure_node.sh" --bwtool "$work/bwtool" --peer "$work/peer" \
        --out "$work/node" --touch-gib 0 --testcases 0 --skip "operators ranks growth" \
        >"$work/out" 2>"$work/err" </dev/null &
    for _ in {1..100}; do
        grep -q 'compare, at most' "$work/err" && break
        sleep 0.2
    done
    kill -TERM $!
    wait $!
    [ $? -eq 1 ] || echo "exit status"
    grep -q 'ended by a signal' "$work/err" || cat "$work/err"
    no_process
} | verdict "a signal ends it, and what it had started"
finish
