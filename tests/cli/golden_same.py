#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Text and JSON of the same run on the simulator hold the same numbers.

usage: golden_same.py TEXT JSON

Every matrix of the text is read, cell by cell, and compared with both parts
of the document; ends with how many numbers were compared.
"""

import json
import re
import sys

NUMBER = re.compile(r"^\d+(\.\d+)?$")


def matrices_of(text):
    """Title and rows of each matrix: a header of column numbers, then `row  value...`."""
    found, lines, i = [], text.split("\n"), 0
    while i < len(lines):
        header = lines[i].split()
        if i > 0 and header and header == [str(n) for n in range(len(header))]:
            title, rows = lines[i - 1].strip(), []
            i += 1
            while i < len(lines) and len(lines[i].split()) == len(header) + 1:
                rows.append(lines[i].split()[1:])
                i += 1
            found.append((title, rows))
        else:
            i += 1
    return found


def text_of(value, digits):
    return "N/A" if value is None else f"{value:.{digits}f}"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = matrices_of(file.read())
    with open(sys.argv[2], encoding="utf-8") as file:
        document = json.load(file)
    ours = [m for t in document["bwtool"]["testcases"] for m in t["matrices"]]
    compared, wrong = 0, []
    if [m["title"] for m in ours] != [title for title, _ in text]:
        wrong.append(f"matrices: {[title for title, _ in text]} and {[m['title'] for m in ours]}")
    for matrix, (title, rows) in zip(ours, text):
        cells = matrix["cells"]
        if len(rows) != len(cells):
            wrong.append(f"{title}: {len(rows)} rows and {len(cells)}")
        for r, (row, line) in enumerate(zip(cells, rows)):
            for c, (cell, word) in enumerate(zip(row, line)):
                value = None if cell is None else cell["value"]
                digits = len(word.split(".")[1]) if NUMBER.match(word) and "." in word else 0
                compared += value is not None
                if text_of(value, digits) != word:
                    wrong.append(f"{title}: {r}, {c}: {word} and {value}")
    print("\n".join(wrong))
    print(f"{compared} numbers compared, {len(wrong)} differ")
    return bool(wrong) or compared == 0


if __name__ == "__main__":
    sys.exit(main())
