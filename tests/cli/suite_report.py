#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Read the report of --suite shmem and say what is wrong with it, a line each.

Usage: suite_report.py REPORT CASES [CASE=RESULT...]
CASES is what --dry-run printed. A case whose result is not given has passed,
unless it needs more PEs than there are.
"""
import re
import sys

HEADINGS = [
    "# bwtool: suite shmem",
    "## 1. Operator info",
    "## 2. Baseline detail",
    "## 3. Round 0",
    "### 3.1 Result: bandwidth",
    "### 3.2 Result: latency",
    "### 3.3 Communication",
    "### 3.4 Compute",
    "### 3.5 Device frames",
    "## 6. Final comparison",
]
RESULT = ("case_id shape dtype n_pes engine algorithm placement e2e_us kernel_us "
          "algo_bandwidth_GBps kernel_bus_bandwidth_GBps utilization%").split()
SUMS = ("reduce", "combine", "B2", "B4", "B6")


def cells_of(line):
    return [c.strip().replace("\\", "") for c in re.split(r"(?<!\\)\|", line)[1:-1]]


def tables_of(lines):
    """Tables as (heading before it, columns, rows)."""
    tables, heading, i = [], "", 0
    while i < len(lines):
        if lines[i].startswith("#"):
            heading = lines[i]
        if lines[i].startswith("| ") and i + 1 < len(lines) and lines[i + 1].startswith("|---"):
            columns, rows, i = cells_of(lines[i]), [], i + 2
            while i < len(lines) and lines[i].startswith("|"):
                rows.append(cells_of(lines[i]))
                if len(rows[-1]) != len(columns):
                    print(f"{heading}: {len(rows[-1])} cells in {len(columns)} columns: {lines[i]}")
                i += 1
            tables.append((heading, columns, [dict(zip(columns, r)) for r in rows]))
        else:
            i += 1
    return tables


def find(tables, column, heading):
    for where, columns, rows in tables:
        if where.startswith(heading) and column in columns:
            return rows
    print(f"there is no table with {column} in '{heading}'")
    return []


def check_rates(row, payload, factor):
    """One case's bandwidths follow from its latencies, as far as they were rounded."""
    bus, kernel = float(row["kernel_bus_bandwidth_GBps"]), float(row["kernel_us"])
    if kernel >= 0.1 and abs(bus - payload / kernel / 1e3 * factor) > 0.01 * bus:
        print(f"{row['case_id']}: {bus} GB/s do not follow from {kernel} us")


def main():
    with open(sys.argv[1], encoding="ascii") as file:
        lines = file.read().splitlines()
    with open(sys.argv[2], encoding="ascii") as file:
        cases = [l for l in file.read().splitlines()[2:]]
    expected = dict(a.split("=") for a in sys.argv[3:])
    for case in cases:
        expected.setdefault(case.split()[0], "waived" if "(waived: " in case else "passed")

    if [l for l in lines if l.startswith("#")] != HEADINGS:
        print("the headings are not those of the report")
    tables = tables_of(lines)
    listed = find(tables, "why it is there", "## 1")
    if {r["case_id"]: r["result"] for r in listed} != expected or len(listed) != len(cases):
        print(f"the cases have other results: {[(r['case_id'], r['result']) for r in listed if expected.get(r['case_id']) != r['result']]}")
    for row in listed:
        if (row["result"] == "passed") != (row["reason"] == ""):
            print(f"{row['case_id']}: {row['result']}, and its reason is '{row['reason']}'")

    results = find(tables, "shape", "### 3.1")
    latencies = {r["case_id"] for r in find(tables, "staging_us", "### 3.2")}
    wires = {r["case_id"]: r for r in find(tables, "wire_bytes_sent", "### 3.3")}
    sums = {r["case_id"] for r in find(tables, "op_count_flops", "### 3.4")}
    good = {name for name, result in expected.items() if result == "passed"}
    if [r["case_id"] for r in results] != [c.split()[0] for c in cases]:
        print("not every case is in the result table, in order")
    if results and list(results[0])[:len(RESULT)] != RESULT:
        print("the result table has other columns")
    for row in results:
        name = row["case_id"]
        if (name in good) != (row["kernel_us"] != "N/A"):
            print(f"{name}: {expected[name]}, and its kernel_us is {row['kernel_us']}")
        if name not in good and [row[c] for c in RESULT[7:]] != ["N/A"] * 5:
            print(f"{name}: {expected[name]}, and has numbers")
        if name in good:
            check_rates(row, int(wires[name]["logical_payload_bytes"]), float(wires[name]["bus_factor"]))
    if latencies != good or set(wires) != good:
        print("not every case with valid data is in the tables of latency and communication")
    if any(name not in good for name in sums):
        print("a case without valid data is in the table of compute")
    if not all(any(k in name for k in SUMS) for name in sums):
        print(f"pure transport is in the table of compute: {sums}")

    final = [r for h, c, rows in tables if h == "## 6. Final comparison" and "metric" in c for r in rows]
    wanted = {n for n in good if re.match(r"[SL]\.|(fp|bf|int)[0-9]+\.", n)}
    if {r["case_id"] for r in final} != wanted:
        print("the final comparison is not that of L and S")
    gates = find(tables, "gate", "## 6")
    if sum(r["gate"].startswith(f"B{i + 1}: ") for i, r in enumerate(gates[8:16])) != 8:
        print("not every boundary is a gate with its name")
    for gate in gates:
        if gate["result"] not in ("met", "gate not met") or (gate["result"] == "met") != (gate["why"] == ""):
            print(f"gate '{gate['gate']}': {gate['result']}: {gate['why']}")


main()
