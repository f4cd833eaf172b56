/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_LOG_H
#define BW_LOG_H

#include "status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Messages to the person who runs the tool, a line each, on stderr. All of
 * them are also kept for the JSON record. Safe to call from several threads.
 */

enum bw_log_level { LOG_ERROR, LOG_WARNING, LOG_NOTE, LOG_VERBOSE };

/*
 * `quiet` keeps warnings and notes off stderr (they still are recorded: JSON
 * output shall be all there is to see when nothing failed); `verbose` shows
 * LOG_VERBOSE.
 */
void bw_log_init(bool quiet, bool verbose);

/* From now on nothing is shown, only kept: for a process that tells another one what it found. */
void bw_log_mute(void);

/* Put "rank R (HOST): " in front of every line. `host` is copied. */
void bw_log_set_rank(int rank, const char *host);

/* LOG_VERBOSE lines say when: "at 0.412 s: ...". Messages have no trailing full stop or newline,
 * and start in lower case. */
void bw_log(enum bw_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define bw_error(...)   bw_log(LOG_ERROR, __VA_ARGS__)
#define bw_warn(...)    bw_log(LOG_WARNING, __VA_ARGS__)
#define bw_note(...)    bw_log(LOG_NOTE, __VA_ARGS__)
#define bw_verbose(...) bw_log(LOG_VERBOSE, __VA_ARGS__)

/* Log the message followed by the text of errno: BW_ERR_SYSTEM or, for ENOMEM, BW_ERR_MEMORY. */
#define bw_errno(...) (bw_log_errno(__VA_ARGS__) ? BW_ERR_MEMORY : BW_ERR_SYSTEM)
bool bw_log_errno(const char *format, ...) __attribute__((format(printf, 1, 2))); /* ENOMEM? */

/* The record so far: count, and each by index in the order they were logged. Text is the log's own.
 */
size_t bw_log_count(void);
enum bw_log_level bw_log_level_at(size_t index);
const char *bw_log_text_at(size_t index);

/*
 * The first error since bw_log_mark() (or since the start), for use as the
 * reason of what failed; NULL if there was none. Valid until the next mark.
 */
void bw_log_mark(void);
const char *bw_log_reason(void);

/* Errors logged since the start. */
size_t bw_log_error_count(void);

/* Forget everything; for the end of the program and for tests. */
void bw_log_fini(void);

#endif
