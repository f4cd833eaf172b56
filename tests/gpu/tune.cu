/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways to copy that tune_copy tries: the product's own functions with other
 * hints, numbers of loads in flight, layouts and rings. In no image but that
 * of the tool that tries them.
 *
 * No thread may copy the same bytes in two passes with nothing between: plain
 * loads would then find them in the L1 cache, and a peer be "read" at 2 TB/s.
 * So grids are either resident and sweep the buffer, or have blocks of their own
 * for every pass (runs).
 */
#include "bulk.cu"
#include "copy.cu"

#define BY(name, load_it, store_it)             \
    struct name {                               \
        BW_DEVICE uint4 load(const uint4 *p)    \
        {                                       \
            uint4 v;                            \
            load_it;                            \
            return v;                           \
        }                                       \
        BW_DEVICE void store(uint4 *p, uint4 v) \
        {                                       \
            store_it;                           \
        }                                       \
    }

#define PTX_LOAD(words)                                       \
    asm volatile(words ".v4.u32 {%0, %1, %2, %3}, [%4];"      \
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) \
                 : "l"(p))
#define PTX_STORE(words)                                                                         \
    asm volatile(words ".v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), \
                 "r"(v.w)                                                                        \
                 : "memory")

BY(by_plain, v = *p, *p = v);
BY(by_cg, v = __ldcg(p), *p = v);
BY(by_cgcs, v = __ldcg(p), __stcs(p, v));
BY(by_cs, v = __ldcs(p), __stcs(p, v));
BY(by_none, PTX_LOAD("ld.global.L1::no_allocate"), PTX_STORE("st.global.L1::no_allocate"));

/* The next loads are under way before the stores of the last ones. */
template <class By, int N>
BW_DEVICE void copy_piped(void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
    const uint64_t vectors = bytes / 16, threads = bw_threads(), step = N * threads;
    const uint4 *from = (const uint4 *)src;
    uint4 *to = (uint4 *)dst;

    for (uint64_t pass = 0; pass < passes; pass++) {
        uint64_t i = bw_thread();
        uint4 now[N], next[N];

        if (i + (N - 1) * threads < vectors) {
            BW_UNROLL
            for (int k = 0; k < N; k++) {
                now[k] = By::load(from + i + (uint64_t)k * threads);
            }
            for (; i + step + (N - 1) * threads < vectors; i += step) {
                BW_UNROLL
                for (int k = 0; k < N; k++) {
                    next[k] = By::load(from + i + step + (uint64_t)k * threads);
                }
                BW_UNROLL
                for (int k = 0; k < N; k++) {
                    By::store(to + i + (uint64_t)k * threads, now[k]);
                    now[k] = next[k];
                }
            }
            BW_UNROLL
            for (int k = 0; k < N; k++) {
                By::store(to + i + (uint64_t)k * threads, now[k]);
            }
            i += step;
        }
        copy_ragged<By>(to, from, i, threads, vectors);
        copy_tail(dst, src, bytes, bw_thread(), threads);
        bw_forget();
    }
}

#define ARGUMENTS void *dst, const void *src, uint64_t bytes, uint64_t passes
#define ONE(hint, n)                                                                   \
    BW_KERNEL tune_##hint##_##n##_grid(ARGUMENTS)                                      \
    {                                                                                  \
        copy_passes<by_##hint, n>(dst, src, bytes, passes, bw_thread(), bw_threads()); \
    }                                                                                  \
    BW_KERNEL tune_##hint##_##n##_runs(ARGUMENTS)                                      \
    {                                                                                  \
        copy_runs<by_##hint, n>(dst, src, bytes, passes);                              \
    }
#define PIPED(hint, n)                                     \
    BW_KERNEL tune_##hint##_##n##_pipe(ARGUMENTS)          \
    {                                                      \
        copy_piped<by_##hint, n>(dst, src, bytes, passes); \
    }
/* In few enough registers for blocks of 1024. */
#define WIDE(hint, n)                                                                  \
    BW_KERNEL BW_BOUNDS(1024) tune_##hint##_##n##_wide(ARGUMENTS)                      \
    {                                                                                  \
        copy_passes<by_##hint, n>(dst, src, bytes, passes, bw_thread(), bw_threads()); \
    }
#define HINT(hint) \
    ONE(hint, 4)   \
    ONE(hint, 8)   \
    ONE(hint, 12) ONE(hint, 16) PIPED(hint, 4) PIPED(hint, 8) WIDE(hint, 4) WIDE(hint, 8)

HINT(plain)
HINT(cg)
HINT(cgcs)
HINT(cs)
HINT(none)

#ifdef BW_HAS_BULK
extern __shared__ char ring[] __attribute__((aligned(128)));
#define BULK(chunk, stages)                                                              \
    BW_KERNEL tune_tma_##chunk##_##stages(ARGUMENTS)                                     \
    {                                                                                    \
        bulk_copy<stages, chunk>(dst, src, bytes, passes, ring + 128, (uint64_t *)ring); \
    }
#else
#define BULK(chunk, stages)                          \
    BW_KERNEL tune_tma_##chunk##_##stages(ARGUMENTS) \
    {                                                \
    }
#endif
#define RING(chunk) BULK(chunk, 2) BULK(chunk, 4) BULK(chunk, 6) BULK(chunk, 8)

RING(2048)
RING(4096)
RING(8192)
RING(16384)
RING(32768)

/*
 * The access pattern of nvbandwidth's two-way copies between GPU and host, for
 * explaining their figures: every thread copies its own 16 bytes again and
 * again, even warps one way, odd warps the other; nothing sweeps the buffer.
 * Blocks are a multiple of 64 threads wide, and threads as many as there are
 * vectors in both buffers.
 */
BW_KERNEL BW_BOUNDS(512) tune_own_pattern(uint4 *fwd_dst, const uint4 *fwd_src, uint4 *rev_dst,
                                          const uint4 *rev_src, uint64_t vectors, uint64_t passes)
{
    const uint64_t i = bw_thread() / 64 * 32 + bw_thread() % 32;
    const int is_back = bw_thread() / 32 % 2;
    const uint4 *src = is_back ? rev_src + i : fwd_src + i;
    uint4 *dst = is_back ? rev_dst + i : fwd_dst + i;

    for (uint64_t pass = 0; pass < passes && i < vectors; pass++) {
        *dst = __ldcg(src);
        bw_forget();
    }
}
