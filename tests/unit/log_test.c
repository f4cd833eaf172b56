/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/text.h"

#include "stderr_of.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static int reset(void **state)
{
    (void)state;
    bw_log_fini();
    return 0;
}

static void say_one_of_each(void)
{
    bw_error("an error of %d", 1);
    bw_warn("a warning");
    bw_note("a note");
    bw_verbose("a detail");
}

/* A detail says when: any time below a second will do. */
static void mask_time(char *text)
{
    char *at = strstr(text, "at 0.");

    if (at != NULL) {
        memcpy(at, "at 0.000", 8);
    }
}

/* What is seen of one message of each level. */
static void check_seen(bool quiet, bool verbose, const char *wanted)
{
    char text[1024];
    struct stderr_of of = stderr_begin();

    bw_log_fini();
    bw_log_init(quiet, verbose);
    say_one_of_each();
    stderr_end(&of, text, sizeof text);
    mask_time(text);
    assert_string_equal(text, wanted);
    assert_int_equal(bw_log_count(), 4);
    assert_int_equal(bw_log_error_count(), 1);
}

static void levels_choose_what_is_seen(void **state)
{
    (void)state;
    check_seen(false, false,
               "bwtool: error: an error of 1\nbwtool: warning: a warning\nbwtool: note: a note\n");
    check_seen(false, true,
               "bwtool: error: an error of 1\nbwtool: warning: a warning\nbwtool: note: a note\n"
               "bwtool: at 0.000 s: a detail\n");
    check_seen(true, false, "bwtool: error: an error of 1\n");
    check_seen(true, true, "bwtool: error: an error of 1\n");
}

static void record_keeps_order_and_levels(void **state)
{
    char text[1024];
    struct stderr_of of = stderr_begin();

    (void)state;
    say_one_of_each();
    for (int i = 0; i < 100; i++) {
        bw_note("note %d", i);
    }
    stderr_end(&of, text, sizeof text);
    assert_int_equal(bw_log_count(), 104);
    assert_int_equal(bw_log_level_at(0), LOG_ERROR);
    assert_int_equal(bw_log_level_at(1), LOG_WARNING);
    assert_int_equal(bw_log_level_at(2), LOG_NOTE);
    assert_int_equal(bw_log_level_at(3), LOG_VERBOSE);
    assert_string_equal(bw_log_text_at(0), "an error of 1");
    assert_string_equal(bw_log_text_at(103), "note 99");
    assert_string_equal(bw_log_text_at(104), "");
    bw_log_fini();
    assert_int_equal(bw_log_count(), 0);
    assert_int_equal(bw_log_error_count(), 0);
}

static void rank_stands_in_front(void **state)
{
    char text[1024];
    struct stderr_of of = stderr_begin();

    (void)state;
    bw_log_set_rank(3, "node7");
    bw_error("lost");
    stderr_end(&of, text, sizeof text);
    assert_string_equal(text, "bwtool: error: rank 3 (node7): lost\n");
    assert_string_equal(bw_log_text_at(0), "lost");
}

static void reason_is_the_first_error_since_the_mark(void **state)
{
    char text[1024];
    struct stderr_of of = stderr_begin();

    (void)state;
    bw_warn("not a reason");
    assert_null(bw_log_reason());
    bw_error("first");
    bw_error("second");
    assert_string_equal(bw_log_reason(), "first");
    bw_log_mark();
    assert_null(bw_log_reason());
    bw_error("third");
    stderr_end(&of, text, sizeof text);
    assert_string_equal(bw_log_reason(), "third");
    assert_int_equal(bw_log_error_count(), 3);
}

static void a_message_is_one_line(void **state)
{
    static char long_word[10000];
    char text[16384];
    struct stderr_of of = stderr_begin();

    (void)state;
    memset(long_word, 'x', sizeof long_word - 1);
    bw_error("a\nb\tc\rd\x1b[2J");
    bw_error("%s", long_word);
    stderr_end(&of, text, sizeof text);
    assert_memory_equal(text, "bwtool: error: a b c?d?[2J\n", 27);
    assert_ptr_equal(strchr(text + 27, '\n'), text + strlen(text) - 1);
    assert_string_equal(text + strlen(text) - 5, "x...\n");
}

static void a_message_is_utf8(void **state)
{
    static const struct {
        const char *said, *kept;
    } cases[] = {
        {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
         "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xff\x80"
         "a",
         "??a"},
        {"cut \xe2\x82", "cut ??"},
        {"long \xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf", "long ?? ??? ????"},
        {"surrogate \xed\xa0\x80", "surrogate ???"},
        {"above \xf4\x90\x80\x80 \xf5\x80\x80\x80", "above ???? ????"},
    };
    char text[1024];
    struct stderr_of of = stderr_begin();

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bw_note("%s", cases[i].said);
    }
    stderr_end(&of, text, sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(bw_log_text_at(i), cases[i].kept);
    }
}

static void errno_becomes_text_and_status(void **state)
{
    char text[1024];
    struct stderr_of of = stderr_begin();

    (void)state;
    errno = ENOENT;
    assert_int_equal(bw_errno("cannot open %s", "x.xml"), BW_ERR_SYSTEM);
    errno = ENOMEM;
    assert_int_equal(bw_errno("cannot map"), BW_ERR_MEMORY);
    stderr_end(&of, text, sizeof text);
    assert_string_equal(text, "bwtool: error: cannot open x.xml: No such file or directory\n"
                              "bwtool: error: cannot map: Cannot allocate memory\n");
}

enum { THREADS = 4, MESSAGES = 500 };

static void *say_many(void *arg)
{
    for (int i = 0; i < MESSAGES; i++) {
        bw_error("thread %d message %d", *(int *)arg, i);
    }
    return NULL;
}

static void threads_do_not_disturb_each_other(void **state)
{
    static char text[THREADS * MESSAGES * 64];
    pthread_t threads[THREADS];
    int numbers[THREADS];
    size_t lines = 0;
    struct stderr_of of = stderr_begin();

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, say_many, &numbers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    stderr_end(&of, text, sizeof text);
    assert_int_equal(bw_log_error_count(), THREADS * MESSAGES);
    assert_int_equal(bw_log_count(), THREADS * MESSAGES);
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        assert_memory_equal(line, "bwtool: error: thread ", 22);
        lines++;
    }
    assert_int_equal(lines, THREADS * MESSAGES);
}

static void clock_goes_forward(void **state)
{
    const uint64_t start = bw_clock_ns();

    (void)state;
    bw_clock_sleep_us(2000);
    assert_true(bw_clock_ns() - start >= 2000000u);
}

static void text_is_formatted(void **state)
{
    char *text = bw_text_format("%s of %d", "one", 2);

    (void)state;
    assert_string_equal(text, "one of 2");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(levels_choose_what_is_seen, reset, reset),
        cmocka_unit_test_setup_teardown(record_keeps_order_and_levels, reset, reset),
        cmocka_unit_test_setup_teardown(rank_stands_in_front, reset, reset),
        cmocka_unit_test_setup_teardown(reason_is_the_first_error_since_the_mark, reset, reset),
        cmocka_unit_test_setup_teardown(a_message_is_one_line, reset, reset),
        cmocka_unit_test_setup_teardown(a_message_is_utf8, reset, reset),
        cmocka_unit_test_setup_teardown(errno_becomes_text_and_status, reset, reset),
        cmocka_unit_test_setup_teardown(threads_do_not_disturb_each_other, reset, reset),
        cmocka_unit_test(clock_goes_forward),
        cmocka_unit_test(text_is_formatted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
