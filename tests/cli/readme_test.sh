#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# README.md and docs/bwtool.1 against the binary: every option and testcase
# there is stands in them, and nothing else does.
# shellcheck disable=SC2016 # backquotes below are Markdown's
set -u
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"
readme=$root/README.md
page=$root/docs/bwtool.1
# Not in the help, as in nvbandwidth, but promised to those who use them.
hidden="loopCount perfFormatter"

# section FILE HEADING: README's lines below a heading, up to the next of its level.
section() {
    awk -v heading="## $2" '$0 == heading { on = 1; next } /^## / { on = 0 } on' "$1"
}

# differences WHO A B: lines of one file that the other has not.
differences() {
    comm -3 "$2" "$3" | sed -E "s/^\t(.*)/\1: in $1, not in the binary/; t
        s/(.*)/\1: in the binary, not in $1/"
}

# Options as "-b --bufferSize" or "--version".
"$bwtool" --help >"$work/help" 2>"$work/err" </dev/null || echo "--help fails" >>"$work/err"
{
    grep -oE '^  (-[A-Za-z], |    )--[A-Za-z-]+' "$work/help" | tr -d ',' | awk '{ $1 = $1; print }'
    for name in $hidden; do
        echo "--$name"
    done
} | sort >"$work/options"
section "$readme" Options | grep -oE '^\| `(-[A-Za-z], )?--[A-Za-z-]+' | tr -d '|`,' |
    awk '{ $1 = $1; print }' | sort >"$work/options.readme"
sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$page" | sed 's/\\-/-/g' |
    grep -E '^\.BR? -' | sed -E 's/^\.BR? //; s/"//g; s/\[=.*//; s/,//; s/  +/ /g' |
    grep -oE '^(-[A-Za-z] )?--[A-Za-z-]+' | sort >"$work/options.page"
{
    cat "$work/err"
    [ "$(wc -l <"$work/options")" -gt 10 ] || echo "the help has hardly any options"
} | verdict "the help can be read"
differences README.md "$work/options" "$work/options.readme" | verdict "README has every option"
differences bwtool.1 "$work/options" "$work/options.page" | verdict "the man page has every option"
for name in $hidden; do
    case $name in
    loopCount) arguments=(--loopCount 2) ;;
    *) arguments=("--$name") ;;
    esac
    "$bwtool" "${arguments[@]}" --version >/dev/null 2>&1 </dev/null || echo "--$name is refused"
done | verdict "options that are not in the help are still taken"

# Testcases as "INDEX NAME".
"$bwtool" -l </dev/null 2>&1 | sed -nE 's/^([0-9]+), ([a-z0-9_]+):$/\1 \2/p' | sort >"$work/cases"
section "$readme" Testcases | sed -nE 's/^\| ([0-9]+) \| `([a-z0-9_]+)` \|.*/\1 \2/p' | sort \
    >"$work/cases.readme"
{
    [ "$(wc -l <"$work/cases")" -ge 48 ] || echo "-l lists hardly any testcases"
    differences README.md "$work/cases" "$work/cases.readme"
} | verdict "README's table has every testcase under its index"

# Exit statuses that the help names.
{
    for status in 0 1 2 3 4 5; do
        section "$readme" 'Exit status' | grep -q "^| $status |" || echo "README lacks status $status"
        sed -n '/^\.SH EXIT STATUS/,/^\.SH [^E]/p' "$page" | grep -qx "\.B $status" ||
            echo "bwtool.1 lacks status $status"
    done
} | verdict "every exit status is explained"

# Files that the texts point to are there.
for text in "$readme" "$root"/docs/*.md; do
    grep -oE '\]\([^)#:]+' "$text" | sed 's/^](//' | while read -r target; do
        [ -e "$(dirname "$text")/$target" ] || echo "$text: no $target"
    done
    grep -oE '`(\./)?(scripts|docs|tests|include|src|kernels)/[A-Za-z0-9_./-]+`' "$text" | tr -d '`' |
        while read -r target; do
            [ -e "$root/$target" ] || echo "$text: no $target"
        done
done | verdict "files that the texts name exist"

if command -v man >/dev/null && man --version 2>/dev/null | grep -q '^man '; then
    LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$page" 2>&1 >/dev/null </dev/null |
        verdict "the man page is well formed"
else
    echo "skipped: the man page's form: no man"
fi
finish
