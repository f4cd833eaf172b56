/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_H
#define BW_REPORT_H

#include "result.h"

#include <stdio.h>

/*
 * Writers of a run. Each gets the same structures at the same moments. Text is
 * written as it comes and flushed at each "Running" line; JSON is one document
 * at the end, also after a fatal error. That `out` took it all is for its owner
 * to check, by ferror(), at the end.
 */

struct bw_report {
    FILE *out; /* borrowed; stdout */
    const struct bw_run *run;
    bool is_incomplete; /* set at the latest by end(): there was no memory for all of it */
};

struct bw_report_ops {
    const char *name;                          /* as -F knows it: "text", "json", "perf" */
    void (*begin)(struct bw_report *report);   /* version lines              */
    void (*devices)(struct bw_report *report); /* once drivers are known     */
    void (*running)(struct bw_report *report, const char *name); /* a testcase begins          */
    void (*testcase)(struct bw_report *report,
                     const struct bw_testcase_result *result); /* it ended */
    void (*end)(struct bw_report *report);                     /* always called, exactly once */
};

extern const struct bw_report_ops bw_report_text, bw_report_json, bw_report_perf;
/* Of --suite, in Markdown; all of it at the end. */
extern const struct bw_report_ops bw_report_suite;

/* By name; NULL if there is none. */
const struct bw_report_ops *bw_report_find(const char *name);

/* The list of testcases (-l) in the writer's format: text or, for "json", a JSON array. */
void bw_report_list(FILE *out, bool as_json);

/* What a testcase counts, who moves it over which link, and what limits it. */
void bw_report_explain(FILE *out, const struct bw_testcase *tc);

/* First lines of every text: "bwtool Version: vX (nvbandwidth v0.8 compatible)" and so on. */
void bw_report_version(FILE *out);

#endif
