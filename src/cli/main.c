/* SPDX-License-Identifier: Apache-2.0 */
#include "run.h"

#include "bwtool/log.h"
#include "bwtool/options.h"
#include "bwtool/report.h"
#include "bwtool/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

/* What needs no GPU and no measuring. True if that was all that was asked for. */
static bool answer_at_once(const struct bw_options *options, const struct bw_world *world)
{
    if (!options->help && !options->version && !options->list) {
        return false;
    }
    if (!bw_world_is_root(world)) {
        return true;
    }
    if (options->help) {
        bw_options_help(stdout);
    } else if (options->version) {
        bw_report_version(stdout);
    } else {
        bw_report_list(stdout, options->json);
    }
    return true;
}

int main(int argc, char **argv)
{
    struct bw_options options;
    struct bw_world world = {0};
    int status = EXIT_USAGE;

    if (bw_options_parse(&options, argc, argv) == BW_OK) {
        bw_log_init(options.json, options.verbose);
        if (bw_world_open_all(&world, &argc, &argv) != BW_OK) {
            status = EXIT_FAILURE;
        } else if (answer_at_once(&options, &world)) {
            status = EXIT_SUCCESS;
        } else if (options.dry_run) {
            status = bw_dry_run(&options, &world);
        } else {
            status = bw_run_all(&options, &world, argc, argv);
        }
        bw_world_close_all(&world);
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
