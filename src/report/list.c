/* SPDX-License-Identifier: Apache-2.0 */
/* The table of testcases (-l), and the table of writers. */
#include "bwtool/log.h"
#include "bwtool/report.h"
#include "json_value.h"
#include "words.h"

#include <string.h>

enum { DESCRIPTION_BYTES = 1024 };

const struct bw_report_ops *bw_report_find(const char *name)
{
    static const struct bw_report_ops *const writers[] = {&bw_report_text, &bw_report_json,
                                                          &bw_report_perf};

    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++) {
        if (strcmp(writers[i]->name, name) == 0) {
            return writers[i];
        }
    }
    return NULL;
}

static void describe(const struct bw_testcase *tc, char *text, size_t room)
{
    const struct bw_operator *row = bw_operator_of(tc);

    (void)(row != NULL ? bw_operator_describe(row, text, room)
                       : bw_testcase_describe(tc, text, room));
}

static void list_as_text(FILE *out)
{
    char text[DESCRIPTION_BYTES];

    bw_report_version(out);
    fputs("Index, Name:\n\tDescription\n=======================\n", out);
    for (size_t i = 0; i < bw_all_count(); i++) {
        describe(bw_all_at(i), text, sizeof text);
        fprintf(out, "%zu, %s:\n\t", i, bw_all_at(i)->name);
        for (const char *c = text; *c != '\0'; c++) {
            fputc(*c, out);
            if (*c == '\n') {
                fputc('\t', out);
            }
        }
        fputs("\n\n", out);
    }
    fputc('\n', out);
}

static json_t *needs_of(const struct bw_testcase *tc)
{
    static const struct {
        enum bw_need need;
        const char *word;
    } words[] = {
        {NEED_GPU, "gpu"},     {NEED_PEER, "peer"},
        {NEED_RANKS, "ranks"}, {NEED_MULTICAST, "multicast"},
        {NEED_TMA, "tma"},
    };
    json_t *needs = json_array();

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if ((bw_testcase_needs(tc) & words[i].need) != 0) {
            bw_json_add(needs, bw_json_text(words[i].word));
        }
    }
    return needs;
}

static void list_as_json(FILE *out)
{
    json_t *list = json_array();
    char text[DESCRIPTION_BYTES];

    for (size_t i = 0; i < bw_all_count(); i++) {
        const struct bw_testcase *tc = bw_all_at(i);
        json_t *entry = json_object();

        describe(tc, text, sizeof text);
        bw_json_set(entry, "index", json_integer((json_int_t)i));
        bw_json_set(entry, "name", bw_json_text(tc->name));
        bw_json_set(entry, "description", bw_json_text(text));
        (void)bw_words_definition(tc, text, sizeof text);
        bw_json_set(entry, "definition", bw_json_text(text));
        bw_json_set(entry, "unit", bw_json_text(bw_words_unit(tc)));
        bw_json_set(entry, "needs", needs_of(tc));
        bw_json_add(list, entry);
    }
    if (!bw_json_print(out, list)) {
        bw_error("not enough host memory to list the testcases");
    }
    json_decref(list);
}

void bw_report_list(FILE *out, bool as_json)
{
    if (as_json) {
        list_as_json(out);
    } else {
        list_as_text(out);
    }
    fflush(out);
}
