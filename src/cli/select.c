/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/select.h"

#include "bwtool/log.h"
#include "bwtool/operators.h"

#include <stdlib.h>
#include <string.h>

static enum bw_status add(struct bw_selection *selection, struct bw_choice choice)
{
    struct bw_choice *grown = realloc(selection->choices, (selection->count + 1) * sizeof *grown);

    if (grown == NULL) {
        return bw_errno("cannot list the testcases to run");
    }
    grown[selection->count++] = choice;
    selection->choices = grown;
    selection->unknown_count += choice.index < 0;
    return BW_OK;
}

/* "", " (did you mean 'x'?)" or a pointer to the list. */
static void log_unknown(const struct bw_choice *choice)
{
    const char *nearest = choice->is_number ? NULL : bw_testcase_nearest(choice->word);

    if (choice->is_number) {
        bw_error("there is no testcase %.80s: indices go from 0 to %zu (-l lists them)",
                 choice->word, bw_all_count() - 1);
    } else if (nearest != NULL) {
        bw_error("there is no testcase '%.80s': did you mean '%s'?", choice->word, nearest);
    } else {
        bw_error("there is no testcase '%.80s' (-l lists them)", choice->word);
    }
}

/* A whole word that strtoll understands is an index, as in nvbandwidth. */
static struct bw_choice choice_of(const char *word)
{
    struct bw_choice choice = {.index = -1, .word = word};
    char *end = NULL;

    choice.number = strtoll(word, &end, 10);
    choice.is_number = *word != '\0' && *end == '\0';
    if (!choice.is_number) {
        choice.number = 0;
        choice.index = bw_all_find(word);
    } else if (choice.number >= 0 && (unsigned long long)choice.number < bw_all_count()) {
        choice.index = (int)choice.number;
    }
    return choice;
}

static enum bw_status add_named(struct bw_selection *selection, const struct bw_words *words)
{
    for (size_t i = 0; i < words->count; i++) {
        const struct bw_choice choice = choice_of(words->words[i]);
        const enum bw_status st = add(selection, choice);

        if (st != BW_OK) {
            return st;
        }
        if (choice.index < 0) {
            log_unknown(&choice);
        }
    }
    return BW_OK;
}

static bool starts_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static enum bw_status check_prefix(const char *prefix)
{
    const char *nearest = bw_testcase_nearest(prefix);

    for (size_t i = 0; i < bw_all_count(); i++) {
        if (starts_with(bw_all_at(i)->name, prefix)) {
            return BW_OK;
        }
    }
    if (nearest != NULL) {
        bw_error("-p: no testcase starts with '%.80s': did you mean '%s'?", prefix, nearest);
    } else {
        bw_error("-p: no testcase starts with '%.80s' (-l lists them)", prefix);
    }
    return BW_ERR_USAGE;
}

/* In table order, each once, however many of the prefixes it has. */
static enum bw_status add_prefixed(struct bw_selection *selection, const struct bw_words *prefixes)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < prefixes->count; i++) {
        TRY(check_prefix(prefixes->words[i]));
    }
    for (size_t i = 0; i < bw_all_count(); i++) {
        for (size_t p = 0; p < prefixes->count; p++) {
            if (starts_with(bw_all_at(i)->name, prefixes->words[p])) {
                TRY(add(selection,
                        (struct bw_choice){.index = (int)i, .word = prefixes->words[p]}));
                break;
            }
        }
    }
out:
    return st;
}

static enum bw_status add_unasked(struct bw_selection *selection, size_t v08_count, bool host_only)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < bw_testcase_count; i++) {
        if (host_only ? bw_testcase_is_host(&bw_testcases[i]) : i < v08_count) {
            TRY(add(selection, (struct bw_choice){.index = (int)i}));
        }
    }
out:
    return st;
}

static enum bw_status add_suite(struct bw_selection *selection)
{
    enum bw_status st = BW_OK;

    for (size_t i = 0; i < bw_suite_shmem_count; i++) {
        const struct bw_suite_case *c = &bw_suite_shmem[i];

        TRY(add(selection,
                (struct bw_choice){.index = bw_all_find(c->row), .word = c->name, .suite = c}));
    }
out:
    return st;
}

enum bw_status bw_selection_find(struct bw_selection *selection, const struct bw_words *words)
{
    enum bw_status st = BW_OK;

    *selection = (struct bw_selection){0};
    st = add_named(selection, words);
    return st == BW_OK && selection->unknown_count != 0 ? BW_ERR_USAGE : st;
}

enum bw_status bw_selection_build(struct bw_selection *selection, const struct bw_options *options,
                                  int ranks, bool host_only)
{
    const bool is_all = ranks > 1 || options->dry_run;

    *selection = (struct bw_selection){0};
    if (options->suite != NULL) {
        return add_suite(selection);
    }
    if (options->testcases.count > 0) {
        return add_named(selection, &options->testcases);
    }
    if (options->prefixes.count > 0) {
        return add_prefixed(selection, &options->prefixes);
    }
    return add_unasked(selection, is_all ? BW_TESTCASE_V08_ALL : BW_TESTCASE_V08_SINGLE,
                       host_only && !options->dry_run);
}

void bw_selection_free(struct bw_selection *selection)
{
    free(selection->choices);
    *selection = (struct bw_selection){0};
}
