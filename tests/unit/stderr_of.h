/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_STDERR_OF_H
#define BW_STDERR_OF_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What is written to stderr between begin and end, for tests of messages. */

struct stderr_of {
    FILE *file;
    int saved;
};

static inline struct stderr_of stderr_begin(void)
{
    struct stderr_of of = {.file = tmpfile(), .saved = dup(STDERR_FILENO)};

    fflush(stderr);
    if (of.file == NULL || of.saved < 0 || dup2(fileno(of.file), STDERR_FILENO) < 0) {
        abort();
    }
    return of;
}

/* At most room - 1 bytes. */
static inline void stderr_end(struct stderr_of *of, char *text, size_t room)
{
    size_t bytes = 0;

    fflush(stderr);
    dup2(of->saved, STDERR_FILENO);
    close(of->saved);
    rewind(of->file);
    bytes = fread(text, 1, room - 1, of->file);
    text[bytes] = '\0';
    fclose(of->file);
}

#endif
