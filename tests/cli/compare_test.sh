#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scripts/compare_with_nvbandwidth.py against two tools that are played here:
# each prints figures from a file, one file a round.
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

# The peer prints "KEY VALUE" lines of peer.N or, if there is none, of peer;
# "!" and a word: exit status, "wait" or "waived".
cat >"$work/play_peer" <<'END'
#!/usr/bin/env bash
dir=$(dirname "$0")
echo "peer $*" >>"$dir/calls"
n=$(grep -c '^peer' "$dir/calls")
file=$dir/peer.$n
[ -e "$file" ] || file=$dir/peer
printf 'nvbandwidth Version: v0.8\n\nDriver Version: 1.2\n\nhost\nDevice 0: GPU X (0000)\n\n'
while read -r key value; do
    case $key$value in
    !wait) sleep 60 ;;
    !waived) printf 'Waived: \n' ;;
    !*) echo "[CUDA_ERROR_UNKNOWN] it broke" >&2; exit "$value" ;;
    *) printf 'Running %s.\nmemcpy title\n           0\n 0  %8s\n\nSUM %s %s\n\n' \
        "$key" "$value" "$key" "$value" ;;
    esac
done <"$file"
printf 'NOTE: The reported results may not reflect all.\n\n'
END
# Ours writes the record of the same lines; "waived NAME" is a waived testcase.
cat >"$work/play_bwtool" <<'PLAY'
#!/usr/bin/env bash
dir=$(dirname "$0")
echo "bwtool $*" >>"$dir/calls"
n=$(grep -c '^bwtool' "$dir/calls")
file=$dir/bwtool.$n
[ -e "$file" ] || file=$dir/bwtool
exec awk '
    $1 == "!" { status = $2; next }
    {
        name = $1 == "waived" ? $2 : $1
        sub(/_(read[12]|write[12]|total)$/, "", name)
        if (!(name in sum)) names[++count] = name
        sum[name] = $1 == "waived" ? "null, \"status\": \"Waived\"" : $2 ", \"status\": \"Passed\""
        matrices[name] = matrices[name] (matrices[name] == "" ? "" : ", ") \
            "{\"key\": \"" $1 "\", \"summary\": {\"sum\": " ($1 == "waived" ? "0" : $2) "}}"
    }
    END {
        printf "{\n\"nvbandwidth\": {\"Driver Version\": \"1.2\", \"GPU Device list\": [\"0: GPU X\"],\n"
        printf "\"testcases\": ["
        for (i = 1; i <= count; i++)
            printf("%s\n{\"name\": \"%s\", \"sum\": %s}", (i > 1 ? "," : ""), names[i],
                sum[names[i]])
        printf "]},\n\"bwtool\": {\"version\": \"0.1.0\", \"testcases\": ["
        for (i = 1; i <= count; i++)
            printf("%s\n{\"name\": \"%s\", \"matrices\": [%s]}", (i > 1 ? "," : ""), names[i],
                matrices[names[i]])
        printf "]}\n}\n"
        exit status
    }' "$file"
PLAY
chmod +x "$work"/play_*

# A machine on which both tools agree, but for what a case says.
fresh() {
    rm -f "$work"/calls "$work"/peer* "$work"/bwtool*
    cat >"$work/peer" <<'END'
host_to_device_memcpy_ce 55.50
device_to_device_bidirectional_memcpy_read_ce_read1 380.00
device_to_device_bidirectional_memcpy_read_ce_read2 390.00
device_to_device_bidirectional_memcpy_read_ce_total 770.00
host_to_device_bidirectional_memcpy_sm 40.00
device_to_host_bidirectional_memcpy_sm 44.00
device_to_device_memcpy_read_sm 370.00
all_to_one_write_sm 369.00
all_to_one_read_sm 369.50
one_to_all_write_sm 369.40
one_to_all_read_sm 369.10
host_device_latency_sm 1200.00
END
    sed -E 's/^(all_to_one_read_sm|one_to_all_read_sm) .*/\1 375.00/' "$work/peer" >"$work/bwtool"
}

compare() { # STATUS [ARGUMENTS]: run it; its output goes to out and err
    local want=$1 got=0
    shift
    python3 -B "$root/scripts/compare_with_nvbandwidth.py" --peer "$work/play_peer" \
        --bwtool "$work/play_bwtool" --touch-gib 0.02 --rounds 2 "$@" >"$work/out" 2>"$work/err" || got=$?
    [ "$got" -eq "$want" ] || echo "exit status $got instead of $want"
}

says() { # PATTERN...: each on some line of out
    local pattern
    for pattern in "$@"; do
        grep -qE -- "$pattern" "$work/out" || echo "no line is like: $pattern"
    done
}

