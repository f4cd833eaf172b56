# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154,SC2317 # of lib.sh, and for who sources this
# SPDX-License-Identifier: Apache-2.0
# What the tests of the baseline share, beside lib.sh.

# nccl GPUS ARGS...: with few samples, so that it is quick.
nccl() {
    local gpus=$1
    shift
    run -g "$gpus" -- -i 1 "$@"
}

# out PATTERN, err PATTERN: what an extended pattern finds there.
out() { grep -Eq -- "$1" "$work/out"; }
err() { grep -Eq -- "$1" "$work/err"; }
# json FILE EXPRESSION over d, the document: true?
json() {
    python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
cases = [c for t in d["bwtool"]["testcases"] if "operator" in t for c in t["operator"]["cases"]]
points = [p for t in d["bwtool"]["testcases"] if "operator" in t for p in t["operator"].get("baselines", [])]
sys.exit(not eval("(" + sys.argv[2] + ")"))' "$1" "$2"
}
is() { # STATUS: the exit status of the last run
    [ "$status" -eq "$1" ]
}

# Those that NCCL has something like.
all="shmem_all_to_all shmem_all_gather shmem_reduce_scatter shmem_all_reduce shmem_broadcast"
all+=" shmem_put shmem_get"
