#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bwtool on every kind of simulated machine, and each kind of fault caught by
# name: product.sh BUILD. Ends with a count; exit 1 if one failed.
set -u
root=$(cd "$(dirname "$0")/../../.." && pwd)
export BWTOOL_BUILD=$1
passed=0 failed=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# case_ NAME STATUS TEXT ARGUMENTS...: the run ends so within two minutes, and says the text.
case_() {
    local name=$1 status=$2 text=$3 got
    shift 3
    timeout 120 "$root/scripts/simulate.sh" "$@" >"$out" 2>&1
    got=$?
    if [ "$got" = "$status" ] && grep -qE -- "$text" "$out"; then
        passed=$((passed + 1))
        echo "ok      $name"
    else
        failed=$((failed + 1))
        echo "FAILED  $name: exit $got, wanted $status and \"$text\""
        tail -n 15 "$out" | sed 's/^/        /'
    fi
}
h2d=host_to_device_memcpy_ce
write=device_to_device_memcpy_write_ce

case_ "one GPU" 0 ' 0 +55\.00$' -m h200x1 -t $h2d
case_ "two GPUs" 0 'SUM .* 800\.00' -g 2 -t $write
case_ "two GPUs, by kernels" 0 'SUM .* 800\.00' -g 2 -t device_to_device_memcpy_write_sm -b 4
case_ "eight GPUs, the default size" 0 'SUM .* 22400\.00' -m h200x8 -t $write
case_ "all to one: the receiver's port" 0 'SUM .* 3200\.00' -m h200x8 -t all_to_one_write_ce
case_ "both ways by one kernel" 0 ' 0 +55\.00 +55\.00' -g 2 -t host_to_device_bidirectional_memcpy_sm
case_ "PCIe, not all are peers" 0 ' 0 +N/A +25\.00 +N/A +N/A' -m pcie4 -t $write -b 16
case_ "C2C" 0 ' 0 +420\.00' -m gh200 -t $h2d -b 16
case_ "two nodes, each GPU by its own" 0 '55\.00 +55\.00 +55\.00 +55\.00' -m numa4 -t $h2d -b 16
case_ "MIG" 0 'Simulated H200 MIG' -m mig -t $h2d -b 16
case_ "no peers" 0 '^Waived: ' -m nopeer -t $write
case_ "nobody knows the nodes" 0 'SUM .* 110\.00' -m nonuma -t $h2d -b 16
case_ "an old driver" 3 'too old' -m old -t $h2d
case_ "no GPU" 3 'no GPU' -g 0 -t $h2d
case_ "it says that it is simulated" 0 '^Simulated GPUs' -g 1 -t $h2d -b 16
case_ "JSON says so, too" 0 '"simulated": true' -g 1 -t $h2d -b 16 -j

fault() { # NAME STATUS TEXT LINES
    case_ "fault: $1" "$2" "$3" -g 2 -x "$4" -t $write -b 17
}
fault "an allocation" 1 'CUDA_ERROR_OUT_OF_MEMORY' 'fail cuMemAlloc 3 CUDA_ERROR_OUT_OF_MEMORY'
fault "and the other cell is measured" 1 ' 1 +400\.00' \
    'fail cuMemAlloc 3 CUDA_ERROR_OUT_OF_MEMORY'
fault "a sticky error" 1 'CUDA_ERROR_ECC_UNCORRECTABLE' \
    'fail cuEventRecord 5 CUDA_ERROR_ECC_UNCORRECTABLE'
fault "the driver does not start" 3 'CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|no GPU|mismatch' \
    'fail cuInit 1 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH'
fault "a wrong byte in each copy" 1 '1 of 17825792 bytes are wrong, the first at offset 17' \
    'corrupt copy 0 byte 17'
fault "copies that do nothing" 1 '17825792 of 17825792 bytes are wrong' 'skip copy 0'
case_ "fault: copies of another one's bytes" 1 'bytes are wrong' \
    -g 2 -x 'stray copy 0' -t device_to_device_bidirectional_memcpy_write_ce -b 17
case_ "each way has its own rate" 0 ' 0 +N/A +200\.00' -g 2 -x 'gpu 1 nvlink 300 200' -b 17 \
    -t device_to_device_bidirectional_memcpy_write_ce
fault "a slow link" 0 ' 0 +N/A +40\.00' 'slow link D0-D1 0.1'
fault "jitter" 0 ' 0 +N/A +3[89][0-9]\.' 'jitter 0.05'
fault "a stream that never ends" 1 'did not end within' 'hang stream 4'
case_ "fault: time that does not pass" 1 'the time measured was zero' \
    -g 2 -x 'lie cuEventElapsedTime 0 0' -t $write -b 17 -j
case_ "fault: time that is no number" 1 '"status": "ERROR"' \
    -g 2 -x 'lie cuEventElapsedTime 0 nan' -t $write -b 17 -j
fault "a count of devices below 0" 3 'no usable .*answers that this machine has -5 GPUs' \
    'lie cuDeviceGetCount 1 -5'
fault "far too many devices" 3 'no usable .*answers that this machine has 100000 GPUs' \
    'lie cuDeviceGetCount 1 100000'
fault "one device more than there are" 3 'CUDA_ERROR_INVALID_DEVICE' 'lie cuDeviceGetCount 1 3'
fault "a device that cannot be described" 3 'CUDA_ERROR_UNKNOWN.* in cu.DeviceGetName' \
    'fail cuDeviceGetName 2 CUDA_ERROR_UNKNOWN'
case_ "fault: PCIe runs slower than it could" 5 'PCIe link runs at 3\.0 x8' \
    -m degraded -t $h2d -b 16
case_ "fault: a hot GPU" 5 'thermal slowdown' -m degraded -t $h2d -b 16
case_ "fault: NVML fails" 0 'SUM .* 110\.00' -g 2 -x 'fail nvmlInit_v2 1 NVML_ERROR_DRIVER_NOT_LOADED' \
    -t $h2d -b 16

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
