/* SPDX-License-Identifier: Apache-2.0 */
#include "json_value.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* jansson passes NULL on without a word, in the depth of a tree: remembered until it is printed. */
static bool is_spoilt;

json_t *bw_json_text(const char *text)
{
    json_t *value = NULL;
    char *escaped = NULL;
    size_t length = 0;

    if (text == NULL) {
        return json_null();
    }
    value = json_string(text);
    if (value != NULL) {
        return value;
    }
    escaped = malloc(4 * strlen(text) + 1);
    if (escaped == NULL) {
        return NULL;
    }
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;

        if (c < 0x80) {
            escaped[length++] = (char)c;
        } else {
            length += (size_t)snprintf(escaped + length, 5, "\\x%02x", c);
        }
    }
    escaped[length] = '\0';
    value = json_string(escaped);
    free(escaped);
    return value;
}

json_t *bw_json_made(const char *text)
{
    return text == NULL ? NULL : bw_json_text(text);
}

json_t *bw_json_text_or_null(const char *text)
{
    return text == NULL || text[0] == '\0' ? json_null() : bw_json_text(text);
}

const char *bw_json_text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

/* Printed with fewer digits than it has, the largest double would be more than any. */
static const double largest = DBL_MAX * (1 - 1e-14);

json_t *bw_json_real(double value)
{
    return fabs(value) <= largest ? json_real(value) : json_null();
}

json_t *bw_json_count(uint64_t value)
{
    return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

void bw_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) {
        is_spoilt = true;
    }
}

void bw_json_add(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) {
        is_spoilt = true;
    }
}

/* Text that grows. */
struct pen {
    char *text;
    size_t length, room;
    bool has_failed;
};

/* Not jansson's own strings: after a failed allocation they lack a piece, and nothing says so. */
static int write_piece(const char *piece, size_t bytes, void *data)
{
    struct pen *pen = data;

    if (pen->room - pen->length <= bytes) {
        const size_t room = 2 * (pen->room + bytes) + 4096;
        char *more = realloc(pen->text, room);

        if (more == NULL) {
            pen->has_failed = true; /* not every caller in jansson looks at what is returned */
            return -1;
        }
        pen->text = more;
        pen->room = room;
    }
    memcpy(pen->text + pen->length, piece, bytes);
    pen->length += bytes;
    pen->text[pen->length] = '\0';
    return 0;
}

bool bw_json_print(FILE *out, const json_t *document)
{
    const size_t flags = JSON_INDENT(1) | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15);
    const bool was_spoilt = is_spoilt;
    struct pen pen = {0};
    bool is_margin = true;

    is_spoilt = false;
    if (was_spoilt || json_dump_callback(document, write_piece, &pen, flags) != 0 ||
        pen.has_failed || pen.text == NULL) {
        free(pen.text);
        return false;
    }
    /* One blank a level is what jansson can do; texts hold no newline, they are escaped. */
    for (const char *c = pen.text; *c != '\0'; c++) {
        if (*c == '\n') {
            is_margin = true;
        } else if (*c != ' ') {
            is_margin = false;
        }
        fputc(is_margin && *c == ' ' ? '\t' : *c, out);
    }
    fputc('\n', out);
    free(pen.text);
    return true;
}
