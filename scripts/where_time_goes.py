#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Say where the wall time of a run went, from the record of `bwtool -j`.

A row a testcase: wall time, cells, milliseconds a cell, what of it was timed (the
seconds of all cells' samples), and each phase's part (docs/OUTPUT.md,
phase_seconds). Below them the whole run: what it spent outside of testcases is
starting. Exit status: 0; 2 if there is no record, or one without phase_seconds.
"""

import argparse
import json
import sys

START = ("topology", "driver", "nvml", "contexts")


def cells_of(case):
    """Of one measurement: two-way pairs have three matrices of the same cells."""
    matrices = case.get("matrices") or []
    return [cell for row in (matrices[-1]["cells"] if matrices else []) for cell in row
            if cell["value"] is not None]


def line_of(name, wall, cells, timed, phases, order):
    words = [name, "%.3f" % wall, str(cells), "%.1f" % (1e3 * wall / cells) if cells else "",
             "%.3f" % timed if timed is not None else ""]
    return words + ["%.3f" % phases[phase] if phases.get(phase, 0) >= 5e-4 else "" for phase in order]


def table_of(record):
    total = record["phase_seconds"]
    ran = [case for case in record["testcases"] if case.get("phase_seconds")]
    order = sorted((phase for phase, s in total.items() if s >= 5e-4), key=lambda p: -total[p])
    head = ["testcase", "wall s", "cells", "ms a cell", "timed s"] + order
    lines, outside, cells, timed = [], dict(total), 0, 0.0
    for case in ran:
        own = cells_of(case)
        seconds = sum(cell.get("seconds") or 0 for cell in own)
        lines.append(line_of(case["name"], case["wall_seconds"], len(own), seconds,
                             case["phase_seconds"], order))
        cells, timed = cells + len(own), timed + seconds
        for phase, spent in case["phase_seconds"].items():
            outside[phase] = outside.get(phase, 0) - spent
    inside = sum(case["wall_seconds"] for case in ran)
    lines.append(line_of("starting, and between them", record["wall_seconds"] - inside, 0, None,
                         outside, order))
    lines.append(line_of("all", record["wall_seconds"], cells, timed, total, order))
    return head, lines


def words_of(record):
    """The largest parts, and what could at most be saved."""
    total, wall = record["phase_seconds"], record["wall_seconds"]
    start = sum(total.get(phase, 0) for phase in START)
    samples = total.get("samples", 0)
    parts = ", ".join("%s %.0f %%" % (phase, 100 * s / wall)
                      for phase, s in sorted(total.items(), key=lambda p: -p[1])[:5])
    return ("%.3f s: %s. Starting takes %.3f s, work that is timed and the load beside it %.3f s; "
            "all else, %.3f s, is around them." % (wall, parts, start, samples,
                                                   wall - start - samples))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0],
                                     epilog=__doc__.split("\n\n", maxsplit=1)[1])
    parser.add_argument("record", metavar="FILE", help="what `bwtool -j` printed; - is stdin")
    parser.add_argument("--markdown", action="store_true", help="a table for a page")
    options = parser.parse_args()
    try:
        with sys.stdin if options.record == "-" else open(options.record, encoding="utf-8") as file:
            record = json.load(file)["bwtool"]
        head, lines = table_of(record)
    except (OSError, ValueError, KeyError, TypeError) as error:
        parser.error("%s is no record of bwtool -j with phase_seconds: %s" % (options.record, error))
    if options.markdown:
        for line in [head, ["---"] * len(head)] + lines:
            print("| " + " | ".join(line) + " |")
        print()
    else:
        widths = [max(len(line[i]) for line in [head] + lines) for i in range(len(head))]
        for line in [head] + lines:
            print("  ".join([line[0].ljust(widths[0])]
                            + [word.rjust(width) for word, width in zip(line[1:], widths[1:])]).rstrip())
    if record["simulated"]:
        print("Simulated GPUs: this is the simulator's own time.")
    print(words_of(record))
    return 0


if __name__ == "__main__":
    sys.exit(main())
