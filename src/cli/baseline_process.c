/* SPDX-License-Identifier: Apache-2.0 */
/* The side that starts the baseline's process and listens to it. Nothing here can wait for ever. */
#include "baseline_process.h"

#include "bwtool/baseline_json.h"
#include "bwtool/clock.h"
#include "bwtool/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Where the other process finds its end of the pipe; the marker of its command line says so. */
enum { TELL_FD = 3 };
/* What a point takes in JSON is some 10 KiB with many ranks: more than this is no line of ours. */
enum { LINE_BYTES_MAX = 1 << 20 };
/* After its last word it gives the GPUs back, and no more. */
static const uint64_t end_patience_ns = 30ULL * 1000 * 1000 * 1000;

struct listener {
    struct bw_baseline *baseline;
    pid_t child;
    int fd;
    uint64_t patience_ns;
    char *text; /* what has come and is no whole line yet */
    size_t length, room;
    bool has_ended; /* its last line has come */
};

static void give_reason(struct bw_baseline *baseline, const char *text)
{
    if (baseline->reason[0] == '\0') {
        (void)snprintf(baseline->reason, sizeof(baseline->reason), "%s", text);
    }
}

/* The same words, and first of all what makes it the other one. */
static char **words_of(int argc, char **argv)
{
    char **words = calloc((size_t)argc + 3, sizeof(*words));
    static char option[] = "--baseline-fd";
    static char number[] = "3";

    if (words == NULL) {
        return NULL;
    }
    words[0] = argv[0];
    words[1] = option;
    words[2] = number;
    for (int i = 1; i < argc; i++) {
        words[i + 2] = argv[i];
    }
    return words;
}

/* Its results come through a descriptor; what NCCL itself prints is no result of ours. */
static int spawn(struct listener *l, int write_end, int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    char **words = words_of(argc, argv);
    int res = words == NULL ? ENOMEM : posix_spawn_file_actions_init(&actions);

    if (res == 0) {
        res = posix_spawn_file_actions_adddup2(&actions, write_end, TELL_FD);
        res = res == 0 ? posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)
                       : res;
        res = res == 0 ? posix_spawn(&l->child, "/proc/self/exe", &actions, NULL, words, environ)
                       : res;
        (void)posix_spawn_file_actions_destroy(&actions);
    }
    free(words);
    return res;
}

static bool start(struct listener *l, int argc, char **argv)
{
    int ends[2] = {-1, -1};
    int res = pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
    char text[160];

    res = res == 0 ? spawn(l, ends[1], argc, argv) : res;
    if (ends[1] >= 0) {
        (void)close(ends[1]);
    }
    l->fd = ends[0];
    if (res != 0) {
        (void)snprintf(text, sizeof(text), "its process could not be started: %s", strerror(res));
        give_reason(l->baseline, text);
    }
    return res == 0;
}

static bool take_start(struct bw_baseline *baseline, const json_t *start)
{
    const char *version = json_string_value(json_object_get(start, "nccl_version"));
    const char *nvls = json_string_value(json_object_get(start, "nvls"));

    if (version == NULL || nvls == NULL) {
        return false;
    }
    (void)snprintf(baseline->version, sizeof(baseline->version), "%s", version);
    (void)snprintf(baseline->nvls, sizeof(baseline->nvls), "%s", nvls);
    return true;
}

static bool take_end(struct listener *l, const json_t *end)
{
    const char *reason = json_string_value(json_object_get(end, "reason"));

    if (reason == NULL) {
        return false;
    }
    l->has_ended = true;
    l->baseline->is_absent = json_is_true(json_object_get(end, "absent"));
    if (!json_is_true(json_object_get(end, "ok"))) {
        give_reason(l->baseline, reason);
    }
    return true;
}

/* A line of its own form; all else is a mistake. */
static bool take_line(struct listener *l, const char *text, size_t bytes)
{
    json_t *line = json_loadb(text, bytes, 0, NULL);
    const json_t *start = json_object_get(line, "start");
    const json_t *point = json_object_get(line, "point");
    const json_t *end = json_object_get(line, "end");
    bool is_good = false;

    if (start != NULL) {
        is_good = take_start(l->baseline, start);
    } else if (end != NULL) {
        is_good = take_end(l, end);
    } else if (point != NULL) {
        struct bw_baseline_point *room = bw_baseline_add(l->baseline);

        is_good = room != NULL && bw_baseline_point_parse(point, room);
        if (!is_good && room != NULL) {
            l->baseline->count--;
        }
    }
    json_decref(line);
    if (!is_good) {
        char what[BW_BASELINE_REASON];

        (void)snprintf(what, sizeof(what), "its process told what is no such line: '%.*s'",
                       (int)(bytes < 80 ? bytes : 80), text);
        give_reason(l->baseline, what);
    }
    return is_good;
}

