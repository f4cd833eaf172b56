/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/operators.h"
#include "bwtool/report.h"
#include "words.h"

#include <string.h>

/* Lines of at most 100 columns, broken between words, after a heading that sticks out. */
static void print_wrapped(FILE *out, const char *text)
{
    enum { WIDTH = 100, INDENT = 4 };
    int column = 0;

    while (*text != '\0') {
        const int length = (int)strcspn(text, " \n");

        if (column == 0) {
            column = fprintf(out, "  %.*s", length, text);
        } else if (column + 1 + length > WIDTH) {
            column = fprintf(out, "\n%*s%.*s", INDENT, "", length, text) - 1;
        } else {
            column += fprintf(out, " %.*s", length, text);
        }
        text += length;
        column = *text == '\n' ? 0 : column;
        if (*text == '\n') {
            fputc('\n', out);
        }
        text += *text != '\0';
    }
    fputc('\n', out);
}

void bw_report_explain(FILE *out, const struct bw_testcase *tc)
{
    char text[4096];
    int length = snprintf(text, sizeof text, "Counted: ");

    (void)bw_words_definition(tc, text + length, sizeof text - (size_t)length);
    fprintf(out, "%d, %s:\n", bw_all_find(tc->name), tc->name);
    print_wrapped(out, text);
    (void)bw_testcase_explain(tc, text, sizeof text);
    print_wrapped(out, text);
    fputc('\n', out);
}
