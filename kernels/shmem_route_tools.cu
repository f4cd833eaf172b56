/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of dispatch and combine. Blocks of bw_route_check_output have whole warps. */
#include "shmem_device.h"
#include "shmem_route_params.h"

/* All rows of this rank's input, the ends of last vectors too. */
BW_KERNEL bw_route_fill(BW_PARAM bw_route_check c)
{
    const uint64_t words = c.pitch_bytes / 4;
    uint32_t *in = (uint32_t *)c.memory;

    for (uint64_t i = bw_thread(); i < c.rows * words; i += bw_threads()) {
        in[i] = bw_route_input_word(&c, i / words, i % words);
    }
}

/* What is no byte of the expected output; in rows that nothing comes to, what must stay. */
BW_KERNEL bw_route_spoil(BW_PARAM bw_route_check c)
{
    const uint64_t words = c.pitch_bytes / 4;
    uint32_t *out = (uint32_t *)c.memory;

    for (uint64_t i = bw_thread(); i < c.room * words; i += bw_threads()) {
        const uint32_t word = bw_route_output_word(&c, i / words, i % words);

        out[i] = i / words < c.rows ? ~word : word;
    }
}

/* Every byte that counts; adds to what the result says already. */
BW_KERNEL bw_route_check_output(BW_PARAM bw_route_check c)
{
    const uint64_t words = (c.row_bytes + 3) / 4;
    bw_check_result *result = (bw_check_result *)c.result;
    uint64_t count = 0, first = ~(uint64_t)0;

    for (uint64_t i = bw_thread(); i < c.room * words; i += bw_threads()) {
        const uint64_t row = i / words, word = i % words, left = c.row_bytes - 4 * word;
        const uint64_t offset = row * c.pitch_bytes + 4 * word;
        const uint32_t wrong = (*(const uint32_t *)(c.memory + offset) ^
                                bw_route_output_word(&c, row, word)) &
                               (left >= 4 ? ~0u : (1u << (8 * left)) - 1);

        for (uint32_t k = 0; k < 4 && wrong >> (8 * k) != 0; k++) {
            if ((wrong >> (8 * k) & 0xff) != 0) {
                count++;
                first = offset + k < first ? offset + k : first;
            }
        }
    }
    if (count != 0) {
        bw_min_u64(&result->first, first);
    }
    count = bw_sum_of_warp(count);
    if (count != 0 && threadIdx.x % 32 == 0) {
        bw_add_u64(&result->count, count);
    }
}