static bool take_lines(struct listener *l)
{
    char *from = l->text;
    char *newline = NULL;

    while ((newline = memchr(from, '\n', l->length)) != NULL) {
        const size_t bytes = (size_t)(newline - from);

        if (!take_line(l, from, bytes)) {
            return false;
        }
        l->length -= bytes + 1;
        from = newline + 1;
    }
    memmove(l->text, from, l->length);
    return true;
}

/* True if there may be more. */
static bool take_in(struct listener *l)
{
    ssize_t got = 0;

    if (l->room - l->length < 4096) {
        char *more = l->room < LINE_BYTES_MAX ? realloc(l->text, 2 * l->room + 8192) : NULL;

        if (more == NULL) {
            give_reason(l->baseline, "its process told a line that is too long");
            return false;
        }
        l->text = more;
        l->room = 2 * l->room + 8192;
    }
    got = read(l->fd, l->text + l->length, l->room - l->length);
    if (got < 0 && errno == EINTR) {
        return true;
    }
    if (got <= 0) {
        return false;
    }
    l->length += (size_t)got;
    return take_lines(l);
}

/* Until it says no more: each thing that it says gives it as much time again. */
static void listen_to(struct listener *l)
{
    uint64_t deadline_ns = bw_clock_ns() + l->patience_ns;
    char text[120];

    for (;;) {
        const uint64_t now_ns = bw_clock_ns();
        const uint64_t left_ms = now_ns < deadline_ns ? (deadline_ns - now_ns) / 1000000 + 1 : 0;
        struct pollfd waited = {.fd = l->fd, .events = POLLIN};
        const int res = left_ms == 0 ? 0 : poll(&waited, 1, left_ms < 1000 ? (int)left_ms : 1000);

        if (left_ms == 0) {
            (void)snprintf(text, sizeof(text), "its process said nothing for %.0f s, and was ended",
                           (double)l->patience_ns * 1e-9);
            give_reason(l->baseline, text);
            return;
        }
        if (res > 0) {
            if (!take_in(l)) {
                return;
            }
            deadline_ns = bw_clock_ns() + l->patience_ns;
        }
    }
}

/* True once it is gone; its status is told where nothing else was. */
static bool reap(struct listener *l, uint64_t patience_ns)
{
    const uint64_t deadline_ns = bw_clock_ns() + patience_ns;
    char text[120];
    int status = 0;
    pid_t got = 0;

    while ((got = waitpid(l->child, &status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
        if (bw_clock_ns() > deadline_ns) {
            return false;
        }
        bw_clock_sleep_us(2000);
    }
    if (got == l->child && WIFSIGNALED(status)) {
        (void)snprintf(text, sizeof(text), "its process was ended by signal %d (%s)",
                       WTERMSIG(status), strsignal(WTERMSIG(status)));
        give_reason(l->baseline, text);
    } else if (got == l->child && !l->has_ended) {
        (void)snprintf(text, sizeof(text), "its process ended with status %d before it was through",
                       WEXITSTATUS(status));
        give_reason(l->baseline, text);
    }
    return true;
}

/* Whatever happened: no process of ours stays behind, and none is waited for without end. */
static void end(struct listener *l)
{
    const bool is_well = l->has_ended || l->baseline->reason[0] == '\0';

    if (is_well && reap(l, end_patience_ns)) {
        return;
    }
    if (is_well) {
        give_reason(l->baseline, "its process did not end, and was ended");
    }
    (void)kill(l->child, SIGKILL);
    if (!reap(l, end_patience_ns)) {
        bw_warn("the baseline's process %d cannot be ended: it may still use the GPUs",
                (int)l->child);
    }
}

void bw_baseline_take(const struct bw_options *options, int argc, char **argv,
                      struct bw_baseline *baseline)
{
    struct listener l = {.baseline = baseline,
                         .fd = -1,
                         .patience_ns = options->baseline_patience_s * 1000000000ULL};

    if (start(&l, argc, argv)) {
        listen_to(&l);
        end(&l);
    }
    if (l.fd >= 0) {
        (void)close(l.fd);
    }
    free(l.text);
}
