/* SPDX-License-Identifier: Apache-2.0 */
/* What reading only and writing only do to memory. */

static void cost_read(sim_work &work, const void *src, uint64_t bytes, uint64_t passes,
                      uint64_t *sum)
{
    move(work, src, nullptr, bytes, (double)bytes * (double)passes);
    move(work, nullptr, sum, sizeof(*sum), 0);
}

static void cost_read_sum(sim_work &work, uint64_t, uint32_t, uint64_t *sum)
{
    move(work, nullptr, sum, sizeof(*sum), 0);
}

static void cost_write(sim_work &work, void *dst, uint64_t bytes, uint64_t passes, uint32_t)
{
    move(work, nullptr, dst, bytes, (double)bytes * (double)passes);
}
