/* SPDX-License-Identifier: Apache-2.0 */
#include "baseline.h"

#include "bwtool/compare.h"
#include "bwtool/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, EXIT_BELOW = 4, EXIT_UNRELIABLE = 5 };

int bw_compare(const struct bw_options *options)
{
    struct bw_compare_result result = {0};
    char *first = strdup(options->compare);
    char *comma = first == NULL ? NULL : strchr(first, ',');
    enum bw_status st = BW_OK;

    if (comma == NULL) {
        free(first);
        (void)bw_errno("no memory for the names of two files");
        return EXIT_FAILURE;
    }
    *comma = '\0';
    st = bw_compare_files(first, comma + 1, options->json, stdout, &result);
    free(first);
    if (st != BW_OK) {
        return st == BW_ERR_USAGE ? EXIT_USAGE : EXIT_FAILURE;
    }
    if (result.failed > 0) {
        return EXIT_FAILURE;
    }
    if (result.refused > 0) {
        bw_error("--compare: %u of %u cases have no partner that is like them", result.refused,
                 result.refused + result.compared);
        return EXIT_USAGE;
    }
    if (result.unreliable > 0) {
        bw_warn(
            "--compare: %u cases are unreliable on one side, and not judged: measure them again",
            result.unreliable);
    }
    return result.below > 0 ? EXIT_BELOW : result.unreliable > 0 ? EXIT_UNRELIABLE : EXIT_SUCCESS;
}
