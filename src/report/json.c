/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: one document at the end, whatever happened before. */
#include "bwtool/log.h"
#include "bwtool/report.h"
#include "json_document.h"
#include "json_value.h"

#include <stdlib.h>

static void json_begin(struct bw_report *report)
{
    (void)report;
}

static void json_devices(struct bw_report *report)
{
    (void)report;
}

static void json_running(struct bw_report *report, const char *name)
{
    (void)report;
    (void)name;
}

static void json_testcase(struct bw_report *report, const struct bw_testcase_result *result)
{
    (void)report;
    (void)result;
}

/* A document of the form that clients read, also where there is no memory for another. */
static void print_without_memory(FILE *out)
{
    bw_error("not enough host memory for the JSON document");
    fputs("{\n"
          "\t\"nvbandwidth\": {\n"
          "\t\t\"CUDA Runtime Version\": 0,\n"
          "\t\t\"Driver Version\": \"unknown\",\n"
          "\t\t\"error\": \"not enough host memory for the JSON document\",\n"
          "\t\t\"git_version\": \"unknown\",\n"
          "\t\t\"testcases\": []\n"
          "\t}\n"
          "}\n",
          out);
}

static void json_end(struct bw_report *report)
{
    json_t *document = json_object();

    bw_json_set(document, "nvbandwidth", bw_json_nvbandwidth(report->run));
    bw_json_set(document, "bwtool", bw_json_bwtool(report->run));
    if (!bw_json_print(report->out, document)) {
        print_without_memory(report->out);
        report->is_incomplete = true;
    }
    json_decref(document);
    fflush(report->out);
}

const struct bw_report_ops bw_report_json = {
    .name = "json",
    .begin = json_begin,
    .devices = json_devices,
    .running = json_running,
    .testcase = json_testcase,
    .end = json_end,
};