fresh
{
    compare 0 --rounds 4 --json "$work/record" --markdown "$work/table"
    says '^host_to_device_memcpy_ce +55\.50 +55\.50 +1\.0000 .*pass$' \
        '^one_to_all_read_sm +369\.10 +375\.00 .*pass$' \
        '^mean of 18 and 19 +42\.00 +42\.00 +1\.0000' ', 0 below their bound or missing, 0 not decided for noise, 0 at it only by rounding, 0 faults$'
    # A B B A A B B A, nothing else
    [ "$(cut -d' ' -f1 "$work/calls" | tr '\n' ' ')" = \
        "peer bwtool bwtool peer peer bwtool bwtool peer " ] || cat "$work/calls"
    python3 -c 'import json, sys
record = json.load(open(sys.argv[1]))
assert len(record["runs"]) == 8 and len(record["rows"]) == 13, record
assert record["runs"][0]["wall"] > 0 and record["driver"] == "1.2"' "$work/record" 2>&1
    grep -q '^| host_device_latency_sm | 1200.00 |' "$work/table" || cat "$work/table"
} | verdict "both tools agree"

fresh
sed -i 's/^all_to_one_read_sm .*/all_to_one_read_sm 369.45/' "$work/bwtool"
{
    compare 1
    says '^all_to_one_read_sm +369\.50 +369\.45 .*FAIL$' ', 1 below'
} | verdict "a read that does not beat the peer's write fails"

fresh
sed -i 's/^one_to_all_read_sm .*/one_to_all_read_sm 369.00/' "$work/bwtool"
{
    compare 1
    says '^one_to_all_read_sm +369\.10 +369\.00 .*FAIL$'
} | verdict "so does the other fan"

fresh
sed -i 's/^host_to_device_memcpy_ce .*/host_to_device_memcpy_ce 55.23/' "$work/bwtool"
{
    compare 0
    says '^host_to_device_memcpy_ce .* 0\.9951 .*pass$'
    rm "$work/calls"
    sed -i 's/ 55.23/ 55.19/' "$work/bwtool"
    compare 1
    says '^host_to_device_memcpy_ce .* 0\.9944 .*FAIL$' ', 1 below'
} | verdict "a CE testcase may be 0.995 of the peer, not less"

fresh
sed -i 's/^host_to_device_memcpy_ce .*/host_to_device_memcpy_ce 55.21/' "$work/bwtool"
{
    compare 0
    says '^host_to_device_memcpy_ce .* 0\.9948 .*rounded$' ', 1 at it only by rounding'
} | verdict "a bound that only a rounded ratio meets is told from one that is met"

fresh
sed -i 's/_total .*/_total 760.00/' "$work/bwtool"
{
    compare 1
    says '_read_ce_total .*FAIL$' '_read_ce_read1 .*-$'
} | verdict "both ways at once are judged by their total"

fresh
for n in 3 4; do
    sed 's/^device_to_device_memcpy_read_sm .*/device_to_device_memcpy_read_sm 371.00/' \
        "$work/bwtool" >"$work/bwtool.$n"
done
sed 's/^device_to_device_memcpy_read_sm .*/device_to_device_memcpy_read_sm 367.00/' \
    "$work/bwtool" >"$work/bwtool.2"
sed 's/^device_to_device_memcpy_read_sm .*/device_to_device_memcpy_read_sm 9.00/' \
    "$work/bwtool" >"$work/bwtool.1"
{
    compare 5 --rounds 4
    says '^device_to_device_memcpy_read_sm .* 0\.9919 1\.0027 1\.0027 .*noise$'
    rm "$work/calls"
    sed -i 's/ 367.00/ 369.00/' "$work/bwtool.2"
    compare 0 --rounds 4
    says '^device_to_device_memcpy_read_sm .* 0\.9973 1\.0027 1\.0027 .*pass$'
} | verdict "SM is judged in each round and in the median, without the first round"

# rounds_of KEY VALUE...: bwtool's figures of the rounds that count.
rounds_of() {
    local key=$1 n=1 value
    shift
    rm -f "$work/calls" "$work"/bwtool.[0-9]*
    for value in 1.00 "$@"; do
        sed "s/^$key .*/$key $value/" "$work/bwtool" >"$work/bwtool.$n"
        n=$((n + 1))
    done
}
fresh
{
    rounds_of host_to_device_memcpy_ce 55.00 57.00 57.10
    compare 5 --rounds 4 --json "$work/record"
    says '^host_to_device_memcpy_ce .* 1\.0270 .*noise$' '^not decided: host_to_device_memcpy_ce$' \
        '^host_to_device_memcpy_ce: .* between 0\.9910 and 1\.0288' ', 0 below .* 1 not decided for noise,'
    rounds_of host_to_device_memcpy_ce 54.00 51.00 55.00
    compare 1 --rounds 4
    says '^host_to_device_memcpy_ce .*FAIL$'
    rounds_of host_device_latency_sm 1199.00 1202.00 1190.00
    compare 5 --rounds 4
    says '^host_device_latency_sm .* 0\.9992 .*noise$'
    rounds_of host_device_latency_sm 1202.00 1190.00 1190.00 1190.00 1190.00 1190.00 1190.00 1190.00 1190.00
    compare 0 --rounds 10
    says '^host_device_latency_sm .* 0\.9917 .*pass$'
} | verdict "a bound between the rounds' ratios is not decided, and more rounds decide it"

