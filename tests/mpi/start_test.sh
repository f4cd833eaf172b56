#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starting together: lists, one rank, too many ranks, other options, ranks that
# see one GPU each, and what rank 0 does alone.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

ranks 2 h200x2 -l
{
    [ "$status" = 0 ] || echo "status $status"
    [ "$(grep -c '^0, ' "$work/out")" = 1 ] || echo "the list is there more than once, or not at all"
} | verdict "mpirun -n 2 bwtool -l"

ranks 1 h200x2 -t multinode_bisect_write_ce device_to_device_memcpy_read_ce -b 64K -i 1
{
    [ "$status" = 0 ] || echo "status $status"
    grep -q '^Waived: multinode_bisect_write_ce: needs one MPI rank a GPU' "$work/out" ||
        echo "no waiver"
    grep -q '^SUM device_to_device_memcpy_read_ce 800.00' "$work/out" || echo "no sum"
} | verdict "one rank is one process"

ranks 2 h200x2 -t device_to_device_memcpy_read_ce multinode_device_to_device_memcpy_read_ce cpu_copy \
    -b 64K -i 1
{
    [ "$status" = 0 ] || echo "status $status"
    says '2 of the testcases concern one process: rank 0 runs them alone'
    [ "$(grep -c '^SUM' "$work/out")" = 3 ] || cat "$work/out"
} | verdict "rank 0 alone where no other is needed"

ranks 3 h200x2 -t multinode_bisect_write_ce -b 64K
{
    [ "$status" = 3 ] || echo "status $status"
    says 'rank 2 .*more ranks than GPUs: 3 ranks were started on .*, and this one sees 2 GPUs'
} | verdict "more ranks than GPUs"
ranks 3 h200x2 -t shmem_all_to_all_push --algorithm multicast -b 64K
{
    [ "$status" = 3 ] || echo "status $status"
    says 'rank 2 .*more ranks than GPUs'
} | verdict "more ranks than GPUs, and operators that multicast would be made for"

RANK_ARGUMENTS='1 -m' ranks 2 h200x2 -t multinode_bisect_write_ce -b 64K
{
    [ "$status" = 2 ] || echo "status $status"
    says "rank 1 is started with other options than rank 0: '.* -m' instead of"
} | verdict "other options"

# A GPU has room for one such buffer, and a pair needs no second one.
SIM_EXTRA='gpu * memory 150MiB' ranks 2 h200x2 -t multinode_device_to_device_memcpy_read_ce -b 80M -i 1
{
    [ "$status" = 0 ] || { echo "status $status"; head -n 5 "$work/err"; }
    grep -q '^SUM multinode_device_to_device_memcpy_read_ce 800.00' "$work/out" || cat "$work/out"
} | verdict "ranks share no more buffers than are needed"

# Each its own, and sets that are disjoint: rank 1's GPU is the second that it sees.
for sets in '0 1' '0,1 3,2'; do
    SHOW_EACH=$sets ranks 2 h200x8 -t multinode_device_to_device_memcpy_read_ce -b 64K -i 1
    {
        [ "$status" = 0 ] || echo "status $status"
        says '2 of 2 ranks do not see the GPUs of all ranks of their host'
        grep -q '^SUM multinode_device_to_device_memcpy_read_ce 800.00' "$work/out" || cat "$work/out"
    } | verdict "ranks that see GPUs $sets"
done
SHOW_EACH='0,1 1' ranks 2 h200x8 -t multinode_bisect_write_ce -b 64K -i 1 -j
{
    [ "$status" = 0 ] || echo "status $status"
    python3 - "$work/out" <<'END'
import json, sys
record = json.load(open(sys.argv[1]))["bwtool"]
sees = [d["sharing"]["sees_all_ranks"] for d in record["devices"]]
if sees != [True, False]:
    print("sees_all_ranks:", sees)
if not any("1 of 2 ranks do not see" in w["text"] for w in record["messages"]):
    print("no warning in the record:", record["messages"])
END
} | verdict "one rank that sees its own GPU only: the record says which"

CUDA_VISIBLE_DEVICES=1 ranks 2 h200x2 -t multinode_bisect_write_ce -b 64K
{
    [ "$status" = 3 ] || [ "$status" = 1 ] || echo "status $status"
    says 'ranks 0 and 1 of .* have the same GPU'
} | verdict "two ranks on one GPU"
exit $failed
