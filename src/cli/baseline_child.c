/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that measures NCCL and nothing else: all GPUs of the host, what
 * the same options choose. It tells the one that started it, a line of JSON at
 * a time, and shows nothing itself.
 */
#include "baseline.h"

#include "operators.h"
#include "run.h"

#include "bwtool/baseline_json.h"
#include "bwtool/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

struct teller {
    const struct bw_options *options;
    int fd;
    struct bw_selection selection;
    struct bw_world world;
    struct bw_topology *topology;
    struct bw_gpus gpus;
    struct bw_session session;
    struct bw_sampling sampling;
    struct bw_baseline_job *job;
};

static enum bw_status write_all(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t written = write(fd, text, bytes);

        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return bw_errno("cannot tell what was measured");
        }
        text += written;
        bytes -= (size_t)written;
    }
    return BW_OK;
}

/* Takes the value over. */
static enum bw_status tell_line(const struct teller *teller, const char *key, json_t *value)
{
    json_t *line = value == NULL ? NULL : json_pack("{s:o}", key, value);
    char *text = line == NULL ? NULL : json_dumps(line, JSON_COMPACT);
    enum bw_status st = BW_OK;

    json_decref(line);
    if (text == NULL) {
        return bw_errno("no memory for what was measured");
    }
    st = write_all(teller->fd, text, strlen(text));
    st = st == BW_OK ? write_all(teller->fd, "\n", 1) : st;
    free(text);
    return st;
}

static enum bw_status tell_point(void *to, const struct bw_baseline_point *point)
{
    return tell_line(to, "point", bw_baseline_point_json(point));
}

static enum bw_status tell_start(const struct teller *teller)
{
    struct bw_baseline about = {.points = NULL};

    bw_baseline_describe(teller->job, &about);
    return tell_line(teller, "start",
                     json_pack("{s:s, s:s}", "nccl_version", about.version, "nvls", about.nvls));
}

static enum bw_status tell_end(const struct teller *teller, enum bw_status st, const char *reason)
{
    const char *why = st == BW_OK ? "" : reason != NULL ? reason : "no reason is known";

    return tell_line(
        teller, "end",
        json_pack("{s:b, s:b, s:s}", "ok", st == BW_OK, "absent", st == BW_WAIVED, "reason", why));
}

static enum bw_status open_all(struct teller *teller)
{
    enum bw_status st = BW_OK;

    bw_world_open_single(&teller->world);
    TRY(bw_selection_build(&teller->selection, teller->options, 1, false));
    TRY(bw_topology_open(&teller->topology, NULL));
    TRY(bw_gpus_open(&teller->gpus));
    TRY(bw_session_open_all(&teller->session, &teller->world, teller->topology, &teller->gpus));
    TRY(bw_baseline_open(&teller->job, &teller->session));
out:
    return st;
}

static enum bw_status measure_all(struct teller *teller)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < teller->selection.count; i++) {
        const struct bw_choice *choice = &teller->selection.choices[i];
        const int index = choice->index;
        const struct bw_operator *row = index < 0 ? NULL : bw_operator_of(bw_all_at((size_t)index));

        if (row != NULL) {
            const struct bw_shmem_request request =
                bw_operator_request(teller->options, choice->suite);

            TRY(bw_baseline_measure(teller->job, row, &request, &teller->sampling, tell_point,
                                    teller));
        }
    }
out:
    return st;
}

static void close_all(struct teller *teller)
{
    bw_baseline_close(teller->job);
    bw_session_close_all(&teller->session);
    bw_gpus_close(&teller->gpus);
    bw_topology_close(teller->topology);
    bw_selection_free(&teller->selection);
}

/* Of the time that --max-time gives, half is the operators', which come behind it. */
static void set_sampling(struct bw_sampling *sampling, const struct bw_options *options)
{
    const bool is_alone = options->baseline != NULL && strcmp(options->baseline, "nccl-only") == 0;

    bw_run_sampling(sampling, options);
    if (!is_alone && options->max_time_s > 0) {
        sampling->deadline_ns -= options->max_time_s * 500000000ULL;
    }
}

int bw_baseline_tell_all(const struct bw_options *options)
{
    struct teller teller = {.options = options, .fd = (int)options->baseline_fd};
    enum bw_status st = BW_OK;
    enum bw_status told = BW_OK;
    const char *reason = NULL;

    if (fcntl(teller.fd, F_GETFD) < 0) {
        return EXIT_FAILURE; /* else what is opened next would be written to */
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* who would hear it? */
    bw_log_mute();
    bw_log_mark();
    set_sampling(&teller.sampling, options);
    if (options->no_multicast) {
        (void)setenv("NCCL_NVLS_ENABLE", "0", 1); /* it is never turned on */
    }
    st = open_all(&teller);
    reason = st == BW_OK ? NULL : bw_log_reason();
    told = tell_start(&teller);
    if (told == BW_OK && st == BW_OK) {
        st = measure_all(&teller);
        reason = st == BW_OK ? NULL : bw_log_reason();
    }
    told = told == BW_OK ? tell_end(&teller, st, reason) : told;
    if (bw_run_must_not_unload()) {
        _exit(EXIT_FAILURE); /* a hung stream is waited for when it is unloaded */
    }
    close_all(&teller);
    return st == BW_OK && told == BW_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
