/* SPDX-License-Identifier: Apache-2.0 */
/* What the value of an operator is, in words. */
#include "operator.h"

#include "bwtool/operators.h"

int bw_words_operator(const struct bw_testcase *tc, char *text, size_t room)
{
    const struct bw_operator *row = bw_operator_of(tc);
    const struct bw_shmem_formula *formula = bw_shmem_formula(row->op);

    if (formula->mode == SHMEM_MODE_NONE) {
        return snprintf(text, room,
                        "ns of one %s, a mean over 40 launches that follow each other, on the "
                        "slowest rank; %s: %s",
                        formula->name, bw_algorithm_name(row->algorithm), row->schedule);
    }
    if (row->op == SHMEM_DISPATCH || row->op == SHMEM_COMBINE) {
        return snprintf(
            text, room,
            "1e9 bytes per second: kernel bus bandwidth, which is the bytes that cross the links "
            "of "
            "the rank that moves most of them one way, counted from its routes, over the time of "
            "an iteration (a mean over 40 that follow each other, on the slowest rank); so the bus "
            "factor is those bytes over the payload (%s); of one rank, the payload over the time; "
            "%s: %s",
            formula->basis, bw_algorithm_name(row->algorithm), row->schedule);
    }
    return snprintf(
        text, room,
        "1e9 bytes per second: kernel bus bandwidth, which is the payload (%s) over the "
        "time of an iteration (a mean over 40 that follow each other, on the slowest "
        "rank), times the bus factor %s of n ranks; of one rank, without the factor; %s: %s",
        formula->basis, formula->factor, bw_algorithm_name(row->algorithm), row->schedule);
}
