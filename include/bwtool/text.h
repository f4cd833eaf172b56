/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_TEXT_H
#define BW_TEXT_H

/* A string made by printf; the caller frees it. NULL if out of memory. */
char *bw_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * The same for texts that say something by being there, such as why a testcase
 * is waived: without memory it is what was kept aside for this, cut if need
 * be. NULL only if that is not there either. One thread at a time.
 */
char *bw_text_reason(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
