/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/text.h"

#include <stdarg.h>
#include <stdio.h>

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
