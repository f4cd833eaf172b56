#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Links, state and outliers of machines that are not well, and of some that are:
# what is said, what is recorded, and what is returned. On the simulated driver.
# Usage: state_test.sh BWTOOL BUILD_FOLDER
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
need_simulator
cd "$work" || exit 1

# The interpreter itself: a wrapper around it costs more than what is asked of it.
python=$(python3 -c 'import sys; print(sys.executable)')
# shellcheck disable=SC2317 # check calls it
member() { # EXPRESSION over t, the first testcase, and c, its cells; EXPECTED
    [ "$("$python" -c "
import json
d = json.load(open('out'))['bwtool']
t = d['testcases'][0]
c = t['matrices'][0]['cells'] if t['matrices'] else []
print($1)")" = "$2" ]
}
lines() { # PATTERN FILE: how many lines have it
    grep -cE "$1" "$2"
}
small=(-b 1M -i 2)

# A healthy machine: every peak, no complaint.
run -g 2 -j "${small[@]}" -t host_to_device_memcpy_ce
check "a healthy machine returns 0" [ "$status" = 0 ]
check "and is silent" [ ! -s err ]
check "its link is PCIe" member 'c[0][0]["link"]' pcie
check "at the encoded rate" member 'round(c[0][0]["nominal_gb_per_s"], 2)' 63.02
check "with its packets' bound" member 'round(c[0][0]["bound_gb_per_s"], 2)' 58.45
check "the part of it" member 'round(c[0][1]["percent_of_nominal"], 1)' 87.3
check "where it comes from" member '"PCIe 5.0 x16" in c[0][0]["peak_source"]' True
check "nothing is above it" member '"above_bound" in c[0][0]' False
check "a record for each GPU" member '[s["gpu"] for s in t["state"]]' '[0, 1]'
check "looked at while it worked" member 'all(s["looks"] > 0 for s in t["state"])' True
check "throttled by nothing" member 't["state"][0]["throttled_by"]' '[]'
check "clocks are in it" member 't["state"][0]["max"]["sm_mhz"]' 1980
check "no outlier" member '"outliers" in t["matrices"][0]' False
check "asking took its time" member '0 < d["state_ms"] < 1000' True
run -g 2 -j "${small[@]}" -t device_to_device_memcpy_read_ce
check "between GPUs it is NVLink" member 'c[0][1]["link"], round(c[0][1]["nominal_gb_per_s"])' "nvlink 450"
run -g 2 -j "${small[@]}" -t device_local_copy
check "within one, its memory, which moves a byte twice" \
    member 'c[0][0]["link"], round(c[0][0]["nominal_gb_per_s"]), c[0][0]["bound_gb_per_s"]' \
    "hbm 2458 None"
run -m gh200 -j "${small[@]}" -t host_to_device_memcpy_ce
check "C2C is told from PCIe" member 'c[0][0]["link"], round(c[0][0]["nominal_gb_per_s"])' "c2c 450"
check "and its idle PCIe is nobody's concern" [ ! -s err ]
run -m mig -j "${small[@]}" -t device_local_copy
check "an instance's part of the memory is unknown" member 'c[0][0]["nominal_gb_per_s"]' None
run -m nopeer -j "${small[@]}" -t 0
check "GPUs without NVLink have PCIe as well" member 'c[0][0]["link"]' pcie
run -m pcie4 -j "${small[@]}" -t device_to_device_memcpy_write_ce
check "peers without NVLink cross PCIe" member 'c[0][1]["link"], round(c[0][1]["bound_gb_per_s"], 2)' \
    "pcie 28.81"

# Words beside the samples.
run -g 2 -v "${small[@]}" -t 0
check "-v has a line for each value's peak" [ "$(lines '^	Peak: Host -> Device [01]: 55\.00 GB/s is 87\.3 % of 63\.02 and 94\.1 % of the bound 58\.45 \(pcie: ' out)" = 2 ]
check "and for each GPU's state" [ "$(lines '^	State: Device [01]: SM 1980 MHz, memory 3201 MHz, 35 C, 100 W, PCIe 5\.0 x16, throttled by nothing$' out)" = 2 ]
check "all before the matrix" [ "$(grep -nE '^(	State|memcpy)' out | tail -1 | grep -c memcpy)" = 1 ]
run -g 2 "${small[@]}" -t 0
check "without -v there are none" [ "$(lines 'Peak|State' out)" = 0 ]

# Given peaks.
run -g 2 -j "${small[@]}" --peak 'pcie=50,a riser' -t host_to_device_memcpy_ce
check "--peak takes the place of what was found" member 'round(c[0][0]["nominal_gb_per_s"])' 50
check "with its reason" member 'c[0][0]["peak_source"]' 'given by --peak: a riser'
check "a value above it is flagged" member 'c[0][0]["above_bound"]' True
check "and no failure" [ "$status" = 0 ]
run -g 2 "${small[@]}" --peak pcie=50 -t host_to_device_memcpy_ce
check "it is said, once" [ "$(lines 'is more than the nominal rate of 50.00 GB/s' err)" = 1 ]

