/* SPDX-License-Identifier: Apache-2.0 */
/* Any words behind -t, -p and --explain: choices that exist, or a word that the user wrote. */
#include "fuzz.h"

#include "bwtool/log.h"
#include "bwtool/operators.h"
#include "bwtool/options.h"
#include "bwtool/select.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    fuzz_be_quiet();
    return 0;
}

static void check(const struct bw_selection *selection)
{
    size_t unknown = 0;

    for (size_t i = 0; i < selection->count; i++) {
        const struct bw_choice *choice = &selection->choices[i];

        MUST(choice->index >= -1);
        if (choice->index < 0) {
            unknown++;
            MUST(choice->word != NULL);
            MUST(bw_all_find(choice->word) < 0);
        } else {
            MUST(bw_all_at((size_t)choice->index) != NULL);
        }
    }
    MUST(unknown == selection->unknown_count);
}

/* The first byte chooses what the words are for. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bw_options options = {0};
    struct bw_selection selection = {0};
    char *words[64];
    char *text = fuzz_text(data, size);
    const unsigned how = size == 0 ? 0 : data[0];
    const int count = fuzz_words(size == 0 ? text : text + 1, words, 64);
    struct bw_words given = {.words = words + 1, .count = (size_t)count - 1};
    enum bw_status st = BW_OK;

    if (how % 3 == 0) {
        options.testcases = given;
    } else if (how % 3 == 1) {
        options.prefixes = given;
    }
    options.dry_run = (how & 4) != 0;
    st = how % 3 == 2
             ? bw_selection_find(&selection, &given)
             : bw_selection_build(&selection, &options, (how & 8) != 0 ? 2 : 1, (how & 16) != 0);
    MUST(st == BW_OK || st == BW_ERR_USAGE);
    if (how % 3 == 0) {
        MUST(given.count == 0 || selection.count >= 1);
    }
    check(&selection);
    bw_selection_free(&selection);
    bw_log_fini();
    free(text);
    return 0;
}
