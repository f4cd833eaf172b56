/* SPDX-License-Identifier: Apache-2.0 */
#include "markdown.h"

#include <math.h>
#include <string.h>

/* Characters that Markdown would take for its own, or that end a line. */
void bw_md_words(FILE *out, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (strchr("|*`<\\", c) != NULL) {
            fputc('\\', out);
        }
        fputc(c < 0x20 || c == 0x7f ? ' ' : c > 0x7f ? '?' : c, out);
    }
}

void bw_md_text(FILE *out, const char *text)
{
    fputs("| ", out);
    bw_md_words(out, text);
    fputc(' ', out);
}

void bw_md_count(FILE *out, uint64_t number)
{
    fprintf(out, "| %llu ", (unsigned long long)number);
}

void bw_md_number(FILE *out, double value, int digits)
{
    if (isfinite(value)) {
        fprintf(out, "| %.*f ", digits, value);
    } else {
        fputs("| N/A ", out);
    }
}

void bw_md_percent(FILE *out, double value)
{
    if (isfinite(value)) {
        fprintf(out, "| %+.1f %% ", value);
    } else {
        fputs("| N/A ", out);
    }
}

void bw_md_end(FILE *out)
{
    fputs("|\n", out);
}

void bw_md_header(FILE *out, const char *columns)
{
    size_t count = 1;

    fputs("| ", out);
    for (const char *c = columns; *c != '\0'; c++) {
        count += *c == '|';
        fputs(*c == '|' ? " | " : (const char[]){*c, '\0'}, out);
    }
    fputs(" |\n|", out);
    for (size_t i = 0; i < count; i++) {
        fputs("---|", out);
    }
    fputc('\n', out);
}
