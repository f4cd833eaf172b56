/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_REPORT_JSON_VALUE_H
#define BW_REPORT_JSON_VALUE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Values that jansson would refuse have one here: NAN and infinities, texts
 * that are not UTF-8. A value that there was no memory for is NULL; to set or
 * add one spoils the document, so that bw_json_print() refuses it: rather none
 * than one with holes.
 */

/* null for NULL. Bytes of a text that is not UTF-8 become \xNN. */
json_t *bw_json_text(const char *text);
/* Of a text that had to be made: NULL for NULL, since there was no memory for it. */
json_t *bw_json_made(const char *text);
/* As bw_json_text, and null for "". */
json_t *bw_json_text_or_null(const char *text);

/* A member's text; "" where there is none. */
const char *bw_json_text_of(const json_t *object, const char *key);

/* null unless finite. */
json_t *bw_json_real(double value);

/* A count of bytes; what no JSON reader could hold as an integer becomes a real. */
json_t *bw_json_count(uint64_t value);

/* Both take the value over. */
void bw_json_set(json_t *object, const char *key, json_t *value);
void bw_json_add(json_t *array, json_t *value);

/*
 * Print a document: a line each value, tabs, ASCII, the outer brackets alone
 * on the first and last line. Numbers have up to 15 digits. False, and nothing
 * is printed, if there was not enough memory for any part of it.
 */
bool bw_json_print(FILE *out, const json_t *document);

#endif