# A machine that is not well.
run -m degraded "${small[@]}" -t host_to_device_memcpy_ce device_to_device_memcpy_read_ce
check "a throttled GPU's values are unreliable: 5" [ "$status" = 5 ]
check "a slow link is loud, once" [ "$(lines 'warning: GPU 0: the PCIe link runs at 3.0 x8 under load, both ends could do 5.0 x16' err)" = 1 ]
check "missing NVLinks are loud, once" [ "$(lines 'warning: GPU 1: only 16 NVLinks are active, others of its kind here have 18' err)" = 1 ]
check "what spoils is said once a testcase" [ "$(lines 'unreliable: GPU 1: hardware thermal slowdown, in each of 3 takes' err)" = 2 ]
check "the values are printed all the same" grep -qE '^ 0 +6\.50 +55\.00$' out
run -m degraded -j "${small[@]}" -t host_to_device_memcpy_ce
check "the verdict is recorded" member 't["verdict"]' unreliable
check "of the cell, the doubt" member 'c[0][1]["doubt"]' 'GPU 1: hardware thermal slowdown, in each of 3 takes'
check "the other cell has none" member '"doubt" in c[0][0]' False
check "the peak is what is left of the link" member 'round(c[0][0]["nominal_gb_per_s"], 2)' 7.88
check "the reason is in the state" member 't["state"][1]["throttled_by"]' "['hw_thermal']"
check "and the heat" member 't["state"][1]["max"]["temperature_c"]' 92

# A retake is looked at as well, however short it is and whatever asking costs.
for size in 16 64M; do
    run -m degraded -b "$size" -i 2 -t host_to_device_memcpy_ce
    check "a retake of $size is no way out" [ "$status" = 5 ]
done

# Once more where this machine was too busy to ask at the take's end: then all of it is in doubt.
run_asked() {
    local _
    for _ in 1 2 3; do
        run "$@"
        grep -q 'which of its values that spoiled is not known' err || return
    done
}

# Errors that come and go: the take is thrown away.
run_asked -g 2 -x 'gpu 1 state nvlink_crc 0 5 17' -v "${small[@]}" -t 4 5 6
check "a take with errors is taken again" [ "$(lines 'take 1 of at most 3 is spoiled: GPU 1: 34 NVLink CRC errors' err)" = 1 ]
check "and then all is well" [ "$status" = 0 ]
for counter in pcie_replay nvlink_replay nvlink_recovery ecc_corrected ecc_uncorrected; do
    run_asked -g 1 -x "gpu 0 state $counter 0 5 2" -v "${small[@]}" -t 0 1 34
    check "so it is with $counter" [ "$(lines 'is spoiled: GPU 0: 2 ' err)" = 1 ]
done
run -g 1 -x 'gpu 0 state throttle 4' "${small[@]}" -t 0
check "a power cap is no fault" [ "$status" = 0 ]

# Operators are watched as well, as a whole. A few blocks take the CPU a tenth of the time of many.
few='gpu * sm 8'
operator=(-t shmem_all_reduce_two_shot -b 4M -i 1 --loopCount 1)
run -g 2 -x "$few" -j "${operator[@]}"
check "a healthy operator returns 0" [ "$status" = 0 ]
check "its GPUs are in its state" member '[s["gpu"] for s in t["state"]]' '[0, 1]'
check "looked at while it worked" member 'all(s["looks"] > 0 for s in t["state"])' True
check "and none of its cases is in doubt" member '"doubt" in t["operator"]["cases"][0]' False
run -g 2 -x "$few;slow link D0-D1 0.1" -j "${operator[@]}"
check "an operator on a slow link is below its threshold: 4" [ "$status" = 4 ]
run -g 2 -x "$few;slow link D0-D1 0.1; gpu 1 state throttle 64" -j "${operator[@]}"
check "where a GPU is throttled it is unreliable: 5" [ "$status" = 5 ]
check "so says the verdict, and why" member 't["verdict"], t["reason"]' \
    'unreliable GPU 1: hardware thermal slowdown'
check "of the cell, the doubt" member 'c[0][0]["doubt"]' 'GPU 1: hardware thermal slowdown'
check "and of the case" member 't["operator"]["cases"][0]["doubt"]' 'GPU 1: hardware thermal slowdown'
check "and nothing is judged" member 't["operator"]["cases"][0]["pass"]' not_judged
check "the reason is in the state" member '[s["throttled_by"] for s in t["state"]]' "[[], ['hw_thermal']]"
run -g 2 -x "$few;gpu 0 state nvlink_crc 0 4 17" -v "${operator[@]}"
check "errors of a link spoil an operator" [ "$status" = 5 ]
check "it is said, once" \
    [ "$(lines 'warning: shmem_all_reduce_two_shot: unreliable: GPU 0: 17 NVLink CRC errors' err)" = 1 ]
