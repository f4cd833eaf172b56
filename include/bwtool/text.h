/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_TEXT_H
#define BW_TEXT_H

/* A string made by printf; the caller frees it. NULL if out of memory. */
char *bw_text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
