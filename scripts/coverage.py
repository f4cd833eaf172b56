#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What gcovr counted, a folder of src/ a line, and whether it is enough.

usage: coverage.py FILE.json [--partly] [FOLDER...]

FILE.json is gcovr's own. Exit status 1 if a folder is below its bound, unless
only a part of the tests has run. Of each FOLDER the lines that nothing
executed are listed.
"""

import json
import sys
from collections import defaultdict

PURE = ("base", "plan", "cli", "report")  # no driver, GPU or MPI is needed to test them
BOUND_PURE, BOUND = 95.0, 85.0


def counted(file):
    return [line for line in file["lines"] if not line.get("gcovr/noncode")]


def ranges(numbers):
    """[1, 2, 3, 7] as "1-3 7"."""
    found = []
    for n in numbers:
        if found and found[-1][1] == n - 1:
            found[-1][1] = n
        else:
            found.append([n, n])
    return " ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in found)


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def main(words):
    is_part = "--partly" in words
    shown = [w for w in words[1:] if w != "--partly"]
    with open(words[0], encoding="utf-8") as source:
        files = json.load(source)["files"]
    totals = defaultdict(lambda: [0, 0, 0, 0])  # lines, executed; branches, taken
    for file in files:
        folder = file["file"].split("/")[1]
        lines = counted(file)
        total = totals[folder]
        total[0] += len(lines)
        total[1] += sum(line["count"] > 0 for line in lines)
        for line in lines:
            total[2] += len(line["branches"])
            total[3] += sum(branch["count"] > 0 for branch in line["branches"])
        never = [line["line_number"] for line in lines if line["count"] == 0]
        if folder in shown and never:
            print(f"{file['file']}: {ranges(never)}")
    bad = 0
    print(f"{'folder':<10} {'lines':>6} {'executed':>9} {'bound':>6} {'branches':>9} {'taken':>7}")
    for folder, (lines, executed, branches, taken) in sorted(totals.items()):
        bound = BOUND_PURE if folder in PURE else BOUND
        is_low = percent(executed, lines) < bound
        bad += is_low
        print(f"{folder:<10} {lines:>6} {percent(executed, lines):>8.1f}% {bound:>5.0f}% "
              f"{branches:>9} {percent(taken, branches):>6.1f}%"
              f"{'  too little' if is_low and not is_part else ''}")
    if not totals:
        print("nothing was counted")
        return 1
    return bad != 0 and not is_part


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