check "-v has each GPU's state" [ "$(lines '^	State: Device [01]: SM 1980 MHz' out)" = 2 ]
run -g 3 -x "$few;gpu 2 state throttle 64" -t 4 shmem_put -b 4M -i 1 --loopCount 1
check "an operator among other testcases is looked at, too" \
    [ "$(lines 'warning: shmem_put: unreliable: GPU 2: ' err)" = 1 ]

# Memory without CPUs of its own, as accelerators have it, or a job that may use one socket's CPUs:
# left out, and no failure. A machine that is only written down, so that nothing is bound.
SIM_MACHINE=$root/tests/sim/machines/numa4.txt "$build/sim/topology" |
    sed 's/allowed_cpuset="0x000000ff"/allowed_cpuset="0x0000000f"/' >half.xml
HWLOC_XMLFILE=half.xml HWLOC_THISSYSTEM=0 HWLOC_COMPONENTS=xml HWLOC_PLUGINS_PATH=/nonexistent \
    timeout 120 "$bwtool" -j -b 4M -i 2 -t cpu_read >out 2>err
status=$?
check "a node without CPUs is no failure" [ "$status" = 0 ]
check "its row says why it has no value" member 'c[1][0]["reason"]' 'NUMA node 1 has no CPU that this process may use'
check "and so does a note" \
    member '[m["text"] for m in json.load(open("out"))["bwtool"]["messages"] if m["level"] == "note"][-1]' \
    'cpu_read: some of its values are left out: NUMA node 1 has no CPU that this process may use'
check "the other node is measured" member 'c[0][0]["value"] > 0, t["verdict"]' 'True passed'

# Others on the GPU, and nobody to ask.
run -g 2 -x 'gpu 1 state processes 2' "${small[@]}" -t 0
check "other processes are said" [ "$(lines 'GPU 1: used by 2 other processes as well' err)" = 1 ]
run -g 2 -x 'fail nvmlInit_v2 1 NVML_ERROR_DRIVER_NOT_LOADED' -j "${small[@]}" -t 0 4
check "without NVML nothing fails" [ "$status" = 0 ]
check "the link is named, its rate unknown" \
    member 'c[0][0]["link"], c[0][0]["nominal_gb_per_s"], c[0][0]["percent_of_nominal"]' \
    "pcie None None"
check "and so is the state" member 't["state"][0]["before"]["sm_mhz"], t["state"][0]["throttled_by"]' \
    "None None"
run -g 2 -x 'fail nvmlInit_v2 1 NVML_ERROR_DRIVER_NOT_LOADED' -v "${small[@]}" -t 0
check "-v says so" grep -q 'of an unknown peak (pcie)' out

# Outliers are named, and nothing else is.
run -g 4 -x 'slow link D0-D1 0.5' "${small[@]}" -t 4
check "a bad pair is named" \
    grep -q 'note: device_to_device_memcpy_read_ce: GPU 0 and GPU 1, both ways, are 50 % below the others (200.00 against 400.00 GB/s)' err
run -g 4 -x 'gpu 3 nvlink 248 400 700' -j "${small[@]}" -t device_to_device_memcpy_write_ce
check "a bad source is recorded" member '[(o["kind"], o["row"]) for o in t["matrices"][0]["outliers"]]' "[('row', 3)]"
check "in words" member 't["matrices"][0]["outliers"][0]["text"]' \
    'GPU 3 as source is 38 % below the others (248.00 against 400.00 GB/s)'
run -g 4 -x 'gpu 2 host 30 54 600' "${small[@]}" -t 0 1
check "a bad link to the host is named" [ "$(lines 'note: host_to_device_memcpy_ce: GPU 2 is 45 % below the others' err)" = 1 ]
check "in the direction that is bad" [ "$(lines 'note: device_to_host_memcpy_ce: GPU' err)" = 0 ]
run -g 2 -x 'slow link D0-D1 0.5' "${small[@]}" -t 4 5 6 7
check "of two nobody can say which" [ "$(lines 'the others' err)" = 0 ]
run -m numa4 -x 'gpu 2-3 host 40 40 900' "${small[@]}" -t 0 1 4
check "GPUs at two nodes may differ" [ "$(lines 'the others' err)" = 0 ]
run -m h200x8 "${small[@]}" -t 0 1 4
check "a healthy machine of eight has none" [ "$(lines 'the others' err)" = 0 ]

# It stays cheap: calls of NVML in a run of all testcases.
export SIM_REPORT=1
run -g 2 -x 'gpu * sm 4' -s -b 64K -i 1
calls=$(sed -nE 's/^sim: NVML: ([0-9]+) calls.*/\1/p' err)
check "all 35 testcases ask NVML a bounded number of times (${calls:-none})" [ "${calls:-99999}" -lt 6000 ]

finish
