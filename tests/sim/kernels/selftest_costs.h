/* SPDX-License-Identifier: Apache-2.0 */
/* What launches of the simulator's own kernels (selftest.cu) do to memory. Part of table.cc. */

static void st_cost_copy(sim_work &work, const char *src, char *dst, u64 bytes, unsigned passes)
{
    move(work, src, dst, bytes, (double)bytes * passes);
}

static void st_cost_copy_split(sim_work &work, char *a, char *b, u64 bytes)
{
    const u64 first = bytes / 32 * 16;

    move(work, a, b, first, (double)first);
    move(work, b + first, a + first, bytes - first, (double)(bytes - first));
}

static void st_cost_fill(sim_work &work, char *dst, u64 bytes, unsigned)
{
    move(work, nullptr, dst, bytes, (double)bytes);
}

static void st_cost_compare(sim_work &work, const char *src, u64 from, u64 to, unsigned,
                            st_mismatch *found)
{
    move(work, src + from, nullptr, to - from, (double)(to - from));
    move(work, nullptr, found, sizeof(*found), 0);
}

static void st_cost_gate(sim_work &work, const volatile unsigned *flag, unsigned, long long,
                         volatile unsigned *late)
{
    move(work, const_cast<unsigned *>(flag), nullptr, sizeof(*flag), 0);
    move(work, nullptr, const_cast<unsigned *>(late), sizeof(*late), 0);
}

static void st_cost_meet(sim_work &work, volatile unsigned *flags, unsigned, unsigned ranks,
                         unsigned, long long, unsigned *late)
{
    move(work, nullptr, const_cast<unsigned *>(flags), ranks * sizeof(*flags), 0);
    move(work, nullptr, late, sizeof(*late), 0);
}
