#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run nvbandwidth v0.8 and bwtool in turn on this machine and compare.

Both tools alternate (A B B A ...) after the machine's memory was touched once;
the first round is dropped, unless --keep-first. Prints a row per testcase with
both values (medians over the rounds kept), their ratio in the median and in each round, the bound
and whether it holds. A bound within what the ratio does from round to round (its
extremes, from 6 rounds on the 95 % interval of its median) is not decided: that
row is noise, and a pass by chance has at most one in 2^N for N rounds, one in 40
from 6 on. Copies by SM and means pass by their median, as their bound says: at
the bound itself that is chance. Exit status: 0 if every bound holds; 1 if one does not, a testcase is missing or a tool
failed; 2 for wrong arguments; 5 if none is broken, but one is not decided.
"""

import argparse
import json
import math
import mmap
import os
import re
import resource
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Each is one test under two names there, with the sum of both ways halved, so
# that only the mean of the two can be compared.
TWO_WAY_SM = {
    "18+19": ("host_to_device_bidirectional_memcpy_sm", "device_to_host_bidirectional_memcpy_sm"),
    "25+27": ("all_to_host_bidirectional_memcpy_sm", "host_to_all_bidirectional_memcpy_sm"),
}
# nvbandwidth's SM read fans write; the write test with the same way of the
# bytes is what a read has to beat.
READ_FANS = {
    "all_to_one_read_sm": "one_to_all_write_sm",
    "one_to_all_read_sm": "all_to_one_write_sm",
}
# Which figure of own_pattern is like which of these: one GPU at a time, or all.
PATTERN_OF = {"18+19": "alone", "25+27": "all"}
SUFFIX = re.compile(r"_(read[12]|write[12]|total)$")


class Run:
    """One run of one tool: what it printed, and what it cost."""

    def __init__(self, tool, command):
        self.tool = tool
        self.command = command
        self.values = {}      # key -> float, as the tool prints it: two decimals
        self.waived = set()   # names, where the tool says them
        self.waived_count = 0
        self.header = {}
        self.fault = None     # why the run cannot be trusted
        self.wall = self.user = self.system = 0.0


def parse_peer(text, run):
    """SUM lines of nvbandwidth's text; the last of a key counts."""
    for line in text.splitlines():
        found = re.match(r"\s*SUM\s+(\S+)\s+([-+0-9.eE]+|-?nan|-?inf)\s*$", line)
        if found:
            try:
                run.values[found.group(1)] = float(found.group(2))
            except ValueError:
                run.fault = run.fault or "no number in: " + line.strip()
            continue
        found = re.match(r"Waived:\s*([a-z0-9_]*)", line)
        if found:
            run.waived_count += 1
            if found.group(1):
                run.waived.add(found.group(1))
        found = re.match(r"(nvbandwidth Version|Driver Version|CUDA Driver Version): (.*)", line)
        if found:
            run.header[found.group(1)] = found.group(2)
        found = re.match(r"Device \d+: (.*)", line)
        if found:
            run.header.setdefault("devices", []).append(found.group(1))
        if line.startswith("ERROR:"):
            run.fault = run.fault or line.strip()


def parse_bwtool(text, run):
    """The record of `bwtool -j`."""
    try:
        document = json.loads(text)
    except ValueError as error:
        run.fault = run.fault or "its output is no JSON: %s" % error
        return
    compatible = document.get("nvbandwidth", {})
    run.header = {
        "version": document.get("bwtool", {}).get("version") or compatible.get("version"),
        "Driver Version": compatible.get("Driver Version"),
        "devices": compatible.get("GPU Device list", []),
    }
    if compatible.get("error"):
        run.fault = run.fault or compatible["error"].strip()
    for case in compatible.get("testcases", []):
        name, status = case.get("name"), case.get("status")
        if status == "Waived":
            run.waived.add(name)
            run.waived_count += 1
        elif status != "Passed":
            run.fault = run.fault or "%s: %s" % (name, case.get("error") or status)
        elif isinstance(case.get("sum"), (int, float)):
            run.values[name] = round(case["sum"], 2)
    # Tests with a matrix a direction are known by key there.
    for case in document.get("bwtool", {}).get("testcases", []):
        matrices = case.get("matrices", [])
        if len(matrices) < 2:
            continue
        for matrix in matrices:
            key, total = matrix.get("key"), matrix.get("summary", {}).get("sum")
            if key and isinstance(total, (int, float)):
                run.values[key] = round(total, 2)
                if key.endswith("_total"):
                    run.values.pop(case.get("name"), None)