fresh
sed -i 's/^host_device_latency_sm .*/host_device_latency_sm 1201.00/' "$work/bwtool"
{
    compare 1
    says '^host_device_latency_sm .*FAIL$'
    rm "$work/calls"
    sed -i 's/ 1201.00/ 900.00/' "$work/bwtool"
    compare 0
    says '^host_device_latency_sm .*0\.7500.*pass$'
} | verdict "a latency may be lower, not higher"

fresh
sed -i 's/^\(device_to_host_bidirectional_memcpy_sm\) .*/\1 41.00/' "$work/bwtool"
{
    compare 0
    says '^mean of 18 and 19 +42\.00 +40\.50 .*lower$' '^mean of 18 and 19: .*access pattern' \
        '^device_to_host_bidirectional_memcpy_sm .*-$'
} | verdict "a two-way SM mean that is lower asks for its explanation"

# --pattern: what the peer's access pattern reaches explains its figure, or does not.
cat >"$work/play_pattern" <<'END'
#!/usr/bin/env bash
cat "$(dirname "$0")/pattern"
END
chmod +x "$work/play_pattern"
fresh
sed -i 's/^\(device_to_host_bidirectional_memcpy_sm\) .*/\1 41.00/' "$work/bwtool"
{
    printf 'pattern %s\n' 'alone GPU 0 22.00' 'alone GPU 1 20.00' 'all GPU 0 1.00' verified >"$work/pattern"
    compare 0 --pattern "$work/play_pattern"
    says '^mean of 18 and 19 +42\.00 +40\.50 .*explained$' '^mean of 18 and 19: .* reaches 42\.00 .* explains its 42\.00'
    rm "$work/calls"
    sed -i 's/ 20.00/ 19.99/' "$work/pattern"
    compare 0 --pattern "$work/play_pattern"
    says '^mean of 18 and 19 +42\.00 +40\.50 .*lower$' '^mean of 18 and 19: .* reaches 41\.99 .* less than its 42\.00'
    rm "$work/calls"
    sed -i '/verified/d' "$work/pattern"
    compare 1 --pattern "$work/play_pattern"
    says '^fault: pattern: its copies were not verified$' '^mean of 18 and 19 .*lower$'
    rm "$work/calls"
    compare 2 --pattern "$work/none"
} | verdict "the peer's access pattern explains its figure where it reaches it"

fresh
{ head -n 3 "$work/peer"; echo '! 1'; } >"$work/peer.2"
{
    compare 1
    says '^fault: peer, round 1: exit status 1: \[CUDA_ERROR_UNKNOWN\] it broke$' \
        '^host_device_latency_sm .*MISSING$' '^host_to_device_memcpy_ce .*pass$' \
        '^host_device_latency_sm: no value by the peer'
} | verdict "a peer that dies is a fault"

fresh
echo '! 1' >>"$work/bwtool"
{
    compare 1
    says '^fault: bwtool, round 0: exit status 1$' '^fault: bwtool, round 1: exit status 1$'
} | verdict "an exit status of ours is a fault though all values are there"

fresh
sed -i '/^host_device_latency_sm/d' "$work/bwtool"
{
    compare 1
    says '^host_device_latency_sm +1200\.00 +N/A +N/A .*MISSING$' ': no value by bwtool$'
} | verdict "a testcase that ours lacks is missing"

fresh
sed -i 's/^host_device_latency_sm .*/! waived/' "$work/peer"
sed -i 's/^host_device_latency_sm .*/waived host_device_latency_sm/' "$work/bwtool"
{
    compare 0 --testcase host_to_device_memcpy_ce host_device_latency_sm --devices 0
    says '^waived by bwtool: host_device_latency_sm$'
    grep -qx 'peer -t host_to_device_memcpy_ce -t host_device_latency_sm' "$work/calls" ||
        cat "$work/calls"
    rm "$work/calls"
    compare 1 --testcase device_local_copy
    says '^device_local_copy +N/A +N/A .*MISSING$'
} | verdict "what both waive is not missing, what neither knows is"

fresh
echo '! wait' >"$work/peer.2"
{
    compare 1 --timeout 1
    says '^fault: peer, round 1: did not end within 1 s$'
} | verdict "a peer that hangs is ended"

fresh
{
    compare 0 --rounds 1 --keep-first --bwtool-args="-i 3" --peer-args="-x 'a b'" --json "$work/record"
    [ "$(cut -d' ' -f1 "$work/calls" | tr '\n' ' ')" = "peer bwtool " ] || cat "$work/calls"
    [ "$(grep -cx -e 'bwtool -j -i 3' -e 'peer -x a b' "$work/calls")" = 2 ] || cat "$work/calls"
    grep -q '"first_dropped": false' "$work/record" || cat "$work/record"
} | verdict "one round that is kept, and more arguments for either tool"

fresh
{
    compare 2 --rounds 1
    compare 2 --bwtool "$work/none"
    [ ! -e "$work/calls" ] || echo "something ran"
} | verdict "wrong arguments run nothing"
finish
