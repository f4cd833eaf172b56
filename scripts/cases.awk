# SPDX-License-Identifier: Apache-2.0
# Reads `ctest -V`, prints a line a case, and at the end leaves the counts in
# the file `counts`. Cases are what a test program says of itself: cmocka's
# "[       OK ] name" and "[  FAILED  ] name", or lines "ok name" and "not ok
# name"; a program that says nothing is one case. A failing program's whole
# output follows its line. `prefix` is put before names; awk -f cases.awk.

function report(what, number, name) {
    if ((number, name) in seen) {
        return
    }
    seen[number, name] = 1
    printf "%-6s %s%s%s\n", what, prefix, test[number], name == "" ? "" : ": " name
    total[what]++
    if (what == "FAILED") {
        failures[number]++
    } else {
        cases[number]++
    }
    fflush()
}

/^ *Start +[0-9]+: / {
    number = $2 + 0
    test[number] = $3
    next
}

/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: / {
    match($0, /#[0-9]+/)
    number = substr($0, RSTART + 1, RLENGTH - 1) + 0
    if ($0 ~ / Passed +[0-9.]+ sec/) {
        if (!cases[number]) {
            report("ok", number, "")
        }
    } else if ($0 ~ /\*\*\*Skipped/) {
        report("skip", number, "")
    } else {
        if (!failures[number]) {
            reason = $0
            sub(/.*\*\*\*/, "", reason)
            sub(/ +[0-9.]+ sec.*/, "", reason)
            report("FAILED", number, "(" reason ")")
        }
        printf "%s", output[number]
    }
    delete output[number]
    next
}

# "N: text" is output of test N.
match($0, /^[0-9]+: /) {
    number = substr($0, 1, RLENGTH - 2) + 0
    text = substr($0, RLENGTH + 1)
    output[number] = output[number] "       " text "\n"
    if (text ~ /^\[ +OK \] /) {
        sub(/^\[ +OK \] /, "", text)
        report("ok", number, text)
    } else if (text ~ /^\[  FAILED  \] [A-Za-z_]/) {
        sub(/^\[  FAILED  \] /, "", text)
        report("FAILED", number, text)
    } else if (text ~ /^\[  SKIPPED \] [A-Za-z_]/) {
        sub(/^\[  SKIPPED \] /, "", text)
        report("skip", number, text)
    } else if (text ~ /^ok /) {
        report("ok", number, substr(text, 4))
    } else if (text ~ /^not ok /) {
        report("FAILED", number, substr(text, 8))
    }
}

END {
    print total["ok"] + 0, total["FAILED"] + 0, total["skip"] + 0 > counts
}
