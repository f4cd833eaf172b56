/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_GOLDEN_H
#define BW_GOLDEN_H

#include "report_fixture.h"

/*
 * Compare with tests/golden/NAME, byte by byte; only versions are replaced.
 * BWTOOL_GOLDEN_UPDATE=1 at the start writes the files instead.
 */

/* To be asked at the start: tests empty the environment. */
static inline bool golden_is_update(void)
{
    const char *value = getenv("BWTOOL_GOLDEN_UPDATE");

    return value != NULL && strcmp(value, "1") == 0;
}

/* Replace each `from` that follows `before`; the caller frees the result, `text` is freed. */
static inline char *golden_replace(char *text, const char *before, const char *from, const char *to)
{
    char *out = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&out, &bytes);
    char *pattern = NULL;
    const char *at = text;
    const char *hit = NULL;

    if (stream == NULL || asprintf(&pattern, "%s%s", before, from) < 0) {
        abort();
    }
    while ((hit = strstr(at, pattern)) != NULL) {
        fprintf(stream, "%.*s%s%s", (int)(hit - at), at, before, to);
        at = hit + strlen(pattern);
    }
    fputs(at, stream);
    fclose(stream);
    free(pattern);
    free(text);
    return out;
}

static inline char *golden_without_versions(char *text)
{
    text = golden_replace(text, "bwtool Version: ", bw_words_version, "@VERSION@");
    text = golden_replace(text, "\"version\": \"", bw_words_version, "@VERSION@");
    text = golden_replace(text, "Built from Git version: ", bw_words_git_version, "@GIT@");
    return golden_replace(text, "\"git_version\": \"", bw_words_git_version, "@GIT@");
}

/* The file's text, the caller frees it; NULL if there is none. */
static inline char *golden_read(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t bytes = 0;

    if (file == NULL) {
        return NULL;
    }
    text = calloc(1, FIXTURE_TEXT_BYTES);
    if (text == NULL) {
        abort();
    }
    bytes = fread(text, 1, FIXTURE_TEXT_BYTES - 1, file);
    text[bytes] = '\0';
    fclose(file);
    return text;
}

static inline void golden_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        abort();
    }
}

static inline void golden_show_difference(const char *path, const char *expected, const char *text)
{
    int line = 1;

    while (*text != '\0' && strcspn(text, "\n") == strcspn(expected, "\n") &&
           strncmp(text, expected, strcspn(text, "\n")) == 0) {
        text += strcspn(text, "\n");
        expected += strcspn(expected, "\n");
        text += *text == '\n';
        expected += *expected == '\n';
        line++;
    }
    fprintf(stderr, "%s:%d: expected \"%.*s\", got \"%.*s\"\n", path, line,
            (int)strcspn(expected, "\n"), expected, (int)strcspn(text, "\n"), text);
}

/* True if `text`, which is freed, is what the file has; says where it is not. */
static inline bool golden_matches(const char *name, char *text, bool is_update)
{
    char path[1024];
    char *expected = NULL;
    bool is_same = false;

    snprintf(path, sizeof path, "%s/golden/%s", BWTOOL_TESTS_DIR, name);
    text = golden_without_versions(text);
    if (is_update) {
        golden_write(path, text);
    }
    expected = golden_read(path);
    is_same = expected != NULL && strcmp(expected, text) == 0;
    if (!is_same) {
        golden_show_difference(path, expected != NULL ? expected : "", text);
    }
    free(expected);
    free(text);
    return is_same;
}

#endif