def execute(run, parse, timeout, environment):
    """Run the command in a process group of its own and fill `run`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    text = {"mode": "w+", "encoding": "utf-8", "errors": "replace"}
    with tempfile.TemporaryFile(**text) as out, tempfile.TemporaryFile(**text) as err:
        try:
            process = subprocess.Popen(run.command, stdin=subprocess.DEVNULL, stdout=out,
                                       stderr=err, env=environment, start_new_session=True)
        except OSError as error:
            run.fault = "cannot be started: %s" % error
            return
        try:
            status = process.wait(timeout)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            status = 0
            run.fault = "did not end within %g s" % timeout
        run.wall = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        run.user = after.ru_utime - before.ru_utime
        run.system = after.ru_stime - before.ru_stime
        out.seek(0)
        err.seek(0)
        complaints = err.read().strip().splitlines()
        if status != 0:
            how = "signal %d" % -status if status < 0 else "exit status %d" % status
            run.fault = ": ".join([how] + complaints[-1:])
        parse(out.read(), run)


def parse_pattern(text, run):
    """own_pattern's lines: the sum over all GPUs, each alone and all at once."""
    for word in PATTERN_OF.values():
        rates = re.findall(r"^pattern %s GPU \d+ ([0-9.]+)$" % word, text, re.MULTILINE)
        if rates:
            run.values[word] = round(sum(float(rate) for rate in rates), 2)
    if not re.search(r"^pattern verified$", text, re.MULTILINE):
        run.fault = run.fault or "its copies were not verified"


def explain(row, rate):
    """Hold the peer's figure against what its access pattern reaches."""
    peer = statistics.median(row.peer)
    if rate is None or row.verdict != "lower":
        return
    row.verdict = "explained" if rate >= peer else "lower"
    row.note = ("the peer never sweeps the buffer: a kernel with its access pattern reaches %.2f "
                "in the same go, %s" % (rate, "which explains its %.2f" % peer if rate >= peer
                                        else "less than its %.2f" % peer))


def free_memory():
    """Bytes that this process may take: of the machine's and of its control group's."""
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        with open("/sys/fs/cgroup/memory.max", encoding="ascii") as limit, \
                open("/sys/fs/cgroup/memory.current", encoding="ascii") as current:
            free = min(free, int(limit.read()) - int(current.read()))
    except (OSError, ValueError):
        pass  # no such group, or "max"
    return max(free, 0)


