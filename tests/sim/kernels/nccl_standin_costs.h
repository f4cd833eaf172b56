/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch of the stand-in for NCCL does to memory. Part of table.cc. */

static void cost_nccl(sim_work &work, sim_nccl_args a)
{
    work.busy_ns = a.busy_ns;
    for (uint32_t p = 0; p < a.part_count; p++) {
        move(work, a.parts[p].src, a.out + (a.is_sum ? 0 : a.parts[p].to), a.parts[p].bytes,
             (double)a.parts[p].bytes);
    }
}
