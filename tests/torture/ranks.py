#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make allocations of one rank fail, in small runs of two.

usage: ranks.py BWTOOL BUILD_FOLDER [--all] [--only WORD]

Without --all, those of the functions in WHERE; with it, each of each
rank. A rank that finds no memory must not leave the others behind: all have
to end by themselves and soon, with one status, a line that says what failed,
and valid JSON that names the same status; or all values are there. All memory
is given back. --only: of the scenarios with that word.
"""

import bisect
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from torture import left

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOON_S = 15  # a rank that left the others is found out after 20 s or more
PATIENCE_S = 60
LINES_MAX = 4  # what failed, and what could not be done therefore

FIXED = "-i 1 --loopCount 1 -t "  # else the number of samples is found
SCENARIOS = {
    "copies": FIXED + "multinode_device_to_device_memcpy_read_ce multinode_bisect_write_ce cpu_copy",
    "adaptive": "-t multinode_bisect_write_ce",
    "multicast": FIXED + "multinode_device_to_device_broadcast_one_to_all_sm",
    "operators": FIXED + "shmem_all_reduce shmem_dispatch_pull",
    "waived": FIXED + "shmem_put_signal multinode_bisect_write_ce --sweep 96K:96M:1024",
    "frames": FIXED + "shmem_all_gather_push --profile",
    "unknown": FIXED + "no_such_testcase shmem_put --max-time 30",
}

# In the short tier, of rank 1 the n-th one: what each rank does between two calls that all make.
# Which of two functions has a call to malloc in it is the compiler's choice.
WHERE = [
    ("copies", "add|add_named", 1),
    ("copies", "bw_pass_open", 1),
    ("copies", "bw_run_add", 1),
    ("copies", "matrix_shape|bw_result_shape", 1),
    ("waived", "measure_point_all|bw_shmem_measure_all", 2),
    ("multicast", "bw_ranks_find_skew_all", 1),
]


class Run:
    """Two ranks, and what came of them; number 0: without a fault."""

    def __init__(self, bwtool, build, scenario, rank=1, number=0):
        build = os.path.realpath(build)
        with tempfile.TemporaryDirectory() as folder:
            env = dict(
                os.environ,
                SIM_MACHINE=os.path.join(ROOT, "tests/sim/machines/h200x2.txt"),
                SIM_EXTRA="gpu * sm 2;patience 500 500",
                LD_LIBRARY_PATH=os.path.join(build, "sim"),
                ASAN_OPTIONS="detect_leaks=0:exitcode=99:verify_asan_link_order=0",
                OMPI_MCA_mpi_yield_when_idle="1",
                OMPI_MCA_btl_vader_single_copy_mechanism="none",
                OMPI_MCA_odls_base_sigkill_timeout="0",
                STATUS_FOLDER=folder,
                OMPI_MCA_orte_tmpdir_base=folder,  # one that ends removes it under one that begins
                RANK_PRELOAD=f"{rank} {build}/tests/libfailing.so",
                **({"FAIL_ALLOCATION": str(number)} if number else {"FAIL_SHOW": "1"}))
            command = ["timeout", "-k", "5", str(PATIENCE_S), "mpirun", "--allow-run-as-root",
                       "--oversubscribe", "--bind-to", "none", "-n", "2", "bash",
                       os.path.join(ROOT, "tests/mpi/rank.sh"), os.path.realpath(bwtool),
                       "-j", "-b", "16K", *SCENARIOS[scenario].split()]
            begin = time.monotonic()
            done = subprocess.run(command, env=env, capture_output=True, check=False,
                                  stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace")
            self.seconds = time.monotonic() - begin
            self.statuses = []
            for r in range(2):
                try:
                    with open(os.path.join(folder, f"status.{r}"), encoding="utf-8") as file:
                        self.statuses.append(int(file.read()))
                except OSError:
                    self.statuses.append(None)
        self.out, self.err = done.stdout, done.stderr
        try:
            self.document = json.loads(self.out)
        except ValueError:
            self.document = None
        self.record = (self.document or {}).get("bwtool")

    def said(self):
        return re.findall(r"^bwtool: (?:error|warning): .*", self.err, re.M)

    def allocations(self):
        """Number and address of each."""
        return [(int(n), int(at, 16)) for n, at in
                re.findall(r"^failing: allocation (\d+), at \+0x([0-9a-f]+)", self.err, re.M)]

    def values(self):
        """The cells that have a value, by testcase, matrix, row and column."""
        return {(t["name"], m, r, c)
                for t in (self.record or {"testcases": []})["testcases"]
                for m, matrix in enumerate(t.get("matrices") or [])
                for r, row in enumerate(matrix.get("cells") or [])
                for c, cell in enumerate(row)
                if cell is not None and cell.get("value") is not None}

    def waived(self, good):
        """Those values of testcases that go without multicast, as they do whatever fails of it."""
        names = {t["name"] for t in self.record["testcases"]
                 if t["verdict"] == "waived" and "no memory" in (t["reason"] or "")}
        return {value for value in good.values() if value[0] in names}


def complaint(run, good, is_alone):
    """Why the run is not as it has to be; None if it is. Alone: it failed before it met others."""
    if run.seconds > SOON_S:
        return f"took {run.seconds:.0f} s"
    if is_alone and None in run.statuses and 1 in run.statuses:
        return None if run.said() else "nothing says what failed"  # the launcher ended the others
    if len(set(run.statuses)) != 1 or run.statuses[0] is None:
        return f"statuses {run.statuses}"
    if re.search(r"ending the job|shows no sign|has died|hangs", run.err):
        return "a rank is lost"
    if left(run.err):
        return f"{left(run.err)[0]}, and {len(left(run.err)) - 1} more"
    status = run.statuses[0]
    if status not in (1, 3, good.statuses[0]):
        return f"status {status}"
    if len(run.said()) > LINES_MAX:
        return f"{len(run.said())} lines for one fault"
    if status != good.statuses[0] and not set(run.said()) - set(good.said()):
        return "nothing says what failed"
    if run.record is None:  # where not even that can be made, a line says so, or a short document
        return None if status != 0 and (run.document or run.out == "") else "no valid JSON"
    if run.record["exit_status"] != status:
        return f"status {status}, but {run.record['exit_status']} in the record"
    if status == good.statuses[0] and run.values() | run.waived(good) != good.values():
        return "no fault in the status, but a value is missing"
    return None


class Symbols:
    """Which function an address of the program is in."""

    def __init__(self, bwtool):
        text = subprocess.run(["nm", "-n", bwtool], capture_output=True, text=True,
                              check=True).stdout
        found = re.findall(r"^([0-9a-f]+) [tT] (\w+)", text, re.M)
        self.starts = [int(at, 16) for at, _ in found]
        self.names = [name for _, name in found]

    def name(self, address):
        return self.names[bisect.bisect_right(self.starts, address) - 1]


class Test:
    """Runs of one scenario with a fault in one rank."""

    def __init__(self, bwtool, build, scenario, rank):
        self.what = (bwtool, build, scenario, rank)
        self.good = Run(*self.what)
        symbols = Symbols(bwtool)
        self.places = [(n, symbols.name(at)) for n, at in self.good.allocations()]
        self.meets = max((n for n, name in self.places if name == "bw_world_open_mpi_all"),
                         default=0)

    def make(self, number, function):
        """False if it is not as it has to be; number 0: there is no such allocation."""
        run = Run(*self.what, number) if number else self.good
        why = complaint(run, self.good, number <= self.meets) if number else "it allocates nothing"
        text = f"{self.what[2]}: rank {self.what[3]}, allocation {number}, in {function}"
        if why is None:
            print(f"ok {text}\n", end="", flush=True)
        else:
            said = "".join(f"    {line}\n" for line in run.said()[:8] or run.err.splitlines()[-8:])
            print(f"not ok {text}: {why}\n{said}", end="", flush=True)
        return why is None

    def make_all(self):
        """How many are not as they have to be. A run waits more than it works."""
        with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            return sum(not is_good for is_good in pool.map(lambda place: self.make(*place),
                                                           self.places))

    def find(self, functions, nth):
        found = [n for n, name in self.places if re.fullmatch(functions, name)]
        return found[nth - 1] if len(found) >= nth else 0


def main(words):
    bwtool, build = words[:2]
    only = words[words.index("--only") + 1] if "--only" in words else ""
    failed = 0
    for scenario in (s for s in SCENARIOS if only in s):
        if "--all" in words:
            for rank in (0, 1):
                failed += Test(bwtool, build, scenario, rank).make_all()
            continue
        wanted = [(functions, nth) for s, functions, nth in WHERE if s == scenario]
        if wanted:
            test = Test(bwtool, build, scenario, 1)
            failed += sum(not test.make(test.find(*w), w[0]) for w in wanted)
    return failed != 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
