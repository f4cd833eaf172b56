/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_OPTION_ERROR_H
#define BW_OPTION_ERROR_H

#include "option_table.h"

/* Internal to cli/: what is wrong with a command line, one line each. All return BW_ERR_USAGE. */

/* `spelling` is the option as it was written. */
enum bw_status bw_option_error_value(const struct bw_option *row, const char *spelling,
                                     const char *word);
enum bw_status bw_option_error_missing(const struct bw_option *row, const char *spelling);

/* No option has this letter. */
enum bw_status bw_option_error_letter(int letter);

/* "--name" or "--name=value": no option, or the beginning of several. */
enum bw_status bw_option_error_name(const char *word);

/* A word that belongs to no option, and the word before it. */
enum bw_status bw_option_error_positional(const char *before, const char *word);

/* Options that would change the cases of --suite, `seen` by their rows. BW_OK without it. */
enum bw_status bw_option_error_suite(const struct bw_options *options, const bool *seen);

#endif