def touch_memory(most):
    """Write to each page of `most` bytes or half of the free memory, then give it back."""
    free = free_memory()
    bytes_left = min(most, free // 2)
    chunk = bytes(16 << 20)
    held = []
    while bytes_left >= len(chunk):
        size = min(bytes_left, 256 << 20) // len(chunk) * len(chunk)
        block = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for _ in range(size // len(chunk)):
            block.write(chunk)
        held.append(block)
        bytes_left -= size
    for block in held:
        block.close()


class Row:
    """A testcase in all rounds kept; a run's value comes from the functions given."""

    def __init__(self, label, kind, peer_value, our_value, peer_runs, our_runs):
        self.label = label
        self.kind = kind
        self.note = ""
        self.peer = [peer_value(run) for run in peer_runs]
        self.ours = [our_value(run) for run in our_runs]
        self.ratios = []
        if not self.peer or None in self.peer or None in self.ours:
            self.verdict = "MISSING"
            who = [tool for tool, values in (("the peer", self.peer), ("bwtool", self.ours))
                   if None in values or not values]
            self.note = "no value by " + " and ".join(who)
        elif min(self.peer) <= 0 or min(self.ours) <= 0:
            self.verdict = "FAIL"
            self.note = "a value is not above 0"
        else:
            self.ratios = [ours / peer for ours, peer in zip(self.ours, self.peer)]
            self.judge()

    BOUNDS = {
        "ce": ">= 0.995",
        "sm": ">= 1.000, each >= 0.995",
        "latency": "<= 1.000",
        "read fan": "> 1.000 of its write",
        "mean": ">= 1.000, each >= 0.995, or explained",
        "part": "",
    }

    @property
    def ratio(self):
        return statistics.median(self.ratios) if self.ratios else None

    def state(self, ratios):
        """pass, FAIL, or noise where the ratios of the rounds lie on both sides of the bound."""
        low, high = interval(ratios)
        if self.kind in ("sm", "mean"):
            # What a round may be lower is in the bound.
            holds = statistics.median(ratios) >= 1.0 and min(ratios) >= 0.995
            breaks = high < 1.0
        elif self.kind == "latency":
            holds, breaks = high <= 1.0, low > 1.0
        elif self.kind == "read fan":
            holds, breaks = low > 1.0, high <= 1.0
        else:
            holds, breaks = low >= 0.995, high < 0.995
        return "pass" if holds else "FAIL" if breaks else "noise"

    def judge(self):
        """A bound that holds only for ratios of three decimals, as many as it has, is said to."""
        self.verdict = "-" if self.kind == "part" else self.state(self.ratios)
        if self.verdict in ("-", "pass"):
            return
        if self.kind != "read fan" and self.state([round(r, 3) for r in self.ratios]) == "pass":
            self.verdict = "rounded"
        elif self.verdict == "noise":
            self.note = ("from round to round the ratio is between %.4f and %.4f, on both sides of "
                         "its bound: more rounds may decide" % interval(self.ratios))
        elif self.kind == "mean":
            self.verdict = "lower"
            self.note = ("the peer never sweeps the buffer: a kernel with its access pattern, run "
                         "in the same go, has to explain this")


def interval(values):
    """Of the median, by order statistics: 95 % from 6 values on, below that their extremes."""
    values, n, below, rank = sorted(values), len(values), 0.0, 0
    while rank < n:
        below += math.comb(n, rank) / 2 ** n
        if below > 0.025:
            break
        rank += 1
    rank = max(rank, 1)
    return values[rank - 1], values[n - rank]


def kind_of(key):
    if SUFFIX.search(key) and not key.endswith("_total"):
        return "part"
    if any(key in pair for pair in TWO_WAY_SM.values()):
        return "part"
    if key in READ_FANS:
        return "read fan"
    if "_latency_" in key:
        return "latency"
    if re.search(r"_sm(_|$)", key):
        return "sm"
    return "ce"


def rows_of(peer_runs, our_runs, wanted, pattern):
    """A row for each key that either tool printed or that was asked for, in order."""
    keys = []
    for run in peer_runs + our_runs:
        keys += [key for key in run.values if key not in keys]
    for name in wanted:
        if not any(re.sub(SUFFIX, "", key) == name for key in keys):
            keys.append(name)
    waived = set().union(*(run.waived for run in our_runs)) if our_runs else set()
    rows = []
    for key in keys:
        # Names that nobody measured and that we waive are the machine's lack.
        if key in waived and not any(key in run.values for run in peer_runs):
            continue
        peer = lambda run, key=key: run.values.get(key)
        ours = peer
        if key in READ_FANS:
            peer = lambda run, key=key: max((run.values[k] for k in (key, READ_FANS[key])
                                             if k in run.values), default=None)
        rows.append(Row(key, kind_of(key), peer, ours, peer_runs, our_runs))
    for label, pair in TWO_WAY_SM.items():
        if any(name in keys for name in pair):
            def mean(run, pair=pair):
                values = [run.values.get(name) for name in pair]
                return None if None in values else sum(values) / 2
            # Asked for alone, one of the two has nothing to be compared with.
            if all(name in keys for name in pair):
                rows.append(Row("mean of " + label.replace("+", " and "), "mean", mean, mean,
                                peer_runs, our_runs))
                explain(rows[-1], pattern.get(PATTERN_OF[label]))
    return rows, waived


def row_record(row):
    return {"testcase": row.label, "kind": row.kind, "peer": row.peer, "bwtool": row.ours,
            "ratios": row.ratios, "ratio": row.ratio, "bound": row.BOUNDS[row.kind],
            "verdict": row.verdict, "note": row.note}


def cells(record):
    """The line of a row_record in a table below HEAD."""
    def number(value):
        return "%.2f" % value

    def median(values):
        present = [value for value in values if value is not None]
        return number(statistics.median(present)) if present else "N/A"

    return [record["testcase"], median(record["peer"]), median(record["bwtool"]),
            "%.4f" % record["ratio"] if record["ratio"] is not None else "N/A",
            " ".join("%.4f" % ratio for ratio in record["ratios"]), record["bound"],
            record["verdict"]]


HEAD = ["testcase", "peer", "bwtool", "ratio", "each round", "bound", "verdict"]


def print_table(rows, out):
    table = [HEAD] + [cells(row_record(row)) for row in rows]
    widths = [max(len(line[i]) for line in table) for i in range(len(HEAD))]
    for line in table:
        text = [line[0].ljust(widths[0])]
        text += [line[i].rjust(widths[i]) for i in range(1, 4)]
        text += [line[i].ljust(widths[i]) for i in range(4, len(HEAD))]
        print("  ".join(text).rstrip(), file=out)
    for row in rows:
        if row.note:
            print("%s: %s" % (row.label, row.note), file=out)


def cost_of(runs):
    def median(values):
        return statistics.median(values) if values else 0.0
    return {"wall_s": round(median([run.wall for run in runs]), 2),
            "user_s": round(median([run.user for run in runs]), 2),
            "system_s": round(median([run.system for run in runs]), 2)}


def write_markdown(path, rows, record):
    def block(head, lines):
        return "\n".join(["| " + " | ".join(line) + " |"
                          for line in [head, ["---"] * len(head)] + lines]) + "\n"

    costs = [[tool] + ["%.2f" % record["cost"][tool][key] for key in
                       ("wall_s", "user_s", "system_s")] for tool in ("peer", "bwtool")]
    with open(path, "w", encoding="utf-8") as out:
        out.write("- GPUs: %s\n- driver: %s\n- date: %s\n- peer: %s\n- bwtool: %s\n"
                  "- command: `%s`\n- rounds: %d%s\n\n" % (
                      ", ".join(record["devices"]) or "none", record["driver"], record["date"],
                      record["peer_version"], record["bwtool_version"], record["command"],
                      record["rounds"], ", the first dropped" if record["first_dropped"] else ""))
        out.write(block(HEAD, [cells(row_record(row)) for row in rows]))
        for row in rows:
            if row.note:
                out.write("\n%s: %s.\n" % (row.label, row.note))
        out.write("\n" + block(["whole run, median", "wall s", "user s", "system s"], costs))
        for fault in record["faults"]:
            out.write("\nFault: %s\n" % fault)


def gib(word):
    value = float(word)
    if not 0 <= value < 1e6:
        raise ValueError(word)
    return value


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog=__doc__.split("\n\n", maxsplit=1)[1])
    parser.add_argument("--peer", required=True, metavar="PATH", help="nvbandwidth v0.8")
    parser.add_argument("--bwtool", default=os.path.join(ROOT, "build", "bwtool"), metavar="PATH")
    parser.add_argument("--rounds", type=int, default=4, metavar="N",
                        help="runs of each tool, at least 2; the first is dropped (default 4)")
    parser.add_argument("--keep-first", action="store_true",
                        help="the first round counts, too: 1 round will do")
    parser.add_argument("--pattern", metavar="PATH",
                        help="own_pattern (tests/gpu), run after the last round: what the peer's "
                             "access pattern reaches, which may explain a two-way SM mean that is "
                             "lower")
    parser.add_argument("--devices", metavar="LIST", help="CUDA_VISIBLE_DEVICES for both tools")
    parser.add_argument("--testcase", nargs="+", default=[], metavar="NAME",
                        help="only these testcases, by name")
    parser.add_argument("--peer-args", default="", metavar="WORDS", help="more arguments for it")
    parser.add_argument("--bwtool-args", default="", metavar="WORDS", help="more arguments for it")
    parser.add_argument("--timeout", type=float, default=600, metavar="S",
                        help="a run that takes longer is killed and a fault (default 600)")
    parser.add_argument("--touch-gib", type=gib, default=16, metavar="G",
                        help="host memory to touch before the first run, at most half of what is "
                             "free (default 16)")
    parser.add_argument("--json", metavar="OUT", help="write everything there")
    parser.add_argument("--markdown", metavar="OUT", help="write the table there")
    options = parser.parse_args()
    if options.rounds < (1 if options.keep_first else 2):
        parser.error("--rounds %d: at least 2, because the first is dropped (--keep-first keeps it)"
                     % options.rounds)
    for path in filter(None, (options.peer, options.bwtool, options.pattern)):
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            parser.error("%s is no program" % path)
    return options


def run_all(options):
    """All rounds; (peer's runs, ours), the dropped ones too."""
    environment = dict(os.environ)
    if options.devices is not None:
        environment["CUDA_VISIBLE_DEVICES"] = options.devices
    select = [word for name in options.testcase for word in ("-t", name)]
    tools = [
        ("peer", [os.path.abspath(options.peer)] + select + shlex.split(options.peer_args),
         parse_peer),
        ("bwtool", [os.path.abspath(options.bwtool), "-j"] + select
         + shlex.split(options.bwtool_args), parse_bwtool),
    ]
    runs = {"peer": [], "bwtool": []}
    for number in range(options.rounds):
        for tool, command, parse in tools if number % 2 == 0 else reversed(tools):
            run = Run(tool, command)
            execute(run, parse, options.timeout, environment)
            runs[tool].append(run)
            print("round %d, %s: %d values in %.1f s%s" % (
                number, tool, len(run.values), run.wall, ": " + run.fault if run.fault else ""),
                file=sys.stderr, flush=True)
    return runs["peer"], runs["bwtool"]


def run_pattern(options):
    """One run of own_pattern; without --pattern an empty one."""
    run = Run("pattern", [os.path.abspath(options.pattern)] if options.pattern else [])
    if options.pattern:
        environment = dict(os.environ)
        if options.devices is not None:
            environment["CUDA_VISIBLE_DEVICES"] = options.devices
        execute(run, parse_pattern, options.timeout, environment)
        print("pattern: alone %s, all at once %s GB/s%s" % (
            run.values.get("alone"), run.values.get("all"),
            ": " + run.fault if run.fault else ""), file=sys.stderr, flush=True)
    return run


def main():
    options = arguments()
    started = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
    touch_memory(int(options.touch_gib * (1 << 30)))
    peer_runs, our_runs = run_all(options)
    pattern = run_pattern(options)
    dropped = 0 if options.keep_first else 1
    kept_peer, kept_ours = peer_runs[dropped:], our_runs[dropped:]
    rows, waived = rows_of(kept_peer, kept_ours, options.testcase,
                           {} if pattern.fault else pattern.values)
    faults = ["%s, round %d: %s" % (run.tool, number, run.fault)
              for runs in (peer_runs, our_runs) for number, run in enumerate(runs) if run.fault]
    if pattern.fault:
        faults.append("pattern: " + pattern.fault)
    record = {
        "date": started,
        "command": shlex.join([os.path.basename(sys.argv[0])] + sys.argv[1:]),
        "rounds": options.rounds,
        "first_dropped": dropped == 1,
        "devices": kept_peer[0].header.get("devices") or kept_ours[0].header.get("devices") or [],
        "driver": kept_ours[0].header.get("Driver Version")
        or kept_peer[0].header.get("Driver Version") or "unknown",
        "peer_version": kept_peer[0].header.get("nvbandwidth Version", "unknown"),
        "bwtool_version": kept_ours[0].header.get("version") or "unknown",
        "waived": sorted(waived),
        "faults": faults,
        "pattern": pattern.values,
        "cost": {"peer": cost_of(kept_peer), "bwtool": cost_of(kept_ours)},
        "runs": [dict(vars(run), waived=sorted(run.waived), round=number)
                 for runs in (peer_runs, our_runs) for number, run in enumerate(runs)],
        "rows": [row_record(row) for row in rows],
    }
    print_table(rows, sys.stdout)
    for tool in ("peer", "bwtool"):
        cost = record["cost"][tool]
        print("%s: %.2f s wall, %.2f s user, %.2f s system (medians)" % (
            tool, cost["wall_s"], cost["user_s"], cost["system_s"]))
    if waived:
        print("waived by bwtool: " + " ".join(sorted(waived)))
    for fault in faults:
        print("fault: " + fault)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump(record, out, indent=1)
            out.write("\n")
    if options.markdown:
        write_markdown(options.markdown, rows, record)
    bad = [row for row in rows if row.verdict in ("FAIL", "MISSING")]
    rounded = [row for row in rows if row.verdict == "rounded"]
    noise = [row for row in rows if row.verdict == "noise"]
    if noise:
        print("not decided: " + " ".join(row.label for row in noise))
    print("%d rows, %d below their bound or missing, %d not decided for noise, %d at it only by "
          "rounding, %d faults" % (len(rows), len(bad), len(noise), len(rounded), len(faults)))
    if bad or faults or not rows:
        return 1
    return 5 if noise else 0


if __name__ == "__main__":
    sys.exit(main())
