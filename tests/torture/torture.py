#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make every driver call and every allocation of small runs fail in turn.

usage: torture.py BWTOOL BUILD_FOLDER [--all] [--stride N | --without N] [--only WORD]

Runs on the simulated driver. For each scenario the run without a fault says
how often each entry point is called; then call after call fails. Every run
has to end by itself, with status 0, 1 or 3, with valid JSON that names the
same status, with a line that says what failed, with values in the cells
that have nothing to do with the fault, and with all memory given back. With
--all every call and allocation of the runs fails, on one and four GPUs; without,
each STRIDE-th of them, on one and two. --stride N says otherwise in both, and
--without N takes what that leaves: so two builds can share the work.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STRIDE = 31  # in the short tier; a prime, so that all entry points get their turn
PATIENCE_S = 60
SPARE = re.compile(r"the program, .*: 200 bytes$")  # src/base/text.c has the number
LINES_MAX = 4  # what failed, and what could not be done therefore
# Where a call takes the host a millisecond, a GPU is warm after a few dozen copies, not thousands.
SMALL = "gpu * sm 2;patience 500 500;call 1000000"
# Each second time another error, among them one that takes the context with it.
ERRORS = ["CUDA_ERROR_UNKNOWN", "CUDA_ERROR_OUT_OF_MEMORY", "CUDA_ERROR_ILLEGAL_ADDRESS"]

# Operators make the same calls of any size; the least one leaves the CPU most time.
OPERATOR = ["-b", "2K"]
ROUTED = [*OPERATOR, "--tokens", "2", "--hidden", "64"]

# The family, and a testcase of it; the second, where there is one, has to be measured
# although the first fails, unless the GPUs are lost. Options may follow.
SCENARIOS = [
    ("host_ce", ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]),
    ("host_both_ways", ["device_to_host_bidirectional_memcpy_ce"]),
    ("peer_ce", ["device_to_device_memcpy_read_ce", "device_local_copy"]),
    ("fan_ce", ["all_to_one_write_ce"]),
    ("host_fan", ["host_to_all_bidirectional_memcpy_ce"]),
    ("sm", ["device_to_device_memcpy_write_sm", "host_to_device_memcpy_sm"]),
    ("split", ["device_to_device_bidirectional_memcpy_read_sm"]),
    ("fan_sm", ["one_to_all_read_sm"]),
    ("latency", ["host_device_latency_sm", "device_to_device_latency_sm"]),
    ("local", ["device_local_copy"]),
    ("host", ["cpu_copy", "cpu_latency"]),
    ("operator", ["shmem_put", *OPERATOR]),
    ("operator_together", ["shmem_all_reduce", *OPERATOR]),
    ("operator_routed", ["shmem_dispatch_pull", "shmem_combine", *ROUTED]),
    ("baseline", ["shmem_all_gather", "--baseline", "nccl-only", *OPERATOR]),
    ("waived", ["shmem_all_reduce_multicast", "multinode_bisect_write_ce", "--no-multicast"]),
]


def is_sanitized(bwtool):
    with open(bwtool, "rb") as program:
        return b"__asan_init" in program.read()


def left(err):
    """Blocks not given back. One of SPARE is kept for the day when there is no memory."""
    blocks = re.findall(r"^failing: (not given back, .*)", err, re.M)
    spare = [block for block in blocks if SPARE.search(block)]
    return [block for block in blocks if block not in spare] + spare[1:]


class Run:
    """One run of the tool on the simulator, and what came of it."""

    def __init__(self, tool, names, extra="", environment=None):
        size = [] if "-b" in names else ["-b", "16K"]
        command = [tool.bwtool, "-j", *size, "-i", "1", "--loopCount", "1", "-t", *names]
        env = dict(os.environ, **tool.environment)
        env["SIM_EXTRA"] = SMALL + (";" + extra if extra else "")
        env.update(environment or {})
        self.hung = False
        try:
            done = subprocess.run(command, env=env, capture_output=True, timeout=PATIENCE_S,
                                  stdin=subprocess.DEVNULL, check=False)
            self.status, out, err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            self.hung = True
            self.status, out, err = None, late.stdout or b"", late.stderr or b""
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")
        try:
            self.record = json.loads(self.out)
        except ValueError:
            self.record = None

    def happened(self):
        """In one of its processes."""
        never = re.findall(r"^sim: fault \d+ never happened", self.err, re.M)
        return len(never) < len(re.findall(r"^sim: \d+ calls, ", self.err, re.M)) or not never

    def said(self):
        return re.findall(r"^bwtool: (?:error|warning): .*", self.err, re.M)

    def left(self):
        return left(self.err)

    def values(self):
        """The cells that have a value, by testcase, matrix, row and column."""
        found = set()
        if self.record is None or not isinstance(self.record.get("bwtool"), dict):
            return found
        for testcase in self.record["bwtool"]["testcases"]:
            for m, matrix in enumerate(testcase.get("matrices") or []):
                for r, row in enumerate(matrix.get("cells") or []):
                    for c, cell in enumerate(row):
                        if cell is not None and cell.get("value") is not None:
                            found.add((testcase["name"], m, r, c))
        return found


