#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/measure_node.sh asks of the records, and the page it makes of them.

node_record.py gpus RECORD                     how many GPUs there are
node_record.py names LIST INDEX...             names of testcases, from the output of -l -j
node_record.py operators LIST                  the first row of each operator
node_record.py expect FOLDER BWTOOL GPUS ROUNDS INDEX...
                                               seconds that comparing these takes, at a guess
node_record.py write FOLDER GPUS BUDGET COMMAND
                                               node.md, node.json, and a short table on stdout
"""

import glob
import json
import math
import os
import re
import subprocess
import sys

import compare_with_nvbandwidth as comparison
import where_time_goes

# What nvbandwidth v0.8 takes, from two runs of all testcases (docs/MEASUREMENTS.md): 70.6 s on two
# H200s, whose plans have 106 copies, and 20.2 s on one with 22. The list of the latency between
# GPUs is written by 262,144 copies.
PEER_START_S, PEER_COPY_S, PEER_LIST_S = 1.0, 0.7, 2.0
# bwtool on two GPUs: 6.6 to 7.8 s for 70 cells.
OUR_START_S, OUR_CELL_S = 1.0, 0.1


def load(path):
    """The first JSON document in a file, or None; ranks without MPI print one each."""
    try:
        with open(path, encoding="utf-8") as stream:
            return json.JSONDecoder().raw_decode(stream.read())[0]
    except (OSError, ValueError):
        return None


def counts(plan):
    """Cells and copies of a dry run; both ways between GPUs are one measurement, not three."""
    cells = copies = lists = 0
    for line in plan.splitlines():
        words = line.split()
        if len(words) < 4 or words[-1] == "N/A" or re.search(r"_(read2|write2|total)$", words[0]):
            continue
        cells += 1
        copies += sum("@" in word for word in words[3:])
        lists += words[0] == "device_to_device_latency_sm"
    return cells, copies, lists


def plan_of(bwtool, gpus, indices):
    run = subprocess.run([bwtool, "--dry-run=%d" % gpus, "-t"] + indices, check=True,
                         stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8")
    return counts(run.stdout)


def peer_seconds(copies, lists):
    return PEER_START_S + PEER_COPY_S * copies + PEER_LIST_S * lists


def comparisons(folder):
    found = [load(path) for path in sorted(glob.glob(os.path.join(folder, "compare*.json")))]
    return [record for record in found if record]


def names_of(record):
    """Testcases that a comparison was to run."""
    return list(dict.fromkeys(re.sub(comparison.SUFFIX, "", row["testcase"])
                              for row in record["rows"] if row["kind"] != "mean"))


def expect(folder, bwtool, gpus, rounds, indices):
    """By the counts of the plan, scaled by what the peer has really taken so far."""
    listed = {case["name"]: str(case["index"]) for case in load(os.path.join(folder, "list.out"))}
    taken = guessed = 0.0
    for record in comparisons(folder):
        done = [listed[name] for name in names_of(record) if name in listed]
        if done and record["cost"]["peer"]["wall_s"] > 0:
            taken += record["cost"]["peer"]["wall_s"]
            guessed += peer_seconds(*plan_of(bwtool, gpus, done)[1:])
    factor = taken / guessed if guessed > 0 else 1.0
    cells, copies, lists = plan_of(bwtool, gpus, indices)
    return math.ceil(rounds * (factor * peer_seconds(copies, lists) + OUR_START_S
                               + OUR_CELL_S * cells))


def number(value, digits=2):
    return "%.*f" % (digits, value) if isinstance(value, (int, float)) else "N/A"


def table(head, lines):
    return "\n".join("| " + " | ".join(line) + " |"
                     for line in [head, ["---"] * len(head)] + lines) + "\n"


def cells_of(case):
    """Cells with a value; of testcases with three matrices those of the last, their sum."""
    if not case.get("matrices"):
        return []
    return [cell for row in case["matrices"][-1]["cells"] for cell in row
            if cell["value"] is not None]


def cases_of(record):
    return record["bwtool"]["testcases"] if record else []


def is_late(case):
    """Not run, or not to its end, for want of time and of nothing else."""
    whys = [cell["reason"] for matrix in case.get("matrices") or [] for row in matrix["cells"]
            for cell in row if cell.get("status")]
    if case["verdict"] == "not_run":
        whys = [case["reason"]]
    return (case["verdict"] in ("failed", "not_run") and bool(whys)
            and all("--max-time" in (why or "") for why in whys))


def span(values, form):
    values = [value for value in values if value is not None]
    if not values:
        return ""
    low, high = form % min(values), form % max(values)
    return low if low == high else low + " to " + high


def value_lines(record):
    lines = []
    for case in cases_of(record):
        cells = cells_of(case)
        last = case["matrices"][-1] if case.get("matrices") else {}
        lines.append([case["name"], number(last.get("summary", {}).get("sum")),
                      span([cell["value"] for cell in cells], "%.2f"),
                      span([cell.get("percent_of_bound") for cell in cells], "%.1f"),
                      number(case["wall_seconds"]),
                      case["verdict"] + (": " + case["reason"] if case["reason"] else "")])
    return lines


VALUES = ["testcase", "SUM", "a cell", "% of its bound", "wall s", "verdict"]


def growth_lines(growths):
    lines = []
    for gpus, record in sorted(growths.items()):
        cells = sum(len(cells_of(case)) for case in cases_of(record))
        wall = record["bwtool"]["wall_seconds"]
        lines.append([str(gpus), str(cells), number(wall),
                      number(1000 * wall / cells, 1) if cells else "N/A"])
    return lines


def size_name(size):
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return "%d %s" % (size, unit)
        size //= 1024
    return "%d GiB" % size


def operator_points(record):
    """{operator's name: {payload: case}} of the grids that count."""
    found = {}
    for case in cases_of(record):
        for point in (case.get("operator") or {}).get("cases", []):
            is_one = point["payload_bytes"] > 0 or point.get("kernel_us") is not None
            if point.get("is_best_grid", True) and is_one:
                found.setdefault(case["name"], {})[point["payload_bytes"]] = point
    return found


def groups_of(points):
    """Operators that share a table: [sizes, names], the sizes of each being among the group's."""
    groups = []
    for name in sorted(points, key=lambda name: -len(points[name])):  # ties in the order of rows
        for sizes, names in groups:
            if set(points[name]) <= set(sizes):
                names.append(name)
                break
        else:
            groups.append((sorted(points[name]), [name]))
    return [(sizes, [name for name in points if name in names]) for sizes, names in groups]


def operator_tables(record):
    """Of latencies, of bandwidths and, where there is a baseline, of ratios."""
    points = operator_points(record)
    parts = []
    for title, value in (
            ("Kernel latency, us", lambda point: number(point.get("kernel_us"))),
            ("Kernel bus bandwidth, GB/s",
             lambda point: number(point.get("kernel_bus_bandwidth_GBps"))),
            ("NCCL's latency, of the class that the placement has, over bwtool's, end to end",
             baseline_ratio)):
        tables = []
        for sizes, names in groups_of(points):
            rows = [[name] + [value(points[name].get(size, {})) for size in sizes]
                    for name in names]
            rows = [row for row in rows if any(word not in ("", "N/A") for word in row[1:])]
            if rows:
                tables.append(table(["operator"] + [size_name(size) for size in sizes], rows))
        if tables:
            parts.append("%s:\n\n%s" % (title, "\n".join(tables)))
    return "\n".join(parts)


def baseline_ratio(point):
    theirs, ours = baseline_us(point), point.get("e2e_us")
    return number(theirs / ours) if theirs and ours else ""


def baseline_us(point):
    baseline = point.get("baseline")
    value = baseline.get("e2e_us") if isinstance(baseline, dict) else None
    return value if isinstance(value, (int, float)) else None


class Node:
    """All that the steps have left in the folder."""

    def __init__(self, folder, gpus, budget, command):
        self.folder, self.gpus, self.budget, self.command = folder, gpus, budget, command
        with open(os.path.join(folder, "steps"), encoding="utf-8") as stream:
            self.steps = [dict(zip(("name", "state", "wall_s", "deadline_s", "note"),
                                   line.rstrip("\n").split("\t"))) for line in stream]
        for step in self.steps:
            step["wall_s"], step["deadline_s"] = float(step["wall_s"]), int(step["deadline_s"])
        self.look, self.idle = self.step_record("look"), self.step_record("idle")
        self.growths = {}
        for path in glob.glob(os.path.join(folder, "growth-*.out")):
            record = load(path)
            if record:
                self.growths[int(path.rsplit("-", 1)[1][:-4])] = record
        self.ranks = self.step_record("ranks")
        self.operators = self.step_record("operators")
        self.compared = comparisons(folder)
        self.complaints = []
        self.check()

    def record_path(self, name):
        return os.path.join(self.folder,
                            name + (".json" if name.startswith("compare") else ".out"))

    def step_record(self, name):
        return load(self.record_path(name))

    def say(self, name, words, state=None):
        for step in self.steps:
            if step["name"] == name:
                step["state"] = state or step["state"]
                step["note"] = "; ".join(filter(None, (step["note"], words)))

    def has_ended(self, name):
        """By itself, with no more than exit status 1 to be said of it."""
        return any(step["name"] == name and re.match(r"$|exit status 1\b", step["note"])
                   for step in self.steps)

    def check(self):
        """What only the records tell."""
        for step in self.steps:
            if step["state"] == "ran" and not step["name"].startswith("mpi") and \
                    load(self.record_path(step["name"])) is None:
                self.say(step["name"], "there is no record of it", "failed")
        runs = {"growth-%d" % gpus: record for gpus, record in self.growths.items()}
        runs.update(ranks=self.ranks, operators=self.operators)
        for name, record in runs.items():
            late = [case["name"] for case in cases_of(record) if is_late(case)]
            if late:
                only = not any(case["verdict"] in ("failed", "not_run", "not_found")
                               and case["name"] not in late for case in cases_of(record))
                self.say(name, "not run, the time was over: " + " ".join(late),
                         "ran" if only and self.has_ended(name) else None)
        baseline = (self.operators or {"bwtool": {}})["bwtool"].get("baseline") or {}
        self.say("operators", baseline.get("reason") and "NCCL: " + baseline["reason"])
        for record in self.compared:
            self.complaints += record["faults"]
        for before, after in zip(self.states(self.look), self.states(self.idle)):
            if (after["other_processes"] or 0) > (before["other_processes"] or 0):
                self.complaints.append("GPU %d has %d more processes than before" % (
                    after["gpu"], after["other_processes"] - (before["other_processes"] or 0)))

    @staticmethod
    def states(record):
        return [state for case in cases_of(record) for state in case.get("state", [])]

    def rows(self):
        return [row for record in self.compared for row in record["rows"]]

    def walls(self):
        """Wall seconds of the peer and of bwtool for what both ran."""
        return tuple(sum(record["cost"][tool]["wall_s"] for record in self.compared)
                     for tool in ("peer", "bwtool"))

    def low(self):
        return [row["testcase"] for row in self.rows() if row["verdict"] in ("FAIL", "MISSING")]

    def undecided(self):
        return [row["testcase"] for row in self.rows() if row["verdict"] == "noise"]

    def exit_status(self):
        records = list(self.growths.values()) + [self.ranks, self.operators]
        statuses = {record["bwtool"]["exit_status"] for record in records if record}
        if self.complaints or any(step["state"] == "failed" for step in self.steps):
            return 1
        if self.low() or 4 in statuses:
            return 4
        return 5 if 5 in statuses or self.undecided() else 0

    def wall_words(self):
        peer, ours = self.walls()
        names = sum((names_of(record) for record in self.compared), [])
        return "both ran %d testcases: nvbandwidth %.1f s, bwtool %.1f s%s" % (
            len(names), peer, ours, ", ratio %.1f" % (peer / ours) if ours > 0 else "")

    def header(self):
        record = self.look
        environment = record["bwtool"]["environment"]
        lines = ["GPUs: " + ", ".join(record["nvbandwidth"].get("GPU Device list", [])),
                 "driver: %s, CUDA %s" % (environment["driver"], environment["cuda"]),
                 "date: " + record["bwtool"]["started"],
                 "bwtool: %s (%s)" % (record["bwtool"]["version"],
                                      record["bwtool"]["git_version"]),
                 "command: `%s`" % self.command,
                 "NCCL_NVLS_ENABLE=0; budget %d s, taken %.0f s" % (
                     self.budget, sum(step["wall_s"] for step in self.steps))]
        if record["bwtool"]["simulated"]:
            lines.insert(0, "SIMULATED GPUs: nothing here was measured")
        return "".join("- %s\n" % line for line in lines)

    def page(self):
        parts = [self.header(),
                 table(["step", "state", "wall s", "said"],
                       [[step["name"], step["state"], number(step["wall_s"]), step["note"]]
                        for step in self.steps])]
        if self.compared:
            parts += ["### Beside nvbandwidth\n", self.wall_words() + ".\n"]
            parts.append(table(comparison.HEAD, [comparison.cells(row) for row in self.rows()]))
            parts += ["%s: %s.\n" % (row["testcase"], row["note"])
                      for row in self.rows() if row["note"]]
        if self.gpus in self.growths:
            parts += ["### bwtool alone, %d GPUs\n" % self.gpus,
                      table(VALUES, value_lines(self.growths[self.gpus]))]
        if self.growths:
            parts += ["### Growth\n", table(["GPUs", "cells", "wall s", "ms a cell"],
                                            growth_lines(self.growths))]
            parts += ["%d GPUs: %s\n" % (gpus, where_time_goes.words_of(record["bwtool"]))
                      for gpus, record in sorted(self.growths.items())
                      if record["bwtool"].get("phase_seconds")]
        if self.ranks:
            parts += ["### One rank a GPU, %d ranks\n" % self.gpus,
                      table(VALUES, value_lines(self.ranks))]
        if self.operators:
            parts += ["### Operators, %d GPUs\n" % self.gpus, operator_tables(self.operators)]
        parts += ["Fault: %s\n" % complaint for complaint in self.complaints]
        return "\n".join(parts)

    def record(self):
        return {"schema_version": 1, "command": self.command, "gpus": self.gpus,
                "budget_s": self.budget, "exit_status": self.exit_status(), "steps": self.steps,
                "faults": self.complaints, "below_bound": self.low(),
                "undecided": self.undecided(), "look": self.look,
                "growth": {str(gpus): self.growths[gpus] for gpus in sorted(self.growths)},
                "ranks": self.ranks, "operators": self.operators, "comparisons": self.compared}

    def print_short(self):
        width = max(len(step["name"]) for step in self.steps)
        for step in self.steps:
            print("%-*s  %-7s  %7.1f s  %s" % (width, step["name"], step["state"],
                                               step["wall_s"], step["note"]))
        if self.compared:
            print(self.wall_words())
        for line in growth_lines(self.growths):
            print("%s GPUs: %s cells in %s s, %s ms a cell" % tuple(line))
        for complaint in self.complaints:
            print("fault: " + complaint)
        if self.low():
            print("below their bound: " + " ".join(self.low()))
        if self.undecided():
            print("not decided for noise: " + " ".join(self.undecided()))


def write(folder, gpus, budget, command):
    node = Node(folder, gpus, budget, command)
    with open(os.path.join(folder, "node.md"), "w", encoding="utf-8") as out:
        out.write(node.page())
    with open(os.path.join(folder, "node.json"), "w", encoding="utf-8") as out:
        json.dump(node.record(), out, indent=1)
        out.write("\n")
    node.print_short()
    print("%s/node.md and node.json; exit status %d" % (folder, node.exit_status()))
    return node.exit_status()


def operators(cases):
    first = {}
    for case in cases:
        found = re.match(r"Operator (\S+) ", case["description"])
        if found:
            first.setdefault(found.group(1), case["name"])
    return first.values()


def main(words):
    what, words = words[0], words[1:]
    if what == "gpus":
        print(len(load(words[0])["bwtool"]["devices"]))
    elif what == "names":
        wanted = set(words[1:])
        print(" ".join(case["name"] for case in load(words[0]) if str(case["index"]) in wanted))
    elif what == "operators":
        print(" ".join(operators(load(words[0]))))
    elif what == "expect":
        print(expect(words[0], words[1], int(words[2]), int(words[3]), words[4:]))
    elif what == "write":
        return write(words[0], int(words[1]), int(words[2]), words[3])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
