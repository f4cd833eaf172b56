#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of operators in a JSON record follow from one another.

usage: operators_json.py FILE RANKS: prints what does not, a line each
"""

import json
import math
import sys

FACTORS = {"all_reduce": lambda n: 2 * (n - 1) / n, "reduce_scatter": lambda n: (n - 1) / n,
           "put": lambda n: 1.0}


def same(a, b):
    return a == b or (a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9))


def rates(case):
    """Key and what it has to be."""
    payload, factor = case["payload_bytes"], case["bus_factor"]
    kernel, e2e = payload / case["kernel_us"] * 1e-3, payload / case["e2e_us"] * 1e-3
    return {"kernel_algo_bandwidth_GBps": kernel, "algo_bandwidth_GBps": e2e,
            "kernel_bus_bandwidth_GBps": kernel * factor, "e2e_bus_bandwidth_GBps": e2e * factor,
            "bandwidth_utilization_pct": 100 * kernel * factor / case["peak_bandwidth_GBps"]}


def wrong_of(name, case, ranks):
    times = case["kernel_us_slowest_rank"]
    order = [times[k] for k in ("min", "p5", "median", "p95", "max")]
    if name != "barrier":
        yield from (k for k, v in rates(case).items() if not same(case[k], v))
    if name in FACTORS and not same(case["bus_factor"], FACTORS[name](ranks)):
        yield "bus_factor"
    if order != sorted(order) or not same(times["median"], case["kernel_us"]):
        yield "kernel_us_slowest_rank"
    if case["n_pes"] != ranks or len(case["kernel_us_of_ranks"]) != ranks:
        yield "n_pes"
    if case["reason"] is not None or case["rounds_checked"] < 1:
        yield "rounds_checked"


def main(words):
    with open(words[0], encoding="utf-8") as source:
        tested = json.load(source)["bwtool"]["testcases"]
    if not tested:
        print("nothing was tested")
    for testcase in tested:
        name, cases = testcase["operator"]["operator"], testcase["operator"]["cases"]
        if not cases or not any(case["is_best_grid"] for case in cases):
            print(f"{name}: no grid is the best")
        asked = [(case["row"], case["payload_bytes"], case["ctas"]) for case in cases]
        if len(set(asked)) < len(asked):
            print(f"{name}: a case is there more than once: {asked}")
        for case in cases:
            for key in wrong_of(name, case, int(words[1])):
                print(f"{name}, case {case['case_id']}: {key} is {case.get(key)}")


if __name__ == "__main__":
    main(sys.argv[1:])