class Tool:
    """The tool and a simulated machine."""

    def __init__(self, bwtool, build, gpus):
        self.bwtool = os.path.realpath(bwtool)
        self.folder = os.path.join(os.path.realpath(build), "sim")
        self.environment = {
            "SIM_BEGIN": f"gpus {gpus}",
            "SIM_MACHINE": os.path.join(ROOT, "tests/sim/machines/h200.txt"),
            "SIM_REPORT": "1",
            "SIM_CLOCK": "1",  # warming up is over when as much time was simulated
            "LD_LIBRARY_PATH": self.folder,
            "HWLOC_THISSYSTEM": "1",
            "HWLOC_COMPONENTS": "xml",
            "HWLOC_PLUGINS_PATH": "/nonexistent",  # loading OpenCL's takes a third of a run's time
            "FAIL_OF": "jansson",
        }
        with tempfile.NamedTemporaryFile("w", suffix=".xml", delete=False) as file:
            file.write(self.topology())
        self.environment["HWLOC_XMLFILE"] = file.name
        if is_sanitized(bwtool):
            # The played machine is preloaded before the sanitizer; it has no memory of its own.
            self.environment["ASAN_OPTIONS"] = "detect_leaks=1:exitcode=99:verify_asan_link_order=0"
        self.environment["SIM_CPUS"] = self.topology("cpus").strip()
        self.environment["LD_PRELOAD"] = os.path.join(os.path.realpath(build), "tests",
                                                      "libfailing.so")
        self.environment["LD_PRELOAD"] += ":" + os.path.join(self.folder, "libsimhost.so")

    def topology(self, *words):
        env = dict(os.environ, **self.environment)
        return subprocess.run([os.path.join(self.folder, "topology"), *words], env=env,
                              capture_output=True, text=True, check=True).stdout

    def close(self):
        os.unlink(self.environment["HWLOC_XMLFILE"])


def complaint(run, good, fault):
    """Why this run is not as it has to be; None if it is."""
    fine = (0, 1, 3, good.status)  # 4: an operator below what it might do
    if run.hung:
        return f"no end within {PATIENCE_S} s"
    if run.status not in fine:
        report = re.search(r"^.*(?:ERROR|SUMMARY): .*Sanitizer.*", run.err, re.M)
        return f"exit status {run.status}" + (f": {report.group(0)}" if report else "")
    if run.record is None:
        # Where not even a record can be made, a line says so instead.
        if run.status != 0 and run.said() and run.out == "":
            return None
        return "no valid JSON"
    record = run.record.get("bwtool")
    if record is not None and record["exit_status"] != run.status:
        return f"exit status {run.status}, but {record['exit_status']} in the record"
    if run.status not in (0, good.status) and not run.said():
        return "nothing says what failed"
    if len(run.said()) > LINES_MAX:
        return f"{len(run.said())} lines for one fault"
    if run.left():
        return f"{run.left()[0]}, and {len(run.left()) - 1} more"
    if run.status == good.status and run.values() != good.values():
        return "status 0, but a value is missing"
    return missing_too_much(run, good, fault)


def missing_too_much(run, good, fault):
    """One call that fails costs one value, unless a context was lost or nothing began."""
    missing = good.values() - run.values()
    record = run.record.get("bwtool")
    if record is None or record.get("error") is not None or "ILLEGAL_ADDRESS" in fault:
        return None
    if not record["devices"]:
        return None
    if any("lost" in line or "no end" in line for line in run.said()):
        return None
    names = {name for name, *_ in missing}
    if len(names) > 1:
        return f"values of {len(names)} testcases are missing"
    rows = {(r, c) for _, _, r, c in missing}
    if any(t["name"] in names and not t.get("matrices") for t in record["testcases"]):
        return None  # it was over before it had a shape
    return f"{len(rows)} cells are missing" if len(rows) > 1 else None


def calls_of(tool, names):
    """How often each entry point is called in a run without a fault."""
    run = Run(tool, names, environment={"SIM_TRACE": "1"})
    counts = Counter()
    for name in re.findall(r"^sim: .*?call \d+: (cu\w+) \d+$", run.err, re.M):
        counts[name] += 1
    return counts


