#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The testcases beyond nvbandwidth v0.8's, each on the simulated driver: a rate
# as declared, a word that is wrong is seen, and what a machine lacks is said.
# Usage: rows_test.sh BWTOOL BUILD_FOLDER
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need_simulator
cd "$work" || exit 1

sum() { # NAME: what its SUM line says
    sed -nE "s/^SUM $1 //p" out
}

# Odd bytes, so that the last ones, which fill no vector, take part.
small=(-m h200x2 -b 1000001B -i 2 --loopCount 2)
rows=$(seq 52 65)
for index in $rows; do
    run "${small[@]}" -t "$index"
    check "$index passes" [ "$status" = 0 ]
    check "$index has a sum" grep -qE '^SUM [a-z_0-9]+ [0-9]+\.[0-9]{2}$' out
    run "${small[@]}" --corrupt-word 777 -t "$index"
    check "$index: a wrong word fails it" [ "$status" = 1 ]
    check "$index: and is said" grep -q 'verification failed' err
done

# As the machine is declared: local memory 2100 copied, 4200 one way; 110 to and 108 from the GPUs.
run -m h200x2 -b 40M -i 2 --loopCount 1 -t 56 57 58 60 61 62 63
check "local copies, by the kernel for large buffers" [ "$(sum device_local_copy_sm)" = 4200.00 ]
check "local reads" [ "$(sum device_local_read_sm)" = 8400.00 ]
check "local writes" [ "$(sum device_local_write_sm)" = 8400.00 ]
check "local bulk copies" [ "$(sum device_local_copy_tma)" = 4200.00 ]
check "all to host, summed" [ "$(sum all_to_host_memcpy_total_ce)" = 108.00 ]
check "host to all, summed" [ "$(sum host_to_all_memcpy_total_ce)" = 110.00 ]
check "both ways, summed" [ "$(sum host_to_all_bidirectional_memcpy_total_ce)" = 218.00 ]
run -m h200x2 -b 40M -i 2 --loopCount 1 --corrupt-word 7777777 -t 56
check "the kernel for large buffers is looked at" [ "$status" = 1 ]

run -m pcie4 -x 'gpus 2' -b 1M -i 2 -t device_local_copy_tma device_local_copy_sm
check "no bulk copies before 9.0" grep -qE '^Waived: device_local_copy_tma: .*9\.0.* has 8\.9$' out
check "which is no failure" [ "$status" = 0 ]

# A copy's life: its parts make the whole, and the engine's is what the rate says.
run -m h200x2 -j -b 1M -i 2 -t host_to_device_memcpy_ce device_to_device_memcpy_write_tma
check "a copy's life is told" python3 -c "
import json
for t in json.load(open('out'))['bwtool']['testcases']:
    cell = t['matrices'][0]['cells'][0][-1]
    life = cell['life']
    parts = [life[k + '_ns'] for k in ('submit', 'queue', 'engine', 'completion')]
    assert min(parts) >= 0 and life['held_ns'] > 0, life
    assert abs(sum(parts) - life['end_to_end_ns']) < 1, life
    assert life['engine_ns'] * cell['value'] >= 0.9 * (1 << 20) * life['copies'], life
"
# Some of the pairs only.
cells() { # how many cells of the first matrix have a rate
    sed -n '/^memcpy/,/^SUM/p' out | grep -oE ' [0-9]+\.[0-9]{2}' | wc -l
}
run -g 4 -b 1M -i 2 -P 2 -t device_to_device_memcpy_write_ce
check "two pairs of six, both ways" [ "$(cells)" = 5 ] # and their sum
run -g 4 -b 1M -i 2 -P 99 -t device_to_device_memcpy_write_ce
check "no more than there are" [ "$(cells)" = 13 ]
run -g 4 -b 1M -i 2 -P 1 -t one_to_all_write_ce
check "what concerns no pairs stays as it is" [ "$(cells)" = 5 ]
run -g 4 -b 1M -j -t device_local_copy
uuids=$(python3 -c "
import json
d = json.load(open('out'))
print(*[g['uuid'] for g in d['bwtool']['devices']][1:3])")
# shellcheck disable=SC2086 # two words
run -g 4 -b 1M -i 2 --pair $uuids -t device_to_device_memcpy_write_ce
check "the pair that is named" grep -qE '^ 1 +N/A +N/A +[0-9.]+ +N/A$' out
check "and no other" [ "$(cells)" = 3 ]
run -m pcie -b 1M -j -t device_local_copy # its third GPU reaches no other
uuids=$(python3 -c "
import json
d = json.load(open('out'))
print(*[g['uuid'] for g in d['bwtool']['devices']][0:3:2])")
# shellcheck disable=SC2086
run -m pcie -b 1M -i 2 --pair $uuids -t device_to_device_memcpy_read_ce device_local_copy
check "a pair without peer access is waived, and both are named" grep -q \
    '^Waived: device_to_device_memcpy_read_ce: GPU 0 and GPU 2, the pair of --pair, have no peer access' out
check "what concerns no pairs is measured" [ "$(grep -c '^SUM device_local_copy ' out)" = 1 ]
check "a waiver is no failure" [ "$status" = 0 ]
run -m pcie -b 1M -i 2 -P 1 -t device_to_device_memcpy_read_ce
check "-P takes a pair that there is" grep -q '^SUM device_to_device_memcpy_read_ce ' out
run -g 4 -b 1M --pair GPU-1 GPU-2 -t device_to_device_memcpy_write_ce
check "a UUID that no GPU has" grep -q "there is no GPU 'GPU-1' here" err
check "is wrong usage" [ "$status" = 2 ]
run -g 4 -b 1M --pair GPU-1 -t 4
check "one is no pair" grep -q -- '--pair: wants the UUIDs of two GPUs, and there is 1' err
run -g 2 -b 1M -i 2 -H -t 0
check "-H measures the same" [ "$status" = 0 ]
finish
