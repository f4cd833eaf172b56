#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the tool printed, with what differs from run to run masked.

usage: golden_mask.py < OUTPUT

Text stays text; a JSON document is written anew, one line a cell, so that a
difference is a short one. Numbers that the simulated machine determines stay.
"""

import json
import re
import socket
import sys

# Members whose value depends on the build, the moment, the host or its speed.
VOLATILE = {
    "command", "cpus", "environment", "life", "seconds", "git_version", "host", "looks", "messages", "nodes", "phase_seconds",
    "started", "state", "state_ms", "topology", "version", "wall_seconds", "workdir",
}
# Members written on one line.
SHORT = {"cells", "summary", "bandwidth_matrix", "options", "devices"}


def mask(value, name=""):
    if name in VOLATILE:
        return "*"
    if isinstance(value, dict):
        return {key: mask(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [mask(inner) for inner in value]
    if name == "cv" and isinstance(value, float) and value < 1e-5:
        return 0.0  # the simulator has no noise; an event's time is rounded
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value


def lines(value, indent, is_short):
    """The document, a line a member; a line an element of what is short."""
    space = "  " * indent
    if isinstance(value, dict) and value and not is_short:
        parts = [f"{space}  {json.dumps(k)}: " + lines(v, indent + 1, k in SHORT).lstrip()
                 for k, v in value.items()]
        return f"{space}{{\n" + ",\n".join(parts) + f"\n{space}}}"
    if isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value):
        parts = [lines(v, indent + 1, is_short) for v in value]
        return f"{space}[\n" + ",\n".join(parts) + f"\n{space}]"
    return space + json.dumps(value)


def mask_text(text):
    text = re.sub(r"^(bwtool Version:) v\S+", r"\1 v*", text, flags=re.M)
    text = re.sub(r"^(Built from Git version:) .*", r"\1 *", text, flags=re.M)
    return re.sub(r"\bat \d+\.\d+ s: .*", "at * s: *", text)


def main():
    host = re.escape(socket.gethostname())
    text = re.sub(rf"(?<![\w.-]){host}(?![\w.-])", "HOST", sys.stdin.read())
    if text.startswith(("{", "[")):
        print(lines(mask(json.loads(text)), 0, False))
    else:
        sys.stdout.write(mask_text(text))


if __name__ == "__main__":
    main()
