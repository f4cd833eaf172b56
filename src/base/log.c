/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/log.h"

#include "bwtool/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 4096 };

struct entry {
    enum bw_log_level level;
    char *text;
};

/* The one place of the program that is global on purpose: messages come from anywhere. */
static struct {
    pthread_mutex_t lock;
    bool quiet, verbose, muted;
    uint64_t start_ns;
    char rank[320]; /* "rank 3 (host): ", or "" */
    struct entry *entries;
    size_t count, room;
    size_t error_count;
    bool has_reason;
    char reason[TEXT_BYTES]; /* not an entry: it must be there also when memory is not */
} record = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *level_word(enum bw_log_level level)
{
    switch (level) {
    case LOG_ERROR:
        return "error: ";
    case LOG_WARNING:
        return "warning: ";
    case LOG_NOTE:
        return "note: ";
    case LOG_VERBOSE:
        return "";
    }
    return "";
}

static bool is_shown(enum bw_log_level level)
{
    if (record.muted) {
        return false;
    }
    switch (level) {
    case LOG_ERROR:
        return true;
    case LOG_WARNING:
    case LOG_NOTE:
        return !record.quiet;
    case LOG_VERBOSE:
        return record.verbose && !record.quiet;
    }
    return true;
}

/* Bytes of the well-formed UTF-8 character at `text`; 0 if there is none. */
static size_t utf8_bytes(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    const size_t bytes = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;

    if (c[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* longer than need be, surrogates, above U+10FFFF */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f)) {
        return 0;
    }
    return bytes;
}

/*
 * A message is one line that a terminal and JSON can take, whatever the words
 * in it are: a user's, a driver's, or one that was cut in the middle.
 */
static void flatten(char *text)
{
    while (*text != '\0') {
        const size_t bytes = utf8_bytes(text);
        const unsigned char c = (unsigned char)*text;

        if (c == '\t' || c == '\n') {
            *text = ' ';
        } else if (bytes == 0 || c < 0x20 || c == 0x7f) {
            *text = '?';
        }
        text += bytes > 0 ? bytes : 1;
    }
}

__attribute__((format(printf, 2, 0))) static void format_text(char text[static TEXT_BYTES],
                                                              const char *format, va_list args)
{
    const int length = vsnprintf(text, TEXT_BYTES, format, args);

    if (length < 0) {
        snprintf(text, TEXT_BYTES, "a message that cannot be formatted: %.200s", format);
    } else if (length >= TEXT_BYTES) {
        memcpy(text + TEXT_BYTES - 4, "...", 4); /* may split a character: flatten() sees to it */
    }
    flatten(text);
}

/* One write a line, so that the lines of several processes do not mix. */
static void show(enum bw_log_level level, const char *text)
{
    char line[TEXT_BYTES + 512];
    const int length =
        snprintf(line, sizeof line, "bwtool: %s%s%s\n", level_word(level), record.rank, text);

    if (length > 0) {
        fwrite(line, 1, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1, stderr);
    }
}

/* Without memory the message is not kept; it was shown, and counts. */
static void keep(enum bw_log_level level, const char *text)
{
    char *copy = NULL;

    if (record.count == record.room) {
        const size_t room = record.room > 0 ? 2 * record.room : 16;
        struct entry *entries = realloc(record.entries, room * sizeof *entries);

        if (entries == NULL) {
            return;
        }
        record.entries = entries;
        record.room = room;
    }
    copy = strdup(text);
    if (copy != NULL) {
        record.entries[record.count++] = (struct entry){.level = level, .text = copy};
    }
}

/* Details say when they happened, since bw_log_init(). */
static void put_time(char text[static TEXT_BYTES])
{
    char when[32];
    const int length = snprintf(when, sizeof when,
                                "at %.3f s: ", (double)(bw_clock_ns() - record.start_ns) * 1e-9);
    const size_t room = TEXT_BYTES - (size_t)length - 1;
    const size_t bytes = strnlen(text, room);

    memmove(text + length, text, bytes);
    memcpy(text, when, (size_t)length);
    text[(size_t)length + bytes] = '\0';
}

