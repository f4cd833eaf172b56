/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_STUB_H
#define BW_STUB_H

#include "unit.h"

#include "bwtool/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * Libraries that a test plays, and the test program itself run again to load
 * them: the loader reads LD_LIBRARY_PATH when a program starts.
 */

/* A new empty folder, for the life of the test program. */
static inline char *stub_folder(void)
{
    const char *base = getenv("TMPDIR");
    char *path = bw_text_format("%s/bwtool-test-XXXXXX", base != NULL ? base : "/tmp");

    assert_non_null(path);
    assert_non_null(mkdtemp(path));
    return path;
}

static inline void stub_remove(char *folder)
{
    char *command = bw_text_format("rm -rf '%s'", folder);

    assert_int_equal(system(command), 0);
    free(command);
    free(folder);
}

static inline void stub_write(const char *folder, const char *name, const char *text)
{
    char *path = bw_text_format("%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

/* mkdir -p FOLDER/NAME, then the file in it. */
static inline void stub_write_deep(const char *folder, const char *sub, const char *name,
                                   const char *text)
{
    char *path = bw_text_format("%s/%s", folder, sub);
    char *command = bw_text_format("mkdir -p '%s'", path);

    assert_int_equal(system(command), 0);
    stub_write(path, name, text);
    free(command);
    free(path);
}

/* FOLDER/SONAME from the C text in FOLDER/stub.c. */
static inline void stub_build(const char *folder, const char *soname)
{
    char *command =
        bw_text_format("${CC:-cc} -w -shared -fPIC -o '%s/%s' '%s/stub.c'", folder, soname, folder);

    assert_int_equal(system(command), 0);
    free(command);
}

/*
 * This program again with the argument `mode`: its exit status, and in
 * `output` what it said. `env` is "NAME=value NAME=value".
 */
static inline int stub_run(const char *folder, const char *env, const char *mode, char *output,
                           size_t bytes)
{
    char self[4096] = "";
    char *command = NULL;
    FILE *pipe = NULL;
    size_t length = 0;
    int status = 0;

    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    command = bw_text_format("LD_LIBRARY_PATH='%s' %s '%s' %s 2>&1", folder, env, self, mode);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    length = fread(output, 1, bytes - 1, pipe);
    output[length] = '\0';
    while (fgetc(pipe) != EOF) {
    }
    status = pclose(pipe);
    free(command);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Shows what was said where it is not what was wanted. */
#define assert_says(output, words)                                             \
    do {                                                                       \
        if (strstr((output), (words)) == NULL) {                               \
            fail_msg("\"%s\" is not in what was said: %s", (words), (output)); \
        }                                                                      \
    } while (0)

static inline size_t stub_lines(const char *output)
{
    size_t lines = 0;

    for (; *output != '\0'; output++) {
        lines += *output == '\n';
    }
    return lines;
}

#endif
