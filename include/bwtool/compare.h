/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_COMPARE_H
#define BW_COMPARE_H

#include "status.h"

#include <stdbool.h>
#include <stdio.h>

/*
 * Two JSON files of this tool: one has operators, the other the baseline.
 * Which is which is found by what is in them (the first has the baseline if
 * both do). Needs no GPU and no driver.
 */

struct bw_compare_result {
    unsigned compared, below; /* pairs */
    unsigned failed;          /* testcases of the operators' file: not all was measured           */
    unsigned unreliable;      /* cases: they, or their partners, are in doubt, and not judged     */
    unsigned refused;         /* cases that have no partner of the same size, dtype, ranks, class */
};

/*
 * Read both, and print the tables of the comparison. BW_ERR_USAGE, logged, if
 * a file cannot be read, is none of ours, or was measured on other GPUs.
 */
enum bw_status bw_compare_files(const char *first, const char *second, bool as_json, FILE *out,
                                struct bw_compare_result *result);

#endif
