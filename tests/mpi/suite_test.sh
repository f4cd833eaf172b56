#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --suite shmem over ranks, BWTOOL BUILD RANKS: one report, of the first rank;
# cases of fewer PEs than there are ranks are waived, and the report says so.
# shellcheck disable=SC1091,SC2154 # lib.sh has what is missing here
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
n=$3

ranks "$n" h200x8 --suite shmem -b 4K --dry-run
cp "$work/out" "$work/cases"
waived=()
if [ "$n" -gt 2 ]; then
    waived=(2pe.all_to_all=waived 2pe.all_reduce=waived B7.2pe_largest=waived)
fi
# Few SMs, for the CPU's sake.
SIM_EXTRA='gpu * sm 4' LIMIT=100 ranks "$n" h200x8 --suite shmem -b 4K -i 1 --loopCount 1
{
    [ "$status" = 0 ] || { echo "status $status"; grep -v ' note: ' "$work/err" | head -n 20; }
    python3 "$root/tests/cli/suite_report.py" "$work/out" "$work/cases" "${waived[@]}" 2>&1
    [ "$n" -le 2 ] || grep -q '^| 2 PEs | must | gate not met | .*2 of .* ranks: under mpirun' "$work/out" ||
        grep '^| 2 PEs' "$work/out"
    grep -q '^There is no baseline: .*several ranks' "$work/out" || echo "section 2 does not say why"
} | verdict "the report of $n ranks holds together"

if [ "$n" = 2 ]; then
    # Few SMs: S is large, and what is looked at here is who has memory.
    SIM_EXTRA="gpu * sm 4" RANK_EXTRA="1 gpu * sm 4; gpu * memory 96MiB" LIMIT=100 \
        ranks 2 h200x8 --suite shmem -b 96M -i 1 --loopCount 1
    {
        [ "$status" = 1 ] || echo "status $status"
        grep -q '^| S: .* met |  |$' "$work/out" || grep '^| S: ' "$work/out"
        grep -q '^| L: .* gate not met | .*MiB of symmetric memory a rank are needed' "$work/out" ||
            grep '^| L: ' "$work/out"
    } | verdict "one rank without memory for L: its gate is not met, and S has run"
fi

ranks "$n" h200x8 --suite shmem --baseline nccl
{
    [ "$status" = 2 ] || echo "status $status"
    says 'baseline: a job of several ranks'
} | verdict "over ranks there is no baseline"

exit "$failed"
