/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/report.h"
#include "option_table.h"

#include <string.h>

enum { HELP_COLUMN = 36 };

/* Help text may have several lines: each starts in the same column. */
static void print_help_text(FILE *out, const char *help)
{
    for (;;) {
        const int length = (int)strcspn(help, "\n");

        fprintf(out, "%.*s", length, help);
        if (help[length] == '\0') {
            return;
        }
        fprintf(out, "\n%*s", HELP_COLUMN, "");
        help += length + 1;
    }
}

static void print_option(FILE *out, const struct bw_option *row)
{
    char letter[8] = "    ";
    int width = 0;

    if (row->letter != '\0') {
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    }
    width = fprintf(out, "  %s--%s", letter, row->name);
    if (bw_options_word_is_optional(row)) {
        width += fprintf(out, "[=%s]", row->argument);
    } else if (row->argument != NULL) {
        width += fprintf(out, " %s", row->argument);
    }
    fprintf(out, "%*s", width < HELP_COLUMN ? HELP_COLUMN - width : 1, "");
    print_help_text(out, row->help);
    if (row->initial != NULL) {
        fprintf(out, " (default: %s)", row->initial);
    }
    fputc('\n', out);
}

void bw_options_help(FILE *out)
{
    bw_report_version(out);
    fputs("Usage: bwtool [OPTION]...\n"
          "Measures the memory bandwidth and latency of GPUs and of the host.\n\n",
          out);
    for (size_t i = 0; i < BW_OPTION_COUNT; i++) {
        if (!bw_option_table[i].is_hidden) {
            print_option(out, &bw_option_table[i]);
        }
    }
    fputs("\nWithout -t and -p: the testcases that nvbandwidth v0.8 runs, 0 to 34 in one process,\n"
          "0 to 47 under mpirun; without a GPU, the testcases of the host memory.\n"
          "Exit status: 0 all ran or were waived, 1 a testcase failed or was not run, 2 usage,\n"
          "3 no usable GPU, 4 an operator below its threshold, 5 measured, but not to be relied "
          "on.\n",
          out);
}
