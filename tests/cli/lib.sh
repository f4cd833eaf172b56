# shellcheck shell=bash
# shellcheck disable=SC2034 # who sources this uses them
# SPDX-License-Identifier: Apache-2.0
# What the tests of the command line share. Each gets BWTOOL and the build
# folder; `work` is an empty folder that goes when the test ends.
shopt -s lastpipe # verdict, at the end of a pipe, has to set a variable of ours
bwtool=${1:+$(realpath "$1")}
build=${2:+$(realpath "$2")}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
# Of whoever runs the tests: a test that is about one of them sets it.
unset NCCL_NVLS_ENABLE CUDA_VISIBLE_DEVICES CUDA_DEVICE_MAX_CONNECTIONS CUDA_DEVICE_ORDER

check() { # NAME COMMAND...: what the last run said is shown where it fails
    if "${@:2}"; then
        passed=$((passed + 1))
        printf 'ok %s\n' "$1"
        return
    fi
    failed=$((failed + 1))
    printf 'not ok %s\n' "$1"
    for stream in out err; do
        if [ -e "$work/$stream" ]; then
            head -n 5 "$work/$stream" | sed "s/^/  $stream: /"
        fi
    done
}

verdict() { # NAME, and on stdin what is wrong; lines "note: ..." are not
    local found
    found=$(cat)
    if [ -n "$found" ]; then
        printf '%s\n' "$found"
    fi
    if printf '%s' "$found" | grep -qv '^note: '; then
        failed=$((failed + 1))
        printf 'not ok %s\n' "$1"
    else
        passed=$((passed + 1))
        printf 'ok %s\n' "$1"
    fi
}

finish() { # the last line of a test
    printf '%d passed, %d failed\n' "$passed" "$failed"
    exit $((failed > 0 || passed == 0))
}

# Tests on simulated GPUs begin with this.
need_simulator() {
    if [ ! -e "$build/sim/libcuda.so.1" ]; then
        echo "skipped: no simulated driver in $build"
        exit 0
    fi
}

run() { # ARGUMENTS of simulate.sh: stdout into out, stderr into err, status into $status
    BWTOOL_BUILD=$build bash "$root/scripts/simulate.sh" "$@" >"$work/out" 2>"$work/err" </dev/null
    status=$?
}
