#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a run of all testcases asks of the driver: memory, contexts and kernels
# once a run, streams and events once a lane, and no more copies than are
# wanted. On an H200 page-locking 512 MiB takes 30 ms and more, a context 120 ms
# (docs/MEASUREMENTS.md): none of them may come back with each pair.
# Usage: counts_test.sh BWTOOL BUILD_FOLDER
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need_simulator
cd "$work" || exit 1
read -r -a all <<<"$(seq -s ' ' 0 34)"
# Not smaller than the list that latencies follow, for which a buffer would be made anew.
size=(-b 4M)

calls() { # NAME...: how many calls of these there were
    local pattern
    pattern=$(printf '|%s' "$@")
    grep -cE "^sim: .* call [0-9]+: (${pattern#|}) " trace
}
at_most() { # NUMBER NAME...
    local most=$1 n
    n=$(calls "${@:2}")
    check "$gpus GPUs: ${*:2}: $n, at most $most" [ "$n" -le "$most" ]
}
pairs() { # FIRST SECOND: as many of the one as of the other, and some
    check "$gpus GPUs: as many $2 as $1" [ "$(calls "$1")" = "$(calls "$2")" ]
    check "$gpus GPUs: $1 is called" [ "$(calls "$1")" -gt 0 ]
}

kernels() { # as many as the product has
    sed -n '/define BW_OPERATOR_KERNELS(K)/,/clang-format on/p' "$root/include/bwtool/kernels.h" |
        grep -oE ' K\([a-z]' | wc -l
}

for gpus in 1 3; do
    SIM_CLOCK=1 SIM_TRACE=1 SIM_REPORT=1 run -g $gpus -x 'gpu * sm 2' "${size[@]}" -i 2 \
        --loopCount 2 -t "${all[@]}"
    check "$gpus GPUs: all is measured" [ "$status" = 0 ]
    grep '^sim: ' err >trace
    lanes=$("$bwtool" --dry-run=$gpus -t "${all[@]}" | grep -o '@' | wc -l)
    check "$gpus GPUs: the plan has lanes" [ "$lanes" -gt $((10 * gpus)) ]

    # Two page-locked buffers a GPU, and what the host and the GPUs tell each other through.
    at_most $((2 * gpus)) cuMemHostRegister_v2 cuMemHostRegister
    at_most 2 cuMemHostAlloc
    # A GPU that all others copy to has a buffer for each of them; one is for what is compared.
    at_most $((gpus * (gpus + 2))) cuMemAlloc_v2 cuMemAlloc
    pairs cuMemHostRegister cuMemHostUnregister
    pairs cuMemAlloc cuMemFree
    # All of it lives to the end of the run.
    last=$(grep -nE ': (cuMemcpyAsync|cuLaunchKernel)' trace | tail -n 1 | cut -d: -f1)
    early=$(head -n "$last" trace | grep -cE ': (cuMemFree|cuMemHostUnregister|cuMemFreeHost)')
    check "$gpus GPUs: nothing is given back before the last copy ($early)" [ "$early" = 0 ]

    at_most $gpus cuDevicePrimaryCtxRetain
    at_most $((gpus * (gpus - 1))) cuCtxEnablePeerAccess
    at_most 1 cuLibraryLoadData
    check "$gpus GPUs: each kernel is made resident once a GPU" \
        [ "$(calls cuKernelGetFunction)" = "$(calls cuLibraryGetKernel)" ]
    at_most $((gpus * $(kernels))) cuLibraryGetKernel

    at_most $((lanes + gpus)) cuStreamCreate
    at_most $((33 * lanes + gpus)) cuEventCreate
    pairs cuStreamCreate cuStreamDestroy
    pairs cuEventCreate cuEventDestroy
    check "$gpus GPUs: nothing is left" grep -q \
        'left: 0 ranges, 0 handles, 0 streams, 0 events, 0 contexts' trace
done

# Where nothing varies, no more samples are taken than the least that the interval needs.
run -g 2 -j "${size[@]}" -t host_to_device_memcpy_ce all_to_one_write_ce device_to_device_memcpy_read_sm
check "steady links need the least number of samples" python3 -c "
import json
n = [c['n'] for t in json.load(open('out'))['bwtool']['testcases'] for m in t['matrices']
     for row in m['cells'] for c in row if c and c['value'] is not None]
assert n == 6 * [6], n"
finish
