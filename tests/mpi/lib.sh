# shellcheck shell=bash
# shellcheck disable=SC2034 # who sources this uses them
# SPDX-License-Identifier: Apache-2.0
# What the tests of several ranks share. Each gets BWTOOL and the build folder.
# Ranks run on simulated GPUs; they give the CPU away when idle.
shopt -s lastpipe # verdict, at the end of a pipe, has to set a variable of ours
bwtool=$1
build=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none
# Whoever still runs when a rank has failed is killed at once, not a second later.
export OMPI_MCA_odls_base_sigkill_timeout=0
# A launcher that ends removes its folder, under another one that begins if they share it.
export OMPI_MCA_orte_tmpdir_base=$work
export LD_LIBRARY_PATH=$build/sim${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Of whoever runs the tests: a test that is about one of them sets it.
unset NCCL_NVLS_ENABLE CUDA_VISIBLE_DEVICES CUDA_DEVICE_MAX_CONNECTIONS CUDA_DEVICE_ORDER
failed=0

verdict() { # NAME, and on stdin what is wrong
    local found
    found=$(cat)
    if [ -z "$found" ]; then
        printf 'ok %s\n' "$1"
    else
        printf '%s\nnot ok %s\n' "$found" "$1"
        failed=1
    fi
}

# ranks N MACHINE ARGUMENTS...: run; leaves $work/out, $work/err, and the status in $status.
# RANK_EXTRA="RANK LINES" plants lines of a machine file into one rank.
ranks() {
    local n=$1 machine=$2
    shift 2
    SIM_MACHINE=$root/tests/sim/machines/$machine.txt timeout -k 5 "${LIMIT:-60}" \
        mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$n" \
        bash "$root/tests/mpi/rank.sh" "$bwtool" "$@" >"$work/out" 2>"$work/err"
    status=$?
    echo $status >"$work/status"
}

# says PATTERN: stderr has a line like that.
says() {
    grep -qE -- "$1" "$work/err" || {
        echo "no line like: $1"
        sed 's/^/    /' "$work/err" | head -n 20
    }
}
