/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Each fuzzer is this one function; libFuzzer or driver.c calls it again and again. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* What must hold whatever the input is. */
#define MUST(condition)                                                                    \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stdout, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            fflush(stdout);                                                                \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

/* What the tool says of bad input is not for a terminal. */
static inline void fuzz_be_quiet(void)
{
    FILE *nowhere = fopen("/dev/null", "w");

    if (nowhere != NULL) {
        stderr = nowhere;
    }
}

/* Words between newlines, as argv with a name in front; `text` is changed. Ends with NULL. */
static inline int fuzz_words(char *text, char **words, int room)
{
    int count = 0;
    char *rest = text;

    words[count++] = (char *)(uintptr_t) "bwtool";
    while (*rest != '\0' && count < room - 1) {
        char *end = rest;

        while (*end != '\0' && *end != '\n') {
            end++;
        }
        words[count++] = rest;
        rest = *end == '\0' ? end : end + 1;
        *end = '\0';
    }
    words[count] = NULL;
    return count;
}

static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1);

    MUST(text != NULL);
    for (size_t i = 0; i < size; i++) {
        text[i] = (char)data[i];
    }
    return text;
}

#endif
