/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_MARKDOWN_H
#define BW_REPORT_MARKDOWN_H

#include <stdint.h>
#include <stdio.h>

/* Internal to report/: tables in Markdown. A row is bw_md_row(), its cells, and bw_md_end(). */

/* Names of columns, with '|' between them. */
void bw_md_header(FILE *out, const char *columns);

/* One cell. Text may be anything, NULL too: it cannot end the cell or the line. */
void bw_md_text(FILE *out, const char *text);
void bw_md_count(FILE *out, uint64_t number);
/* "N/A" for what is not known. */
void bw_md_number(FILE *out, double value, int digits);
void bw_md_percent(FILE *out, double value); /* with its sign: "+4.8 %" */
void bw_md_end(FILE *out);

/* Outside of a table, escaped likewise. */
void bw_md_words(FILE *out, const char *text);

#endif
