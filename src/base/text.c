/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

char *bw_text_format(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int length = 0;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    return length < 0 ? NULL : text;
}

char *bw_text_reason(const char *format, ...)
{
    enum { SPARE_BYTES = 200 };
    static char *spare;
    char *text = NULL;
    va_list args;
    int length = 0;

    if (spare == NULL) {
        spare = malloc(SPARE_BYTES);
    }
    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length >= 0) {
        return text;
    }
    text = spare;
    spare = NULL;
    if (text != NULL) {
        va_start(args, format);
        (void)vsnprintf(text, SPARE_BYTES, format, args);
        va_end(args);
    }
    return text;
}