__attribute__((format(printf, 2, 0))) static void log_args(enum bw_log_level level,
                                                           const char *format, va_list args)
{
    char text[TEXT_BYTES];

    format_text(text, format, args);
    if (level == LOG_VERBOSE) {
        put_time(text);
    }
    pthread_mutex_lock(&record.lock);
    if (is_shown(level)) {
        show(level, text);
    }
    keep(level, text);
    if (level == LOG_ERROR) {
        record.error_count++;
        if (!record.has_reason) {
            memcpy(record.reason, text, sizeof text);
            record.has_reason = true;
        }
    }
    pthread_mutex_unlock(&record.lock);
}

void bw_log_init(bool quiet, bool verbose)
{
    pthread_mutex_lock(&record.lock);
    record.quiet = quiet;
    record.verbose = verbose;
    record.start_ns = bw_clock_ns();
    pthread_mutex_unlock(&record.lock);
}

void bw_log_mute(void)
{
    pthread_mutex_lock(&record.lock);
    record.muted = true;
    pthread_mutex_unlock(&record.lock);
}

void bw_log_set_rank(int rank, const char *host)
{
    pthread_mutex_lock(&record.lock);
    snprintf(record.rank, sizeof record.rank, "rank %d (%.255s): ", rank, host);
    pthread_mutex_unlock(&record.lock);
}

void bw_log(enum bw_log_level level, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    log_args(level, format, args);
    va_end(args);
}

bool bw_log_errno(const char *format, ...)
{
    const int number = errno;
    char what[TEXT_BYTES];
    char reason[256];
    va_list args;

    va_start(args, format);
    format_text(what, format, args);
    va_end(args);
    bw_error("%s: %s", what, strerror_r(number, reason, sizeof reason));
    return number == ENOMEM;
}

size_t bw_log_count(void)
{
    size_t count = 0;

    pthread_mutex_lock(&record.lock);
    count = record.count;
    pthread_mutex_unlock(&record.lock);
    return count;
}

enum bw_log_level bw_log_level_at(size_t index)
{
    enum bw_log_level level = LOG_VERBOSE;

    pthread_mutex_lock(&record.lock);
    if (index < record.count) {
        level = record.entries[index].level;
    }
    pthread_mutex_unlock(&record.lock);
    return level;
}

const char *bw_log_text_at(size_t index)
{
    const char *text = "";

    pthread_mutex_lock(&record.lock);
    if (index < record.count) {
        text = record.entries[index].text;
    }
    pthread_mutex_unlock(&record.lock);
    return text;
}

void bw_log_mark(void)
{
    pthread_mutex_lock(&record.lock);
    record.has_reason = false;
    pthread_mutex_unlock(&record.lock);
}

const char *bw_log_reason(void)
{
    const char *reason = NULL;

    pthread_mutex_lock(&record.lock);
    reason = record.has_reason ? record.reason : NULL;
    pthread_mutex_unlock(&record.lock);
    return reason;
}

size_t bw_log_error_count(void)
{
    size_t count = 0;

    pthread_mutex_lock(&record.lock);
    count = record.error_count;
    pthread_mutex_unlock(&record.lock);
    return count;
}

void bw_log_fini(void)
{
    pthread_mutex_lock(&record.lock);
    for (size_t i = 0; i < record.count; i++) {
        free(record.entries[i].text);
    }
    free(record.entries);
    record.entries = NULL;
    record.count = 0;
    record.room = 0;
    record.error_count = 0;
    record.has_reason = false;
    record.rank[0] = '\0';
    record.quiet = record.muted = false;
    record.verbose = false;
    pthread_mutex_unlock(&record.lock);
}