def driver_faults(tool, names):
    faults = []
    for name, count in sorted(calls_of(tool, names).items()):
        for n in range(1, count + 1):
            faults.append(f"fail {name} {n} {ERRORS[n % len(ERRORS)]}")
    return [(fault, fault, None) for fault in faults]


def nvml_faults():
    """NVML is asked for what is good to know; without an answer everything is measured."""
    names = set()
    for file in glob.glob(os.path.join(ROOT, "src/gpu/nvml*.c")):
        with open(file, encoding="utf-8") as source:
            names.update(re.findall(r'"(nvml[A-Z]\w+)"', source.read()))
    faults = [f"fail {name} {n} {error}" for name in sorted(names)
              for n, error in ((1, "NVML_ERROR_UNKNOWN"), (2, "NVML_ERROR_GPU_IS_LOST"))]
    return [(fault, fault, None) for fault in faults]


def allocation_faults(tool, names, whose):
    """Of the program, if it is nobody's."""
    of = {"FAIL_OF": whose}
    run = Run(tool, names, environment=of)
    counts = re.findall(r"^failing: (\d+) allocations", run.err, re.M)
    return [(f"allocation {n}", "", {**of, "FAIL_ALLOCATION": str(n)})
            for n in range(1, max(map(int, counts)) + 1)]


class Suite:
    def __init__(self, stride, without, only):
        self.stride, self.without, self.only = stride, without, only
        self.cases = self.failed = self.runs = 0

    def scenario(self, tool, gpus, family, names):
        good = Run(tool, names)
        kinds = [("driver calls", driver_faults(tool, names))]
        if family == "host_ce":
            kinds.append(("NVML", nvml_faults()))
        kinds.append(("allocations", allocation_faults(tool, names, "")))
        kinds.append(("allocations for JSON", allocation_faults(tool, names, "jansson")))
        for kind, faults in kinds:
            title = f"{family}, {gpus} GPUs, {kind}"
            if not faults:
                continue  # CPUs need no driver
            if self.only and not re.search(self.only, title):
                continue
            chosen = [f for i, f in enumerate(faults)
                      if (i % self.stride == 0) != self.without]
            self.verdict(title, good, faults, self.make(tool, names, chosen))

    def make(self, tool, names, faults):
        def one(fault):
            return fault[0], Run(tool, names, fault[1], fault[2])
        with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            return list(pool.map(one, faults))

    def verdict(self, title, good, faults, runs):
        bad = []
        if good.status not in (0, 4) or good.record is None:
            bad.append(f"without a fault: exit status {good.status}")
        happened = 0
        for fault, run in runs:
            happened += run.happened()
            why = complaint(run, good, fault)
            if why is None and "nvml" in fault and run.status != 0:
                why = f"exit status {run.status}, and it was only NVML"
            if why is not None:
                bad.append(f"{fault}: {why}\n" + "\n".join(f"    {s}" for s in run.said()[:8]))
        self.cases += 1
        self.runs += len(runs)
        text = f"{title}: {len(runs)} of {len(faults)} in turn, {happened} happened"
        if bad:
            self.failed += 1
            print(f"not ok {text}, {len(bad)} bad")
            print("\n".join(bad))
        else:
            print(f"ok {text}")
        sys.stdout.flush()


def main(words):
    only = words[words.index("--only") + 1] if "--only" in words else None
    is_all = "--all" in words
    without = "--without" in words
    stride = 1 if is_all else STRIDE
    for word in ("--stride", "--without"):
        if word in words:
            stride = int(words[words.index(word) + 1])
    suite = Suite(stride, without, only)
    if not os.path.exists(os.path.join(words[1], "sim", "libcuda.so.1")):
        print(f"skipped: no simulated driver in {words[1]}")
        return 0
    for gpus in (1, 4) if is_all else (1, 2):
        tool = Tool(words[0], words[1], gpus)
        try:
            for family, names in SCENARIOS:
                # What needs a second GPU is waived on one, once; more GPUs change nothing of CPUs.
                if gpus == 1 and family in ("peer_ce", "fan_ce", "sm", "split", "fan_sm",
                                           "operator", "operator_together", "baseline", "waived"):
                    continue
                if gpus > 1 and family == "host":
                    continue
                suite.scenario(tool, gpus, family, names)
        finally:
            tool.close()
    print(f"{suite.runs} runs with a fault; {suite.cases - suite.failed} passed, "
          f"{suite.failed} failed")
    return suite.failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
