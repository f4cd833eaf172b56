/* SPDX-License-Identifier: Apache-2.0 */
/* The words fit the rows. */
#include "unit.h"

#include "bwtool/testcase.h"

#include <string.h>

static char text[4096];

static const char *explain(const char *name)
{
    const int index = bw_testcase_find(name);
    int length = 0;

    assert_true(index >= 0);
    length = bw_testcase_explain(&bw_testcases[index], text, sizeof(text));
    assert_int_equal(length, strlen(text));
    return text;
}

static void assert_has(const char *name, const char *words)
{
    if (strstr(explain(name), words) == NULL) {
        fail_msg("%s: no \"%s\" in:\n%s", name, words, text);
    }
}

static void every_testcase(void **state)
{
    (void)state;
    for (size_t i = 0; i < bw_testcase_count; i++) {
        const char *at = explain(bw_testcases[i].name);

        /* Three lines, each with its word first, and printable all over. */
        assert_memory_equal(at, "Mover: ", 7);
        assert_non_null(strstr(at, "\nLink: "));
        assert_non_null(strstr(at, "\nLimit: "));
        for (; *at != '\0'; at++) {
            assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
        }
        assert_int_not_equal(at[-1], '\n');
    }
}

static void words_of_rows(void **state)
{
    (void)state;
    assert_has("device_local_copy", "one read and one write");
    assert_has("host_to_device_memcpy_ce", "92.8 %");
    assert_has("host_to_device_memcpy_ce", "(pull)");
    assert_has("device_to_host_memcpy_ce", "91.4 %");
    assert_has("device_to_host_memcpy_ce", "(push)");
    assert_has("host_to_device_memcpy_sm", "may stay below the copy engine's");
    assert_has("device_to_device_memcpy_read_ce", "(pull)");
    assert_has("device_to_device_memcpy_write_sm", "(push)");
    assert_has("device_to_device_memcpy_write_sm", "88.9 %");
    assert_has("device_to_device_memcpy_write_ce", "94.1 %");
    assert_has("all_to_one_write_ce", "share the port");
    assert_has("all_to_host_memcpy_ce", "are shared");
    assert_has("device_to_device_latency_sm", "no rate");
    assert_has("cpu_copy", "NUMA node");
    assert_has("device_local_read_sm", "twice a clock.");
    assert_has("device_local_copy_tma", "through shared memory.");
    assert_has("device_to_device_latency_tma", "one of 16 bytes after the other");
    assert_has("host_to_all_memcpy_total_ce", "are shared");
}

static void as_snprintf_does(void **state)
{
    const struct bw_testcase *tc = &bw_testcases[0];
    const int length = bw_testcase_explain(tc, text, sizeof(text));
    char little[16];

    (void)state;
    memset(little, 'x', sizeof(little));
    assert_true(bw_testcase_explain(tc, little, sizeof(little)) >= length);
    assert_int_equal(little[15], '\0');
    assert_memory_equal(little, text, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_testcase),
        cmocka_unit_test(words_of_rows),
        cmocka_unit_test(as_snprintf_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
