/* SPDX-License-Identifier: Apache-2.0 */
#include "baseline.h"
#include "run.h"

#include "bwtool/log.h"
#include "bwtool/operators.h"
#include "bwtool/options.h"
#include "bwtool/report.h"
#include "bwtool/select.h"
#include "bwtool/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

/* All that are known, also beside one that is not. */
static int explain(const struct bw_options *options)
{
    struct bw_selection selection = {0};
    const enum bw_status st = bw_selection_find(&selection, &options->explain);

    for (size_t i = 0; i < selection.count; i++) {
        if (selection.choices[i].index >= 0) {
            bw_report_explain(stdout, bw_all_at((size_t)selection.choices[i].index));
        }
    }
    bw_selection_free(&selection);
    return st == BW_OK ? EXIT_SUCCESS : st == BW_ERR_USAGE ? EXIT_USAGE : EXIT_FAILURE;
}

/* What needs no GPU and no measuring. True if that was all that was asked for. */
static bool answer_at_once(const struct bw_options *options, const struct bw_world *world,
                           int *status)
{
    *status = EXIT_SUCCESS;
    if (!options->help && !options->version && !options->list && options->explain.count == 0) {
        return false;
    }
    if (!bw_world_is_root(world)) {
        return true;
    }
    if (options->help) {
        bw_options_help(stdout);
    } else if (options->version) {
        bw_report_version(stdout);
    } else if (options->explain.count != 0) {
        *status = explain(options);
    } else {
        bw_report_list(stdout, options->json);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct bw_options options;
    struct bw_world world = {0};
    const enum bw_status parsed = bw_options_parse(&options, argc, argv);
    int status = EXIT_USAGE;

    if (parsed == BW_OK && options.has_baseline_fd) {
        status = bw_baseline_tell_all(&options); /* no rank, whoever has started it */
    } else if (parsed == BW_OK && options.compare != NULL) {
        bw_log_init(options.json, options.verbose);
        status = bw_compare(&options);
    } else if (parsed == BW_OK) {
        bw_log_init(options.json, options.verbose);
        if (bw_world_open_all(&world, &argc, &argv) != BW_OK) {
            status = EXIT_FAILURE;
        } else if (answer_at_once(&options, &world, &status)) {
            /* done */
        } else if (options.dry_run) {
            status = bw_dry_run(&options, &world);
        } else {
            status = bw_run_all(&options, &world, argc, argv);
        }
        bw_world_close_all(&world);
    } else if (parsed != BW_ERR_USAGE) {
        status = EXIT_FAILURE; /* the words were right, and there was no memory for them */
    }
    bw_options_free(&options);
    /* The writers flush too, and then only ferror() remembers. */
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && status == EXIT_SUCCESS) {
        bw_error("standard output could not be written");
        status = EXIT_FAILURE;
    }
    if (bw_run_must_not_unload()) {
        /* A driver with a hung stream waits for it when it is unloaded. */
        _exit(status);
    }
    bw_log_fini();
    return status;
}
