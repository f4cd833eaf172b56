/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_TEXTS_H
#define BW_TEXTS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Instead of the C library's own: a text for which there is no memory. */

static unsigned long failing_text; /* the so many-th from now on; 0: none; NO_TEXTS: all */

#define NO_TEXTS (~0UL)

static inline char *text_room(size_t bytes)
{
    if (failing_text == NO_TEXTS) {
        return NULL;
    }
    return failing_text > 0 && --failing_text == 0 ? NULL : malloc(bytes);
}

char *strdup(const char *text)
{
    char *copy = text_room(strlen(text) + 1);

    return copy == NULL ? NULL : strcpy(copy, text);
}

int vasprintf(char **text, const char *format, va_list args)
{
    va_list again;
    int length = 0;

    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    *text = text_room((size_t)length + 1);
    return *text == NULL ? -1 : vsnprintf(*text, (size_t)length + 1, format, args);
}

/* What the above is called where the C library's functions are hardened. */
int __vasprintf_chk(char **text, int flag, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
int __vasprintf_chk(char **text, int flag, const char *format, va_list args)
{
    (void)flag;
    return vasprintf(text, format, args);
}

#endif
