#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What each surface of the command line prints on 0, 1, 2, 4 and 8 simulated
# GPUs, as it is kept in tests/golden/cli; and text and JSON hold the same
# numbers. With GOLDEN_ACCEPT=1 what is printed now is kept; GOLDEN_ONLY is a
# pattern of the cases to run.
# Usage: golden_test.sh BWTOOL BUILD_FOLDER
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
golden=$root/tests/golden/cli
need_simulator
cd "$work" || exit 1
ln -s "$bwtool" bwtool

is_wanted() {
    [[ $1 =~ ${GOLDEN_ONLY-.} ]]
}
# Status, standard output and standard error, masked, as one text.
record() {
    printf 'exit status %d\n' "$status"
    printf -- '--- stdout\n'
    python3 "$root/tests/cli/golden_mask.py" <out
    printf -- '--- stderr\n'
    # Of bytes that have nothing to do with each other, some are the same by chance.
    sed -E "s|$work|WORK|g; s/0x[0-9a-f]{8}/0xWORD/g; s|\([a-z_]+\.c:[0-9]+|(FILE:LINE|g
        s|at [0-9.]+ s: .*|at * s: *|; s/ [0-9]{5} of (.* offset) [0-9]+:/ * of \1 *:/" err
}
same() { # NAME: the record is the golden one
    record >new
    if [ "${GOLDEN_ACCEPT-}" = 1 ]; then
        mkdir -p "$golden"
        cp new "$golden/$1.txt"
    fi
    diff -u "$golden/$1.txt" new
    check "$1" [ $? = 0 ]
}
case_() { # NAME ARGUMENTS of simulate.sh
    local name=$1
    shift
    is_wanted "$name" || return
    run "$@"
    same "$name"
}

small=(-b 64K -i 3)
set_of=(host_to_device_memcpy_ce device_to_device_memcpy_read_ce all_to_one_write_ce
    device_local_copy host_device_latency_sm)
for gpus in 0 1 2 4 8; do
    case_ "dry_run_$gpus" -g $gpus --dry-run -t "${set_of[@]}"
    case_ "text_$gpus" -g $gpus "${small[@]}" -t "${set_of[@]}"
    is_wanted "text_$gpus" && cp out text
    case_ "json_$gpus" -g $gpus -j "${small[@]}" -t "${set_of[@]}"
    if [ $gpus != 0 ] && is_wanted "text_$gpus" && is_wanted "json_$gpus"; then
        python3 "$root/tests/cli/golden_same.py" text out
        check "text and JSON hold the same numbers on $gpus" [ $? = 0 ]
    fi
done
case_ verbose -g 2 -v "${small[@]}" -t device_to_device_bidirectional_memcpy_write_ce
case_ perf -g 2 -F perf "${small[@]}" -t host_to_device_memcpy_ce device_local_copy
case_ mean -g 2 -- -m -s -d "${small[@]}" -t host_to_device_memcpy_sm
case_ prefix -g 2 "${small[@]}" -p one_to_all

case_ operators -g 3 -b 2K -i 1 -t shmem_get shmem_all_reduce_two_shot shmem_all_gather_push
case_ fault_operator -g 2 -b 2K -i 1 --corrupt-word 77 -t shmem_all_reduce_two_shot

# What needs no GPU is the same with or without.
case_ list -g 0 -l
case_ list_json -g 2 -l -j
case_ help -g 0 --help
case_ version -g 1 --version
case_ explain -g 2 --explain host_to_device_memcpy_ce device_local_copy nonsense

# Links that are not alike both ways: each way's own matrix, and their sum.
case_ unequal_ways -g 2 -x 'gpu 1 nvlink 300 200' -v "${small[@]}" \
    -t device_to_device_bidirectional_memcpy_write_ce device_to_device_bidirectional_memcpy_read_sm
case_ fault_way_back -g 1 -x 'corrupt copy 0 byte 65541' "${small[@]}" \
    -t host_to_device_bidirectional_memcpy_sm
case_ fault_stray -g 2 -x 'stray copy 0' "${small[@]}" \
    -t device_to_device_bidirectional_memcpy_write_ce

# What this machine lacks.
case_ waived_json -g 1 -j "${small[@]}" -t device_to_device_memcpy_read_sm
case_ waived_no_peer -m nopeer "${small[@]}" -t device_to_device_memcpy_write_ce
case_ waived_multinode -g 2 "${small[@]}" -t multinode_bisect_write_ce
case_ partial_peer -m pcie4 "${small[@]}" -t device_to_device_memcpy_read_ce

# What the user got wrong, and what the machine did.
case_ error_option -g 1 --nonsense
case_ error_value -g 1 -b 3Q
case_ error_testcase -g 1 "${small[@]}" -t no_such_testcase device_local_copy
case_ error_testcase_json -g 1 -j "${small[@]}" -t no_such_testcase
case_ fault_memory -g 2 -x 'fail cuMemAlloc 3 CUDA_ERROR_OUT_OF_MEMORY' "${small[@]}" \
    -t device_to_device_memcpy_read_ce
case_ fault_lost -g 2 -x 'fail cuMemcpyAsync 5 CUDA_ERROR_ECC_UNCORRECTABLE' "${small[@]}" \
    -t host_to_device_memcpy_ce device_local_copy
case_ fault_lost_json -g 2 -j -x 'fail cuMemcpyAsync 5 CUDA_ERROR_ECC_UNCORRECTABLE' \
    "${small[@]}" -t host_to_device_memcpy_ce device_local_copy
case_ fault_bytes -g 1 "${small[@]}" --corrupt-word 5 -t host_to_device_memcpy_ce

finish
