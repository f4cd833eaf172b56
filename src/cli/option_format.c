/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/report.h"
#include "option_table.h"

#include <string.h>

/* A file of its own: the writers know the driver's types, and the options need not. */
bool bw_options_pair_is_good(const char *text)
{
    const char *comma = strchr(text, ',');

    return comma != NULL && comma != text && comma[1] != '\0' && strchr(comma + 1, ',') == NULL;
}

bool bw_options_format_is_known(const char *name)
{
    return bw_report_find(name) != NULL;
}
